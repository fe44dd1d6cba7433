"""How a command ends that cannot go on."""

from __future__ import annotations

import errno

import pytest
import typer

from gateway.cli.output.terminal import note, plain_errors, say
from runtime.core.errors import ConfigError

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
