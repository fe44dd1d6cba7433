"""Programs that begin on what clients send: each event has the playbooks executed whose triggers name its type."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from gateway.clients.admission import Client
from gateway.clients.tasks.service import TaskService
from runtime.core.cloud_event import CloudEvent, matches
from runtime.language.event_triggers import Begun, arguments_of, begun_on_events
from runtime.language.program import Program


class EventTriggers:
    """The triggers of all programs by events of clients. Each event begins a task of the client for each playbook, once
    however often the event is sent."""

    def __init__(self, tasks: TaskService) -> None:
        self._tasks = tasks
        self._known: dict[str, tuple[Program, Sequence[Begun]]] = {}

    async def begin(self, client: Client, events: Sequence[CloudEvent]) -> int:
        """Have executed what begins on these events and a client may begin; how many playbooks that are. Raises
        HTTPException where too much waits: then some may have begun, and the same events begin the others."""
        begun: set[str] = set()
        for event in events:
            for one in self._on(client, event.type):
                what = (one.klass, one.playbook.name, arguments_of(one.playbook, event))
                await self._tasks.begin(client, one.program, what, _key(one, event), event=event.type)
                begun.add(one.name)
        return len(begun)

    def _on(self, client: Client, type_: str) -> Iterator[Begun]:
        names = set[str]()
        for name, program in self._tasks.programs.items():
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
    """The name of the order: long ids and names make it no longer than the keys of clients are."""
    return "event " + hashlib.sha256(f"{event.id}\0{one.name}".encode(errors="surrogatepass")).hexdigest()
