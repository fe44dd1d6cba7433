"""Keys and sessions as their operator sees them, and how a command ends that cannot go on."""

import errno
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from gateway.cli.operate.keys import app
from gateway.cli.operate.sessions.view import say_steps, say_view, view_of
from gateway.cli.output.terminal import note, plain_errors, say
from runtime.core.address import Address
from runtime.core.errors import ConfigError, NoSuchTask, TaskRefused
from runtime.core.ids import SessionId, TapeId
from runtime.stores.catalog import WholeSession
from runtime.stores.sessions import SessionRecord
from runtime.tape.tape import Fact


@pytest.mark.parametrize("kept", ["", "# spare\n"])
def test_without_a_file_a_key_goes_to_that_of_the_settings(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parley.toml").write_text('[encryption]\nkeys_file = "own.keys"\n')
    keys = tmp_path / "own.keys"
    if kept:
        keys.write_text(kept)
    for count in (1, 2):
        made = CliRunner().invoke(app, ["new"])
        assert made.exit_code == 0, made.output
        lines = [line for line in keys.read_text().splitlines() if not line.startswith("#")]
        assert len(lines) == count
    assert keys.stat().st_mode & 0o777 == 0o600


def test_another_file_that_is_not_there_is_still_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parley.toml").write_text('[console]\npassword_file = "none"\n')
    made = CliRunner().invoke(app, ["new"])
    assert made.exit_code == 2
    assert "console.password_file" in made.output


T0 = datetime(2026, 1, 1, tzinfo=UTC)

FACTS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("agent", {"id": "1000", "class": "Host"}),
    ("start", {"f": "1000.0", "agent": "1000", "pb": "Plan", "args": [], "kwargs": {}, "version": ""}),
    ("meeting", {"id": "100", "topic": "Plan", "host": "1000", "f": "1000.0"}),
    ("meeting_active", {"id": "100"}),
    ("shared", {"id": "100", "name": "budget", "value": {"eur": 1200}, "by": "1000"}),
)


STEPS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("agent", {"id": "1000", "class": "Host"}),
    ("start", {"f": "1000.0", "agent": "1000", "pb": "Main", "args": [], "kwargs": {}, "version": "llm.walked a b"}),
    ("step", {"f": "1000.0", "at": "01", "op": "EXE"}),
    ("res", {"f": "1000.0", "pos": "0", "name": "Var", "dig": "", "val": 1, "set": {"n": 1}}),
    ("wait", {"f": "1000.0", "pos": "turn", "name": "Yld", "dig": "", "source": {"human": True}, "due": None}),
)


def _whole(data: Sequence[tuple[str, Mapping[str, Any]]]) -> WholeSession:
    facts = tuple(Fact(TapeId("s/session"), seq, kind, T0, data) for seq, (kind, data) in enumerate(data, 1))
    record = SessionRecord(SessionId("s"), Address("web", "lobby"), "test", T0, seq=len(facts))
    return WholeSession(record, awake=False, pages=frozenset(), facts=facts)


def test_steps_are_shown_with_when_they_began_and_who_executed_them(capsys: pytest.CaptureFixture[str]) -> None:
    say_steps(_whole(STEPS), as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "2026-01-01 00:00:00  Host.Main (1000)",
        "Main begins.",
        "step 01",
        "$n is 1",
        "waits for the user",
    ]
    say_steps(_whole(STEPS), as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert (printed["class"], printed["playbook"], printed["lines"][-1]) == ("Host", "Main", "waits for the user")


def test_meetings_are_shown_with_what_they_share(capsys: pytest.CaptureFixture[str]) -> None:
    view = view_of(_whole(FACTS))
    shared = {"budget": {"value": {"eur": 1200}, "version": 1, "by": "1000"}}
    meeting = {"meeting": "100", "topic": "Plan", "status": "active", "joined": ["1000"], "shared": shared}
    assert view["meetings"] == [meeting]
    names = ("session", "conversation", "program", "started_at", "last_at", "state", "facts", "node")
    say_view(dict.fromkeys(names) | {"parent": None, "replaced_by": None} | view)
    lines = capsys.readouterr().out.splitlines()
    assert "meeting       100 active, Plan: 1000" in lines
    assert 'shared        budget = {"eur": 1200}, version 1 by 1000' in lines


def test_words_between_tasks_and_orderers_are_among_the_last_messages() -> None:
    came = {"id": "word.t.9", "from": "task 1", "class": "Researcher", "text": "half is done", "hops": 1}
    told = (
        ("agent", {"id": "1000", "class": "Host"}),
        ("word_down", {"agent": "1000", "task": 1, "text": "it is late", "hops": 1}),
        ("in", {"agent": "1000", "message": {**came, "at": T0.isoformat(), "to": "1000"}}),
        ("word_up", {"agent": "1000", "text": "I hear", "hops": 2}),
    )
    assert [(message["who"], message["text"]) for message in view_of(_whole(told))["last"]] == [
        ("Host to task 1", "it is late"),
        ("Researcher (task 1)", "half is done"),
        ("Host to orderer", "I hear"),
    ]


FULL = OSError(errno.ENOSPC, "No space left on device")


def ended_by(error: BaseException) -> int:
    with pytest.raises(typer.Exit) as caught, plain_errors():
        raise error
    return caught.value.exit_code


@pytest.mark.parametrize(
    "error",
    [
        FULL,
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        BaseExceptionGroup("tasks", [FULL]),
        ExceptionGroup("tasks", [ExceptionGroup("more", [FULL]), ConfigError("wrong")]),
    ],
)
def test_a_full_disk_is_said_in_a_sentence(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended_by(error) == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("parley: A disk is full (")
    assert "Free some space" in said


@pytest.mark.parametrize(
    "error", [OSError(errno.EACCES, "Permission denied"), ExceptionGroup("tasks", [FULL, ValueError("a bug")])]
)
def test_what_nobody_foresaw_is_shown_in_full(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, plain_errors():
        raise error
    assert caught.value is error


def test_the_first_error_of_a_group_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended_by(ExceptionGroup("tasks", [ConfigError("wrong here"), ConfigError("and there")])) == 2
    assert capsys.readouterr().err == "parley: wrong here\n"


def test_what_people_wrote_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say("Ada: \x1b]0;root\x07hello\nBob: hi")
    note("parley: There is no session \x9b2J.")
    seen = capsys.readouterr()
    assert seen.out == "Ada: \\u001b]0;root\\u0007hello\nBob: hi\n"
    assert seen.err == "parley: There is no session \\u009b2J.\n"


@pytest.mark.parametrize(("error", "code"), [(NoSuchTask("There is no task 1"), 2), (TaskRefused("ended already"), 1)])
def test_a_task_that_is_not_there_is_wrong_input_as_other_things_that_are_not(error: TaskRefused, code: int) -> None:
    with pytest.raises(typer.Exit) as ended, plain_errors():
        raise error
    assert ended.value.exit_code == code
