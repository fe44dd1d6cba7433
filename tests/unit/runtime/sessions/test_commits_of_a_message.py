"""How often the store is written to for a message and its answer, and in which order it has what."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime.core.ids import SessionId
from runtime.sandbox.monty import MontySandbox
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.programs import agent, program, python

pytestmark = pytest.mark.anyio

ECHO = program(
    agent(
        "Main",
        python("Main", trigger="BGN When program starts"),
        code="""
async def Main():
    await Say("user", "Welcome!")
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", message["text"])
""",
    )
)


class Noting(World):
    """Remembers what each commit had, and what people saw when it was asked for."""

    def __init__(self, *, nonce: bool = True) -> None:
        super().__init__((), nonce=nonce)
        self.commits: list[tuple[str, ...]] = []
        self.seen: list[list[str]] = []
        self.asked: list[str] = []

    async def session(self, shard: int, session: SessionId, /) -> SessionRecord | None:
        self.asked.append("session")
        return await super().session(shard, session)

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        self.asked.append("snapshot")
        return await super().snapshot(session, version)

    def read_session(self, session: SessionId, *, after: int = 0, until: int | None = None) -> AsyncIterator[Fact]:
        self.asked.append("facts")
        return super().read_session(session, after=after, until=until)

    async def commit(self, commit: Commit, /) -> None:
        self.commits.append(tuple(fact.kind for fact in commit.facts))
        self.seen.append([shown.text for shown in self.chat])
        await super().commit(commit)


async def test_a_message_and_its_answer_are_five_commits(sandbox: MontySandbox) -> None:
    async with talking(ECHO, Model(), sandbox, world=(world := Noting())) as talk:
        await talk.say("hi")
        world.commits.clear()
        world.seen.clear()
        assert await talk.say("again") == ["again"]
    assert [set(kinds) for kinds in world.commits] == [
        {"exchange", "heard", "in", "took"},
        {"page", "fin"},
        {"wait", "opening"},
        {"sent"},
        {"shown"},
    ]
    assert world.seen == [["Welcome!"]] * 3 + [["Welcome!", "again"]] * 2


async def test_a_new_session_is_looked_for_once_in_its_own_shard(sandbox: MontySandbox) -> None:
    async with talking(ECHO, Model(), sandbox, world=(world := Noting())) as talk:
        assert await talk.say("hi") == ["Welcome!"]
    assert world.asked == ["session"]


async def test_the_id_of_a_message_is_kept_before_it_counts_as_shown(sandbox: MontySandbox) -> None:
    async with talking(ECHO, Model(), sandbox, world=(world := Noting(nonce=False))) as talk:
        await talk.say("hi")
        world.commits.clear()
        await talk.say("again")
    assert world.commits[-2:] == [("sent",), ("shown",)]
