"""Finds where the exception that ended a playbook was raised."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from runtime.events.frames import FrameAbout
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.outcomes import described
from runtime.tape.state.frames import RaisedAt

MAX_LINES = 5
"""The places in Python code that are kept of a failure."""

_OWN = ("runtime", "gateway", "adapters")
"""Our packages, whose lines say nothing to the author of a program."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The exception that ended a playbook, and where it was raised."""

    error: Exception
    raised_at: RaisedAt


def raised_at(frame: Frame, about: FrameAbout, error: BaseException) -> RaisedAt:
    """The place where `error`, which ends `frame`, was raised: in a playbook that it called, and that
    failed the same way, or in this one. Lines are named by file, number and function; their source is not kept, since
    it may have secrets."""
    if not frame.alive:  # stopped meanwhile
        return RaisedAt(about.agent, about.playbook)
    state, raised = frame.state, described(error)
    for record in reversed(state.records.values()):
        if record.raised_at is not None and record.error == raised:
            return record.raised_at
    lines = list(_authors_lines(error.__traceback__))[-MAX_LINES:]
    return RaisedAt(about.agent, about.playbook, state.step, tuple(lines))


def _authors_lines(found: TracebackType | None) -> Iterator[str]:
    for line, number in traceback.walk_tb(found):
        if str(line.f_globals.get("__name__", "")).partition(".")[0] not in _OWN:
            yield f"{line.f_code.co_filename}:{number} in {line.f_code.co_name}"
