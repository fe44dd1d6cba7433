"""Programs that begin on what clients send: each event has the playbooks executed whose triggers name its type."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from starlette.exceptions import HTTPException

from gateway.clients.admission import Client
from gateway.clients.scopes import PROGRAM, Scopes
from gateway.clients.tasks.ordering import TaskOrdering
from runtime.core.cloud_event import CloudEvent, matches
from runtime.core.errors import InboxFull
from runtime.language.event_triggers import Begun, arguments_of, begun_on_events
from runtime.language.program import Program
from runtime.tape.view import session_in


class EventTriggers:
    """The triggers of all programs by events of clients. Each event begins a task of the client for each playbook, once
    however often the event is sent."""

    def __init__(self, ordering: TaskOrdering) -> None:
        self._ordering = ordering
        self._known: dict[str, tuple[Program, Sequence[Begun]]] = {}

    async def begin(self, client: Client, events: Sequence[CloudEvent], *, hops: int = 0) -> int:
        """Have executed what begins on these events and a client may begin; how many playbooks that are. Raises
        HTTPException where too much waits: then some may have begun, and the same events begin the others. `hops`
        events of programs led to them."""
        begun: set[str] = set()
        for event in events:
            for one in self.on(client, event.type):
                what = (one.klass, one.playbook.name, arguments_of(one.playbook, event))
                key = _key(one, event)
                await self._ordering.begin(client, one.program, what, key, event=event.type, hops=hops)
                begun.add(one.name)
        return len(begun)

    def on(self, client: Client, type_: str) -> Iterator[Begun]:
        """The triggers of programs that a client may begin by an event of a type, one for each playbook."""
        names = set[str]()
        for name, program in self._ordering.programs.items():
            if not client.scopes.may_trigger(name):
                continue
            for one in self._of(name, program):
                if matches(one.pattern, type_) and one.name not in names:
                    names.add(one.name)
                    yield one

    def _of(self, name: str, program: Program) -> Sequence[Begun]:
        """The triggers of a program, which may have been reloaded."""
        known = self._known.get(name)
        if known is None or known[0] is not program:
            known = self._known[name] = (program, tuple(begun_on_events(name, program)))
        return known[1]


def _key(one: Begun, event: CloudEvent) -> str:
    """The name of the order: long ids and names make it no longer than the keys of clients are. The sessions of a
    program are one client."""
    id_ = event.id if session_in(event.source) is None else f"{event.source}\0{event.id}"
    return "event " + hashlib.sha256(f"{id_}\0{one.name}".encode(errors="surrogatepass")).hexdigest()


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
