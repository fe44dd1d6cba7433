"""Limits and erasure of people, and the end of a meeting, at the console over a real store."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.core.ids import AgentId, PersonId
from runtime.stores.sessions import Commit
from runtime.tape.facts.meetings import MeetingCreated
from runtime.tape.facts.people import PersonMet
from runtime.tape.facts.session import AgentCreated
from runtime.tape.tape import Fact, session_tape
from tests.contract.console.console_answers import acted, told_of
from tests.contract.storage_samples import SESSION, SHARD, T0, beginning, shard_lease
from tests.fakes.pages.console import console

pytestmark = pytest.mark.anyio


async def test_a_person_has_limits_of_their_own_until_they_are_taken_back(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        own = {"usd_per_day": 0.5, "messages_per_minute": 0}
        assert (await acted(owner, "POST", "/people/web:1/limit", own))["limits"] == own
        (row,) = (await told_of(world, owner, "/people"))["people"]
        assert row == {"person": "web:1", "name": None, "role": None, "limits": own}
        no_limits: list[object] = [{"usd_per_day": -1}, {"usd": 1}, {"usd_per_day": "much"}, {"usd_per_day": True}, []]
        for wrong in no_limits:
            assert (await acted(owner, "POST", "/people/web:1/limit", wrong))["status"] == 422
        assert (await acted(owner, "POST", "/people/web:1/limit", {}))["limits"] == {}
        assert (await told_of(world, owner, "/people"))["people"] == []


async def test_a_person_is_forgotten_when_nothing_of_theirs_is_at_work(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        lease = await shard_lease(world.leases)
        met = PersonMet(PersonId("web:1"), "Ada", 0.0)
        fact = Fact(session_tape(SESSION), 1, met.kind, T0, met.data())
        await world.sessions.commit(replace(beginning(lease), facts=(fact,)))
        assert (await acted(owner, "POST", "/people/web:1/forget", {}))["status"] == 409
        await world.sessions.commit(Commit(lease, SESSION, 1, awake=False))
        assert (await acted(owner, "POST", "/people/web:1/forget", {}))["sessions"] == 1
        assert (await told_of(world, owner, "/sessions"))["sessions"] == []
        assert (await acted(owner, "POST", "/people/web:1/forget", {}))["sessions"] == 0


async def test_a_meeting_is_ended_by_one_event(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        lease = await shard_lease(world.leases)
        facts = [
            AgentCreated(AgentId("1000"), "Host"),
            MeetingCreated("101", "budget", AgentId("1000"), "1000.0"),
        ]
        told = tuple(Fact(session_tape(SESSION), at, one.kind, T0, one.data()) for at, one in enumerate(facts, 1))
        await world.sessions.commit(replace(beginning(lease), facts=told))
        for taken in (1, 0):
            assert (await acted(owner, "POST", f"/sessions/{SESSION}/meetings/101/end", {}))["accepted"] == taken
        (entry,) = await world.inbox.read({SHARD: "0"}, wait_s=0)
        assert (entry.event.kind, entry.event.text, entry.event.by_owner) == ("meeting", "101 end", True)
        assert (await acted(owner, "POST", f"/sessions/{SESSION}/meetings/102/end", {}))["status"] == 409
