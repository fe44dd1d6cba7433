"""The host call with which a program publishes an event for other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException

from gateway.clients.events import EventTriggers
from gateway.clients.requests import Client
from gateway.clients.scopes import PROGRAM, Scopes
from runtime.core.cloud_event import MAX_EVENT_BYTES, CloudEvent, is_type
from runtime.core.errors import InboxFull, PlaybookError
from runtime.core.json_text import write_json
from runtime.execution.frames.frame import Frame, shortened
from runtime.execution.frames.signatures import call
from runtime.tape.facts.session import EventPublished
from runtime.tape.journal import Journal, as_data
from runtime.tape.view import is_reserved

MAX_HOPS = 8
"""The longest chain of programs that begin one another by events."""

MAX_UNDELIVERED = 100
"""The events of one session on which programs may still have to begin; then it publishes none for now."""


class ProgramEvents:
    """What the settings let programs publish, and the programs that begin on it: to these, a program is a client."""

    def __init__(self, publishers: Mapping[str, Scopes], triggers: EventTriggers) -> None:
        """`publishers` are programs by name: the types of events that each may send, and what may begin on them."""
        self._clients = {name: Client(f"{PROGRAM}{name}", scopes) for name, scopes in publishers.items()}
        self._triggers = triggers

    def refusal(self, program: str, type_: str) -> str | None:
        """The sentence why a program may not publish events of a type; None where it may."""
        client = self._clients.get(program)
        if client is not None and client.scopes.may_send(type_):
            return None
        return f"the settings do not let {program} publish {type_}; [publishers.{program}] has the types that it may"

    def begun(self, program: str, type_: str) -> Sequence[str]:
        """The playbooks of programs that begin on such an event of a program."""
        client = self._clients.get(program)
        return [] if client is None else [one.name for one in self._triggers.on(client, type_)]

    async def begin(self, program: str, event: CloudEvent, hops: int) -> None:
        """Order what begins on an event, once however often it is asked. Raises InboxFull where too much waits."""
        client = self._clients.get(program)
        if client is None:
            return
        try:
            await self._triggers.begin(client, [event], hops=hops)
        except HTTPException as error:
            raise InboxFull(error.detail) from error


class PublishCalls:
    """`Publish`, for one session."""

    def __init__(self, journal: Journal, program: str, door: ProgramEvents | None) -> None:
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
