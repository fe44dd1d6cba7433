"""Log lines: one per event, readable or JSON, without secrets and without what people wrote. Secrets in texts that
others read.
"""

from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from gateway.observability.logs import MAX_VALUE_CHARS, LogOptions, LogWriter
from gateway.observability.watching import MASK, SecretMasking
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.events.happening import BusEvent
from tests.fakes.observing.happenings import KINDS, happened

TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"

TELEGRAM = "8123456789:AAH-abcdefghijklmnopqrstuvwxyz0123456"


def _lines(
    name: str, *, level: Literal["debug", "info", "error"] = "info", secrets: frozenset[str] = frozenset(), **data: Any
) -> list[dict[str, Any]]:
    stream = io.StringIO()
    logs = LogWriter(LogOptions(level=level, stream=stream), SecretMasking(secrets))
    logs.write(BusEvent(happened(name, **data), datetime(2026, 1, 2, tzinfo=UTC)))
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_event_is_one_json_line_where_there_is_no_terminal() -> None:
    assert _lines("session.started", session="s1", seq=3) == [
        {"event": "session.started", "level": "info", "at": "2026-01-02T00:00:00+00:00", "session": "s1", "seq": 3}
    ]


def test_every_event_of_the_bus_is_heard_until_detached() -> None:
    stream = io.StringIO()
    bus = Bus(SystemClock())
    detach = LogWriter(LogOptions(stream=stream)).attach(bus)
    bus.publish(happened("meeting.started", meeting="100"))
    bus.publish(happened("session.ended", text="line one\nline two"))
    detach()
    bus.publish(happened("meeting.ended", meeting="100"))
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == [
        "meeting.started",
        "session.ended",
    ]
    assert bus.failures == 0


def test_a_remark_of_an_adapter_is_a_line_with_all_it_says_and_no_secret() -> None:
    stream = io.StringIO()
    detach = LogWriter(LogOptions(stream=stream), SecretMasking({TOKEN})).attach(Bus(SystemClock()))
    logger = logging.getLogger("adapters.telegram.adapter")
    logger.warning("Telegram cannot be polled", extra={"error": f"/bot{TOKEN}/getMe: 502", "retry_in_s": 2.0})
    logger.debug("nobody wants to know")
    detach()
    logger.debug("nor this")
    (line,) = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert line.pop("at").endswith("+00:00")
    assert line == {
        "event": "Telegram cannot be polled",
        "level": "warning",
        "logger": "adapters.telegram.adapter",
        "error": "/bot********/getMe: 502",
        "retry_in_s": 2.0,
    }


def test_human_lines_are_not_json_and_name_the_event() -> None:
    stream = io.StringIO()
    LogWriter(LogOptions(format="human", stream=stream)).write(
        BusEvent(happened("session.started", session="s1"), datetime.now(UTC))
    )
    assert "session.started" in stream.getvalue()
    assert "session=s1" in stream.getvalue()


@pytest.mark.parametrize("form", ["human", "json"])
def test_a_foreign_text_steers_no_terminal(form: Literal["human", "json"]) -> None:
    stream = io.StringIO()
    LogWriter(LogOptions(format=form, stream=stream)).write(
        BusEvent(
            happened("model.fell_back", error="bad \x1b[2J\x9b thing \u202e", more={"of": "\x07"}), datetime.now(UTC)
        )
    )
    assert "bad " in stream.getvalue()
    assert not set("\x1b\x9b\u202e\x07") & set(stream.getvalue())


def test_text_of_messages_is_shown_at_debug_only() -> None:
    assert "text" not in _lines("message.received", text="private")[0]
    assert _lines("message.received", level="debug", text="private")[0]["text"] == "private"


@pytest.mark.parametrize(
    "value",
    [
        f"https://api.telegram.org/bot{TOKEN}/getMe failed",
        "key sk-abcdefghijkl refused",
        "redis://user:hunter2@host:6379",
        "own-secret was refused",
    ],
)
def test_secrets_are_masked_inside_texts(value: str) -> None:
    (line,) = _lines("adapter.failed", secrets=frozenset({"own-secret"}), error=value)
    assert "********" in line["error"]
    assert not any(secret in line["error"] for secret in (TOKEN, "sk-abcdef", "hunter2", "own-secret"))


def test_values_under_secret_names_are_masked_and_counts_of_tokens_are_not() -> None:
    (line,) = _lines("llm.answered", bot_token="x1", password="x2", input_tokens=7)
    assert (line["bot_token"], line["password"], line["input_tokens"]) == ("********", "********", 7)


def test_long_values_are_cut() -> None:
    (line,) = _lines("playbook.failed", error="x" * 10_000)
    assert line["error"] == "x" * MAX_VALUE_CHARS + "… (10000 characters)"


def test_events_below_the_level_are_not_written() -> None:
    assert _lines("step.executed") == []
    assert _lines("session.started", level="error") == []
    assert _lines("llm.failed", level="error")[0]["level"] == "error"


def test_level_follows_from_the_name() -> None:
    names = ("session.failed", "stream.observer_failed", "step.executed", "page.finished")
    assert [KINDS[name].level for name in names] == ["error", "warning", "debug", "info"]


def test_values_by_name_stay_values_without_their_secrets() -> None:
    (line,) = _lines("program.logged", line="sold", values={"pieces": 3, "api_key": "k", "url": f"x/bot{TOKEN}"})
    assert line["values"] == {"pieces": 3, "api_key": "********", "url": "x/bot********"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"POST /bot{TELEGRAM}/getMe failed", f"POST /bot{MASK}/getMe failed"),
        ("the key sk-proj-0123456789 is refused", f"the key {MASK} is refused"),
        ("redis://ada:opensesame@db:6379 is away", f"redis://{MASK}@db:6379 is away"),
        ("order 4711:12 at 12:30", "order 4711:12 at 12:30"),
        ("our own word", f"our own {MASK}"),
    ],
)
def test_the_usual_forms_of_secrets_and_those_that_are_known_are_masked(text: str, shown: str) -> None:
    assert SecretMasking(["word"]).masked(text) == shown


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["1", "1234567:", "sk-", "://", "a-"])
def test_a_long_text_without_a_secret_is_looked_through_in_a_moment(piece: str) -> None:
    assert SecretMasking().masked(piece * 200_000)
