"""The events that programs publish: what the settings allow, and what begins on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.exceptions import HTTPException

from gateway.clients.admission import Client
from gateway.clients.scopes import PROGRAM, Scopes
from gateway.clients.triggers import EventTriggers
from runtime.core.cloud_event import CloudEvent
from runtime.core.errors import InboxFull


class ProgramEvents:
    """Implements `runtime.execution.calls.publishing.EventDoor`. To what begins, a program is a client."""

    def __init__(self, publishers: Mapping[str, Scopes], triggers: EventTriggers) -> None:
        """`publishers` are programs by name: the types of events that each may send, and what may begin on them."""
        self._clients = {name: Client(f"{PROGRAM}{name}", scopes) for name, scopes in publishers.items()}
        self._triggers = triggers

    def refusal(self, program: str, type_: str, /) -> str | None:
        """The sentence why a program may not publish events of a type; None where it may."""
        client = self._clients.get(program)
        if client is not None and client.scopes.may_send(type_):
            return None
        return f"the settings do not let {program} publish {type_}; [publishers.{program}] has the types that it may"

    def begun(self, program: str, type_: str, /) -> Sequence[str]:
        """The playbooks of programs that begin on such an event of a program."""
        client = self._clients.get(program)
        return [] if client is None else [one.name for one in self._triggers.on(client, type_)]

    async def begin(self, program: str, event: CloudEvent, hops: int, /) -> None:
        """Order what begins on an event, once however often it is asked. Raises InboxFull where too much waits."""
        client = self._clients.get(program)
        if client is None:
            return
        try:
            await self._triggers.begin(client, [event], hops=hops)
        except HTTPException as error:
            raise InboxFull(error.detail) from error
