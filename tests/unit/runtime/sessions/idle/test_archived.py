"""A session is moved into the archive, and the archive cannot be reached: nobody else's conversation is harmed by that,
people are told, and what they said can be replayed."""

from __future__ import annotations

import pytest

from runtime.core.errors import ArchiveUnavailable, TapeConflict
from runtime.core.ids import SessionId
from runtime.sandbox.monty import MontySandbox
from runtime.stores.sessions import Commit, SessionRecord
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.commands.test_undo import counter

pytestmark = pytest.mark.anyio

AWAY = (
    "The earlier part of this conversation is in an archive that I cannot read right now. Your message is kept, and my "
    "owner can replay it. /new starts another conversation."
)


class Cold(World):
    """An archive that does not answer has some of its sessions."""

    def __init__(self) -> None:
        super().__init__(())
        self._away: frozenset[SessionId] = frozenset()

    def put_all_away(self) -> None:
        self._away = frozenset(self._records)

    def answer(self) -> None:
        """All of them can be had again."""
        self._away = frozenset()

    async def commit(self, commit: Commit, /) -> None:
        if commit.session in self._away:
            raise TapeConflict("moved into the archive", expected=commit.expect, actual=commit.expect)
        await super().commit(commit)

    async def current(self, shard: int, conversation: str, /) -> SessionRecord | None:
        found = await super().current(shard, conversation)
        return found and await self.session(shard, found.id)

    async def session(self, shard: int, session: SessionId, /) -> SessionRecord | None:
        if session in self._away:
            raise ArchiveUnavailable("the archive does not answer")
        return await super().session(shard, session)


@pytest.mark.parametrize("in_memory", [True, False])
async def test_whose_past_cannot_be_had_is_told_and_heard_when_it_can(in_memory: bool, sandbox: MontySandbox) -> None:
    world = Cold()
    async with talking(counter(), Model(), sandbox, world=world) as talk:
        await talk.say("hi")
        await talk.say("one")
        world.put_all_away()
        if in_memory:
            assert await talk.say("two") == [AWAY]
    async with talking(counter(), Model(), sandbox, world=world) as talk:
        assert await talk.say("three") == [AWAY]
        await talk.rested()
        assert await talk.say("", kind="undo") == [AWAY]
        await talk.rested()
        world.answer()
        assert await talk.say("four") == ["2: four"]
    assert [entry.event.text for entry in world.discarded] == ["two"] * in_memory + ["three", ""]


async def test_who_begins_anew_needs_no_archive(sandbox: MontySandbox) -> None:
    world = Cold()
    async with talking(counter(), Model(), sandbox, world=world) as talk:
        await talk.say("hi")
        await talk.say("one")
        world.put_all_away()
        await talk.say("", kind="new")
        assert await talk.say("two") == ["1: two"]
