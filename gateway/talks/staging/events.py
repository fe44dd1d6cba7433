"""Events of other programs in talks: what begins on them, and its results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from gateway.talks.talk import Arrived
from runtime.core.address import CLIENT, Address, address_data
from runtime.core.cloud_event import CloudEvent, matches
from runtime.core.ids import SessionId
from runtime.language.event_triggers import arguments_of, begun_on_events
from runtime.language.program import Program
from runtime.stores.orders import Order
from runtime.stores.sessions import SessionStore
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState


def orders_of(
    program: Program, arrived: Arrived, id_: str, now: datetime, within_s: float
) -> Iterator[tuple[SessionId, Order]]:
    """The tasks that begin on an event of this id, each once, and their orders."""
    event = CloudEvent(id_, arrived.type, f"/clients/{arrived.source}", now, data=arrived.data)
    whose = address_data(Address(CLIENT, arrived.source))
    begun: set[str] = set()
    for one in begun_on_events(program.name, program):
        if not matches(one.pattern, event.type) or one.name in begun:
            continue
        begun.add(one.name)
        task = SessionId(hashlib.sha256(f"{id_} {one.name}".encode()).hexdigest()[:32])
        what = (one.klass, one.playbook.name, arguments_of(one.playbook, event))
        due = now.timestamp() + within_s
        yield task, Order(0, SessionId(""), *what, due, 1, whose, whose, task, event=event.type)


@dataclass(slots=True)
class EventTasks:
    """What events began in a talk, until it is over. `sources` are the clients whose events they were."""

    store: SessionStore
    sources: dict[SessionId, str] = field(default_factory=dict)

    async def results(self) -> list[str]:
        """The results of those that have ended without a failure since it was asked last: texts as they are, other
        values as JSON."""
        found: list[str] = []
        for task in list(self.sources):
            over = (await self._state(task)).order
            if over is not None and over.over:
                del self.sources[task]
                if over.status == "completed":
                    value = over.value
                    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
                    found.append(text)
        return found

    async def asking(self, source: str) -> tuple[SessionId, str, str] | None:
        """The task that asks the oldest question of a client, "" for any, the question's id and who is asked; None
        where nothing is asked."""
        for task, whose in self.sources.items():
            questions = (await self._state(task)).questions.values() if source in ("", whose) else ()
            for question in questions:
                return task, question.page, whose
        return None

    async def _state(self, task: SessionId) -> SessionState:
        state = SessionState()
        async for fact in self.store.read_session(task):
            apply_fact(state, fact)
        return state
