"""What owners do at the console, and what they decide, over a real store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gateway.access.people import KnownPerson, Role
from gateway.assembly.stores import people_in
from gateway.features.reports.redis import RedisReports, Report
from gateway.features.usage.ledger import RedisUsage, Used
from gateway.models.answers import ModelAmounts
from runtime.storage.redis.leases import RedisNodeStore
from runtime.stores.inbox import NOTICE
from runtime.stores.sessions import Commit, LeaseHolder
from tests.contract.console.console_answers import acted, said, told_of
from tests.contract.storage_samples import HERE, SESSION, SHARD, event, shard_lease
from tests.fakes.pages.console import console

pytestmark = pytest.mark.anyio

CHANGES: Sequence[tuple[str, str, Any]] = (
    ("POST", f"/sessions/{SESSION}/stop", {}),
    ("DELETE", f"/sessions/{SESSION}", {}),
    ("POST", f"/sessions/{SESSION}/test", {}),
    ("POST", f"/sessions/{SESSION}/scratch", {"key": "k"}),
    ("POST", f"/sessions/{SESSION}/messages", {"text": "hi", "key": "k"}),
    ("POST", f"/sessions/{SESSION}/variables", {"agent": "1000", "name": "x", "value": 1, "key": "k"}),
    ("POST", "/tasks/t1/retry", {}),
    ("POST", "/models/default/test", {}),
    ("POST", "/programs/reload", {}),
    ("POST", "/schedules/pause", {"schedule": "none"}),
    ("POST", "/schedules/resume", {"schedule": "none"}),
    ("POST", "/schedules/run", {"schedule": "none"}),
    ("POST", "/nodes/n1/drain", {}),
    ("POST", "/nodes/n1/undrain", {}),
    ("POST", "/reports/1/again", {}),
    ("POST", "/reports/1/leave", {}),
    ("POST", f"/questions/{SESSION}/4/answer", {"option": 0}),
    ("POST", "/requests/CODE/approve", {}),
    ("POST", "/dead-letters/1-1-1/replay", {}),
    ("DELETE", "/dead-letters/1-1-1", {}),
    ("POST", "/people/web:1/role", {"role": "member"}),
    ("POST", "/people/web:1/limit", {"usd_per_day": 1}),
    ("POST", "/people/web:1/forget", {}),
    ("POST", f"/sessions/{SESSION}/meetings/101/end", {}),
    ("DELETE", "/people/web:1/role", {}),
)


async def test_nothing_is_changed_while_the_switch_is_off_or_by_another_role(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world, world.logged_in() as owner:
        refused = [await acted(owner, *change) for change in CHANGES]
        assert {one["status"] for one in refused} == {403}
        assert all("console.acts" in one["error"] for one in refused)
    async with console(valkey_socket, acts=True) as world, world.logged_in("operator") as operator:
        assert {(await acted(operator, *change))["status"] for change in CHANGES} == {403}
        assert [one for one in world.told if one.name == "console.acted"] == []


async def test_a_session_is_stopped_by_an_event_and_deleted_when_it_rests(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        await said(world)
        assert await acted(owner, "POST", f"/sessions/{SESSION}/stop", {}) == {"status": 202, "accepted": 1, "known": 0}
        (entry,) = await world.inbox.read({SHARD: "0"}, wait_s=0)
        assert (entry.event.kind, entry.event.person_name) == ("stop", "Olga")
        assert (await acted(owner, "DELETE", f"/sessions/{SESSION}", {}))["status"] == 409
        lease = await shard_lease(world.leases)
        await world.sessions.commit(Commit(lease, SESSION, 1, awake=False))
        exported = await owner.get(f"/bus/v1/sessions/{SESSION}/export")
        assert "a secret" in exported.text
        assert json.loads(exported.text.splitlines()[-1])
        assert (await acted(owner, "DELETE", f"/sessions/{SESSION}", {}))["status"] == 200
        assert (await acted(owner, "DELETE", f"/sessions/{SESSION}", {}))["status"] == 404
        assert (await acted(owner, "POST", f"/sessions/{SESSION}/stop", {}))["status"] == 404


async def test_people_are_let_in_and_get_roles(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        people = people_in(world.ground.connection, world.ground.clock)
        asker = KnownPerson("telegram:7", "Grace", Role.GUEST)
        asked = await people.ask(asker, HERE, None, minutes=5, at_most=3)
        assert asked is not None
        async with world.logged_in("operator") as operator:
            assert (await told_of(world, operator, "/requests"))["requests"][0]["code"] is None
        (row,) = (await told_of(world, owner, "/requests"))["requests"]
        assert (row["person"], row["code"]) == ("telegram:7", asked.code)
        assert (await acted(owner, "POST", f"/requests/{asked.code}/approve", {"role": "guest"}))["role"] == "guest"
        (entry,) = await world.inbox.read({SHARD: "0"}, wait_s=0)
        assert entry.event.kind == NOTICE
        assert (await acted(owner, "POST", f"/requests/{asked.code}/approve", {}))["status"] == 404
        assert (await acted(owner, "POST", "/people/telegram:7/role", {"role": "king"}))["status"] == 422
        assert (await acted(owner, "POST", "/people/telegram:7/role", {"role": "owner"}))["status"] == 200
        assert (await told_of(world, owner, "/people"))["people"] == [
            {"person": "telegram:7", "name": "Grace", "role": "owner", "limits": {}}
        ]
        assert (await acted(owner, "DELETE", "/people/telegram:7/role"))["status"] == 200
        assert (await acted(owner, "DELETE", "/people/telegram:7/role"))["status"] == 404


async def test_dead_letters_are_replayed_and_dropped(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        lease = await shard_lease(world.leases)
        for name in ("in.1", "in.2"):
            await world.inbox.add(event(name, text="a secret"))
        for entry in await world.inbox.read({SHARD: "0"}, wait_s=0):
            await world.inbox.discard(entry, lease.token, reason="it raised")
        first, second = (await told_of(world, owner, "/dead-letters"))["letters"]
        assert (first["text"], first["why"]) == ("a secret", "it raised")
        page = await told_of(world, owner, "/dead-letters", limit=1)
        after = await told_of(world, owner, "/dead-letters", limit=1, after=page["next"])
        assert after["letters"] == [second]
        async with world.logged_in("operator") as operator:
            assert "a secret" not in json.dumps(await told_of(world, operator, "/dead-letters"))
        assert (await acted(owner, "POST", f"/dead-letters/{first['letter']}/replay", {}))["status"] == 200
        assert (await acted(owner, "DELETE", f"/dead-letters/{second['letter']}"))["status"] == 200
        assert (await acted(owner, "DELETE", f"/dead-letters/{second['letter']}"))["status"] == 404
        assert [entry.event.id for entry in await world.inbox.read({SHARD: "0"}, wait_s=0)] == ["in.1"]


async def test_reports_are_decided_once(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        store = RedisReports(world.ground.connection)
        report = Report(
            "uncaught", SESSION, 1, HERE.key, "hello", "v", "Host", "Main", "Main:01", "KeyError", "m", 1, 2
        )
        number = (await store.add(report)).number
        (row,) = (await told_of(world, owner, "/reports", open=1))["reports"]
        assert (row["report"], row["session"], row["error_type"]) == (number, SESSION, "KeyError")
        assert (await acted(owner, "POST", f"/reports/{number}/again", {}))["status"] == 404  # its session is gone
        assert (await acted(owner, "POST", f"/reports/{number}/leave", {}))["outcome"] == "left"
        assert (await told_of(world, owner, "/reports", open=1))["reports"] == []
        assert (await told_of(world, owner, "/reports"))["reports"][0]["decided"] == "left"
        assert (await acted(owner, "POST", "/reports/x/leave", {}))["status"] == 404


async def test_spending_is_shown_in_sums_and_of_people_only_to_owners(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world, world.logged_in() as owner, world.logged_in("operator") as operator:
        today = world.ground.clock.now().date()
        usage = RedisUsage(world.ground.connection)
        await usage.add(Used(today, "web:1", "shop", "Host", "m1"), ModelAmounts(1, 10, 0, 5, 0.5))
        await usage.add(Used(today, "web:2", "shop", "Clerk", "m1"), ModelAmounts(2, 20, 0, 5, 0.25))
        assert (await told_of(world, operator, "/usage"))["all"]["usd"] == 0.75
        agents = (await told_of(world, operator, "/usage", by="agent"))["sums"]
        assert [(one["name"], one["usd"]) for one in agents] == [("Host", 0.5), ("Clerk", 0.25)]
        assert [one["name"] for one in (await told_of(world, owner, "/usage", by="person"))["sums"]] == [
            "web:1",
            "web:2",
        ]
        assert (await operator.get("/bus/v1/usage?by=person")).status_code == 403
        assert (await owner.get("/bus/v1/usage?by=planet")).status_code == 422


async def test_tasks_and_schedules_are_listed(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        assert await told_of(world, owner, "/tasks") == {"tasks": [], "next": None}
        assert await told_of(world, owner, "/schedules") == {"schedules": [], "next": None}
        assert (await owner.get("/bus/v1/tasks?after=nonsense")).status_code == 422
        assert (await acted(owner, "POST", "/tasks/none/retry", {}))["status"] == 409
        assert (await acted(owner, "POST", "/schedules/pause", {"schedule": "none"}))["status"] == 404


async def test_a_node_is_drained_where_another_one_takes_over(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        nodes = RedisNodeStore(world.ground.connection)
        await nodes.announce(LeaseHolder("a", 60))
        assert (await acted(owner, "POST", "/nodes/a/drain", {}))["status"] == 409
        await nodes.announce(LeaseHolder("b", 60))
        before = (await nodes.living()).news
        assert (await acted(owner, "POST", "/nodes/a/drain", {}))["draining"] is True
        assert (await nodes.living()).news != before  # the nodes look at it at once
        rows = (await told_of(world, owner, "/status"))["nodes"]
        assert [(row["name"], row["draining"]) for row in rows] == [("a", True), ("b", False)]
        assert (await acted(owner, "POST", "/nodes/b/drain", {}))["status"] == 409
        assert (await acted(owner, "POST", "/nodes/a/undrain", {}))["draining"] is False
        assert (await acted(owner, "POST", "/nodes/b/drain", {}))["status"] == 200
        assert (await acted(owner, "POST", "/nodes/c/undrain", {}))["status"] == 404
