"""Which triggers the runtime sees by itself."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from runtime.execution.triggers.kinds import (
    CallTrigger,
    MessageTrigger,
    call_trigger,
    judged_by_model,
    judges,
    message_trigger,
    time_trigger,
)
from runtime.language.program import AgentSpec
from tests.unit.runtime.sessions.programs import agent, llm, triggers

UTC_ZONE = ZoneInfo("UTC")
NOW = datetime(2026, 1, 1, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "then"),
    [
        ("Every 10 minutes", datetime(2026, 1, 1, 10, 40, tzinfo=UTC)),
        ("every hour", datetime(2026, 1, 1, 11, 30, tzinfo=UTC)),
        ("Every 2.5 seconds.", datetime(2026, 1, 1, 10, 30, 2, 500_000, tzinfo=UTC)),
        ("Every day at 09:00", datetime(2026, 1, 2, 9, 0, tzinfo=UTC)),
        ("At 18:05 every day", datetime(2026, 1, 1, 18, 5, tzinfo=UTC)),
        ("cron: 0 9 * * 1-5", datetime(2026, 1, 2, 9, 0, tzinfo=UTC)),
        ("schedule: `*/15 * * * *`", datetime(2026, 1, 1, 10, 45, tzinfo=UTC)),
        ("Every weekday at 8:30", datetime(2026, 1, 2, 8, 30, tzinfo=UTC)),
        ("On Mondays at 9am.", datetime(2026, 1, 5, 9, 0, tzinfo=UTC)),
        ("Every Tuesday and Thursday at noon", datetime(2026, 1, 1, 12, 0, tzinfo=UTC)),
    ],
)
def test_times_are_computed(text: str, then: datetime) -> None:
    found = time_trigger(text)
    assert found is not None
    assert found.first(NOW, UTC_ZONE) == then


def test_times_of_the_day_are_those_of_the_zone() -> None:
    daily, often = time_trigger("Every day at 09:00"), time_trigger("Every 10 minutes")
    assert daily is not None
    assert often is not None
    assert daily.first(NOW, ZoneInfo("Europe/Berlin")) == datetime(2026, 1, 2, 8, 0, tzinfo=UTC)
    assert often.first(NOW, ZoneInfo("Europe/Berlin")) == datetime(2026, 1, 1, 10, 40, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Every time the user asks",
        "When it is late",
        "At the beginning",
        "cron: 99 9 * * *",
        "Every other day",
        "Tomorrow at 9",
        "Every Monday at 9 when $n > 3",
    ],
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert time_trigger(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Before calling Ship", CallTrigger("before", "Ship")),
        ("When `Ship()` is called", CallTrigger("before", "Ship")),
        ("After calling ship", CallTrigger("after", "Ship")),
        ("After each call of Ship($order).", CallTrigger("after", "Ship")),
        ("When Ship returns", CallTrigger("after", "Ship")),
        ("After Ship has returned", CallTrigger("after", "Ship")),
        ("After calling the customer", None),
        ("When the user calls Ship", None),
        ("Before Christmas", None),
    ],
)
def test_calls_of_a_programs_playbooks_are_seen(text: str, expected: CallTrigger | None) -> None:
    assert call_trigger(text, ["Pack", "Ship"]) == expected


@pytest.mark.parametrize(
    ("text", "sender"),
    [
        ("When a message arrives from the user", "user"),
        ("Whenever a new message from Accountant comes in", "accountant"),
        ("On any message from anybody arrives", None),
        ("When messages come from agents.", "agent"),
        ("When a message is received", None),
    ],
)
def test_messages_are_seen_by_who_sends_them(text: str, sender: str | None) -> None:
    assert message_trigger(text) == MessageTrigger(sender)


@pytest.mark.parametrize("text", ["When a message is rude", "When the user sends a message about tax", "On Monday"])
def test_what_a_message_says_is_for_the_model(text: str) -> None:
    assert message_trigger(text) is None


def owner(text: str, *params: str) -> AgentSpec:
    return agent("Main", replace(llm("Big", params=params), triggers=triggers(text)))


@pytest.mark.parametrize(
    ("text", "params", "expected"),
    [
        ("BGN When program starts", (), False),
        ("CND When $x > 3", (), False),
        ("CND When $x > 3", ("x",), True),
        ("EVT Every hour", (), False),
        ("EVT When Big returns", (), False),
        ("EVT When the user is angry", (), True),
        ("EVT When a message arrives", ("text",), False),
        ("EVT When a message arrives", ("text", "more"), True),
    ],
)
def test_only_what_nothing_else_can_tell_is_for_the_model(text: str, params: tuple[str, ...], expected: bool) -> None:
    spec = owner(text, *params)
    big = spec.playbooks[0]
    assert judged_by_model(spec, spec, big, big.triggers[0]) is expected
    assert judges(spec, ()) is expected
    assert judges(agent("Other"), [spec]) is False
    public = replace(big, metadata={"public": True})
    assert judges(agent("Other"), [replace(spec, playbooks=(public,))]) is expected


@pytest.mark.parametrize("start", ["", "After", "After Ship", "When", "When Ship", "Every day", "At 5:00", "At"])
def test_a_trigger_is_read_in_proportion_to_its_length(start: str) -> None:
    """No expression reads blanks again from each of them: that would not end within the test."""
    text = start + " " * 100_000 + "!"
    assert (call_trigger(text, ["Ship"]), message_trigger(text), time_trigger(text)) == (None, None, None)
