"""Events of other programs in talks: what begins on them, and what comes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from gateway.talks.talk import Arrived
from runtime.core.address import CLIENT, Address, address_data
from runtime.core.cloud_event import CloudEvent, matches
from runtime.core.ids import SessionId
from runtime.language.event_triggers import arguments_of, begun_on_events
from runtime.language.program import Program
from runtime.sessions.tasks.letters import Order
from runtime.stores.sessions import SessionStore
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderOver


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


async def results_of(store: SessionStore, tasks: Sequence[SessionId]) -> list[str]:
    """The results of tasks that have ended without a failure: texts as they are, other values as JSON."""
    found: list[str] = []
    for task in tasks:
        async for fact in store.read_session(task):
            over = read_as(fact, OrderOver)
            if over is not None and over.status == "completed":
                value = over.value
                found.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
    return found
