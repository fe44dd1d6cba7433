"""The host calls that write into the gateway's log, and that publish an event for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from runtime.bus import Bus
from runtime.core.cloud_event import MAX_EVENT_BYTES, CloudEvent, is_type
from runtime.core.errors import PlaybookError
from runtime.core.json_text import write_json
from runtime.events.sessions import ProgramLogged
from runtime.execution.frames.frame import Frame, FrameCall, shortened
from runtime.execution.frames.outcomes import site
from runtime.execution.frames.signatures import call
from runtime.tape.facts.calls import CallReturned
from runtime.tape.facts.session import EventPublished
from runtime.tape.journal import Journal, as_data
from runtime.tape.view import is_reserved

MAX_HOPS = 8
"""The longest chain of programs that begin one another by events."""

MAX_UNDELIVERED = 100
"""The events of one session on which programs may still have to begin; then it publishes none for now."""

MAX_LOGGED_VALUES = 50


class LogCalls:
    """`Log`, for one session."""

    def __init__(self, journal: Journal, bus: Bus, program: str) -> None:
        self._journal = journal
        self._bus = bus
        self._program = program
        self._lines: list[tuple[int, ProgramLogged]] = []
        """What is on the tape with the fact of this number, and is not written yet."""

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

    def durable(self, seq: int) -> None:
        """The facts up to this one are on the tape: a line is written once, or in a crash just now never."""
        while self._lines and self._lines[0][0] <= seq:
            self._bus.publish(self._lines.pop(0)[1])


class EventDoor(Protocol):
    """What the settings let programs publish, and the programs that begin on it."""

    def refusal(self, program: str, type_: str, /) -> str | None:
        """The sentence why a program may not publish events of a type; None where it may."""
        ...

    def begun(self, program: str, type_: str, /) -> Sequence[str]:
        """The playbooks of programs that begin on such an event of a program."""
        ...

    async def begin(self, program: str, event: CloudEvent, hops: int, /) -> None:
        """Order what begins on an event, once however often it is asked. Raises InboxFull where too much waits."""
        ...


class PublishCalls:
    """`Publish`, for one session."""

    def __init__(self, journal: Journal, program: str, door: EventDoor | None) -> None:
        """Without `door` nobody would see an event."""
        self._journal = journal
        self._program = program
        self._door = door

    @call("Publish", example='await Publish("orders.taken", {"item": "tea", "pieces": 2})')
    def publish(self, frame: Frame, event: str, data: Any = None) -> str:
        """Publishes an event for other programs, once; returns the event's id.

        The settings name the types of events that a program may publish, and the programs that begin on them. The data
        are values by names, of at most 64 KiB as JSON.
        """
        refusal = self._refusal(event)
        if refusal is not None:
            raise PlaybookError(f"nothing was published: {refusal}")
        values = _values(data)
        hops = self._hops(event)
        return str(self._journal.note(EventPublished(frame.state.agent, event, values, hops)))

    def _refusal(self, type_: str) -> str | None:
        if not is_type(type_):
            return f"{type_[:80]!r} is no type of events, such as orders.taken: words of letters, digits, - and _"
        if is_reserved(type_):
            return f"only Parley itself has events of the type {type_}"
        if self._door is None:
            return "events need a gateway, and here is one conversation alone"
        return self._door.refusal(self._program, type_)

    def _hops(self, type_: str) -> int:
        """The length of the chain that the event continues. Raises PlaybookError where it would go on without end."""
        state = self._journal.state
        hops = 1 if state.order is None else state.order.hops + 1
        begun = [] if self._door is None else self._door.begun(self._program, type_)
        if begun and hops > MAX_HOPS:
            raise PlaybookError(
                f"{type_} was not published, because {begun[0]} begins on it: {MAX_HOPS} events of programs have led "
                "here one after the other, so the programs seem to begin each other without end"
            )
        if len(state.published) >= MAX_UNDELIVERED:
            raise PlaybookError(f"{type_} was not published: {MAX_UNDELIVERED} events before it still wait")
        return hops


def _values(data: Any) -> dict[str, Any]:
    """The data of an event. Raises PlaybookError for anything but values by names, and for too much."""
    if data is None:
        return {}
    if not isinstance(data, dict):
        given = shortened(repr(data))
        raise PlaybookError(f'nothing was published: the data are values by names, as {{"item": "tea"}}, not {given}')
    try:
        values: dict[str, Any] = as_data(data)
    except (TypeError, ValueError) as error:
        raise PlaybookError(f"nothing was published: the data are no JSON: {error}") from error
    if len(write_json(values).encode(errors="replace")) > MAX_EVENT_BYTES:
        raise PlaybookError(f"nothing was published: an event has at most {MAX_EVENT_BYTES:,} bytes of data")
    return values
