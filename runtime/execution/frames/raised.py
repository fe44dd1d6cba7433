"""Finds where the exception that ended a playbook was raised."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from runtime.events.frames import FrameAbout
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.outcomes import Recorded, described, sole
from runtime.tape.state.frames import RaisedAt

MAX_LINES = 5
"""The places in Python code that are kept of a failure."""

_OWN = ("runtime", "gateway", "adapters")
"""Our packages, whose lines say nothing to the author of a program."""

_LIBRARIES = ("<frozen ", *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")))


@dataclass(frozen=True, slots=True)
class RaisedFailure:
    """The exception that ended a playbook, and where it was raised."""

    error: Exception
    raised_at: RaisedAt


def raised_at(frame: Frame, about: FrameAbout, error: BaseException) -> RaisedAt:
    """The place where `error`, which ends `frame`, was raised: in a playbook that it called, and that
    failed the same way, or in this one."""
    if not frame.alive:  # stopped meanwhile
        return RaisedAt(about.agent, about.playbook)
    error = sole(error)
    if isinstance(error, Recorded) and error.raised_at is not None:
        return error.raised_at
    state, raised = frame.state, described(error)
    for record in reversed(state.records.values()):
        if record.raised_at is not None and record.error == raised:
            return record.raised_at
    return RaisedAt(about.agent, about.playbook, state.step, lines_of(error))


def lines_of(error: BaseException) -> tuple[str, ...]:
    """The lines of an author's code that led to an exception, the innermost last; those of libraries where there is no
    other. Lines are named by file, number and function; their source is not kept, since it may have secrets."""
    if isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    found = list(_foreign_lines(error.__traceback__))
    own = [line for line, library in found if not library] or [line for line, _ in found]
    return tuple(own[-MAX_LINES:])


def _foreign_lines(found: TracebackType | None) -> Iterator[tuple[str, bool]]:
    """Each line that is not ours, and whether it is a library's."""
    for line, number in traceback.walk_tb(found):
        if str(line.f_globals.get("__name__", "")).partition(".")[0] not in _OWN:
            code = line.f_code
            yield f"{code.co_filename}:{number} in {code.co_name}", code.co_filename.startswith(_LIBRARIES)
