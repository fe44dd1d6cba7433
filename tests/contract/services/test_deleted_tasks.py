"""Tasks of clients that nobody keeps any more, and those that have not begun: who sees them, and what can be done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.core.address import address_of
from runtime.core.ids import SessionId
from runtime.stores.inbox import InboxEntry, shard_of
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.facts.tasks import OrderOver
from runtime.tape.tape import Fact, agent_tape
from tests.contract.services.test_bus_doors import ORDER, World, bus
from tests.contract.storage_samples import NODE, T0, shard_lease

pytestmark = pytest.mark.anyio

CLIENTS = {
    "ci": ["tasks:write:desk", "tasks:read:desk"],
    "other": ["tasks:write:shop", "tasks:read:shop"],
    "reader": ["tasks:read:desk"],
}
KEYED: dict[str, Any] = {"program": "desk", **ORDER, "key": "k"}
ACTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "look": ("GET", "", {}),
    "wait": ("GET", "/result", {}),
    "cancel": ("POST", "/cancel", {}),
    "speak": ("POST", "/messages", {"json": {"id": "1", "text": "wire it all"}}),
}


async def ordered(world: World, name: str = "ci") -> SessionId:
    """A client's order that waits."""
    answer = await world.ask(name, "POST", "/tasks", json=KEYED)
    return SessionId(answer.json()["task"])


async def waiting(world: World, task: SessionId) -> list[InboxEntry]:
    """What waits for a task."""
    entries = await world.inbox.read({shard_of(address_of(task).key): "0"}, wait_s=0.01)
    return [entry for entry in entries if entry.event.address == address_of(task)]


async def deleted(world: World) -> SessionId:
    """A task of `ci` that was done, and whose session was deleted then."""
    task = await ordered(world)
    (entry,) = await waiting(world, task)
    lease = world.lease
    if entry.shard != lease.shard:
        lease = await shard_lease(world.leases, NODE, entry.shard)
    await done(world, lease, task, entry)
    assert (await world.ask("ci", "GET", f"/tasks/{task}")).json()["status"] == "completed"
    assert await world.catalog.delete(task, force=True)
    return task


async def done(world: World, lease: Lease, task: SessionId, entry: InboxEntry) -> None:
    over = OrderOver("completed", "fetched")
    fact = Fact(agent_tape(task, "1000"), 1, over.kind, T0, over.data())
    record = SessionRecord(task, address_of(task), "desk", T0, 0)
    begun = Commit(lease, task, 0, facts=(fact,), consume=(entry.entry_id,), begin=record, end=True)
    await world.sessions.commit(begun)


@pytest.mark.parametrize("act", ACTS)
async def test_a_task_whose_session_was_deleted_is_gone_for_every_request(valkey_socket: Path, act: str) -> None:
    method, path, how = ACTS[act]
    async with bus(valkey_socket, **CLIENTS) as world:
        task = await deleted(world)
        found = await world.ask("ci", method, f"/tasks/{task}{path}", **how)
        assert (found.status_code, found.json()["error"][:18]) == (410, "This task is gone:")
        assert (await world.ask("other", method, f"/tasks/{task}{path}", **how)).status_code == 404
        assert await waiting(world, task) == []


async def test_the_key_of_a_deleted_task_says_why_it_orders_nothing(valkey_socket: Path) -> None:
    async with bus(valkey_socket, **CLIENTS) as world:
        task = await deleted(world)
        again = await world.ask("ci", "POST", "/tasks", json=KEYED)
        assert (again.status_code, again.json()["error"][:28]) == (410, "The task of this key is gone")
        another = await world.ask("ci", "POST", "/tasks", json={**KEYED, "key": "l"})
        assert another.status_code == 201
        assert another.json()["task"] != task


@pytest.mark.parametrize("act", ACTS)
async def test_a_task_that_has_not_begun_is_there_for_clients_of_its_program_alone(
    valkey_socket: Path, act: str
) -> None:
    method, path, how = ACTS[act]
    async with bus(valkey_socket, **CLIENTS) as world:
        task = await ordered(world)
        allowed = {"ci": True, "other": False, "reader": method == "GET"}
        for name, may in allowed.items():
            found = await world.ask(name, method, f"/tasks/{task}{path}", **how)
            assert (found.status_code in (200, 202), found.status_code == 404) == (may, not may), name
