"""Conversations in memory while their shard goes away and comes back."""

from __future__ import annotations

import pytest

from runtime.sandbox.monty import MontySandbox
from runtime.sessions.store import Lease
from tests.fakes.talk import Model, talking
from tests.unit.runtime.sessions.test_session_life import echo

pytestmark = pytest.mark.anyio


async def test_what_waited_when_the_shard_was_lost_is_taken_once_when_it_comes_back(sandbox: MontySandbox) -> None:
    async with talking(echo(), Model(), sandbox) as talk:
        await talk.say("hello")
        before = len(talk.chat)
        talk.post("one")
        (entry,) = talk.world.waiting
        talk.registry.lost(0)
        await talk.registry.gained(Lease(0, 2))
        talk.registry.dispatch(entry, Lease(0, 2))
        await talk.settled()
        await talk.say("two")
        assert talk.chat[before:] == ["Ada: one", "Ada: two"]


async def test_a_lost_shards_conversations_leave_memory(sandbox: MontySandbox) -> None:
    async with talking(echo(), Model(), sandbox) as talk:
        await talk.say("hello")
        assert len(talk.registry) == 1
        talk.registry.lost(0)
        assert len(talk.registry) == 0
