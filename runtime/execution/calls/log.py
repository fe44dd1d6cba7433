"""The host call with which a program writes into the gateway's log."""

from __future__ import annotations

from typing import Any

from runtime.bus import Bus
from runtime.core.errors import PlaybookError
from runtime.events.sessions import ProgramLogged
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call
from runtime.tape.facts.frames import CallReturned
from runtime.tape.journal import Journal, as_data

MAX_LOGGED_VALUES = 50


class LogCalls:
    """`Log`, for one session."""

    def __init__(self, journal: Journal, bus: Bus, program: str) -> None:
        self._journal = journal
        self._bus = bus
        self._program = program
        self._lines: list[tuple[int, ProgramLogged]] = []
        """What is on the tape with the fact of this number, and is not written yet."""
        journal.written.subscribe(self._durable)

    @call("Log", example='await Log("text", name=value)', form='Log("sold", pieces=3)', reads=True)
    def log(self, frame: Frame, call: FrameCall, /, text: str, **values: Any) -> None:
        """Writes a line for the person who runs the program; the people here do not see it.

        Parley writes the line as soon as it is on the tape; the code does not wait for that.
        """
        if len(values) > MAX_LOGGED_VALUES:
            raise PlaybookError(f"Log takes at most {MAX_LOGGED_VALUES} values, not {len(values)}")
        try:
            data = as_data(values)
        except (TypeError, ValueError) as error:
            raise PlaybookError(f"a value that Log was given is not data: {error}") from error
        where = (self._journal.session, frame.id, frame.state.agent, frame.agent.klass, frame.state.playbook)
        seq = self._journal.note(CallReturned(*site(frame, call)))
        self._lines.append((seq, ProgramLogged(*where, self._program, text, data)))
        self._journal.hurry()

    def _durable(self, _: None) -> None:
        """Facts are on the tape: a line is written once, or in a crash just now never."""
        while self._lines and self._lines[0][0] <= self._journal.committed:
            self._bus.publish(self._lines.pop(0)[1])
