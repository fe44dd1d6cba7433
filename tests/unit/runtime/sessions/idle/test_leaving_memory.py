"""What stays in memory of sessions in which nothing goes on, in snapshots, and in the archive."""

import asyncio
import gc
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import pairwise

import anyio
import pytest

from runtime.core.address import Address
from runtime.core.errors import ArchiveUnavailable, TapeConflict
from runtime.core.ids import SessionId
from runtime.execution.frames.signatures import CallShape
from runtime.sandbox.monty import MontySandbox
from runtime.sessions import rest
from runtime.sessions.idle import RestingSessions
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import CommitBatch, Journal
from runtime.tape.snapshot import snapshot_of
from runtime.tape.tape import Fact, session_tape
from tests.fakes.crashes.world import ADDRESS, World, live
from tests.fakes.people.talk import Model, Reply, block, talking
from tests.unit.runtime.sessions.commands.test_undo import counter
from tests.unit.runtime.sessions.crashes.album import Album, folded
from tests.unit.runtime.sessions.crashes.crash_sweep import Company
from tests.unit.runtime.sessions.crashes.programs.tales import HELLO
from tests.unit.runtime.sessions.programs import agent, llm, program
from tests.unit.runtime.sessions.test_session_life import echo
from tests.unit.runtime.tape.random_facts import Facts

ROOMS = [Address("test", f"room {number}") for number in range(20)]
GREETING = block('await Step("Main:01:QUE")', 'await Say("user", "Hello to you!")', 'await Yld("user")')


async def test_of_sessions_that_rest_only_so_many_stay_in_memory_and_all_go_on_when_spoken_to() -> None:
    async with talking(echo(), Model(), resting=RestingSessions(3)) as talk:
        for text in ("hello", "one", "two"):
            for room in ROOMS:
                await talk.say(text, at=room)
                await talk.until(lambda: len(talk.registry) <= 3)
        assert len(talk.named("session.rested")) == 3 * len(ROOMS) - 3
        assert talk.chat.count("Ada: one") == talk.chat.count("Ada: two") == len(ROOMS)
        assert not talk.world.waiting


async def test_who_was_spoken_to_last_is_still_in_memory() -> None:
    async with talking(echo(), Model(), resting=RestingSessions(2)) as talk:
        for room in (0, 1, 0, 2):
            await talk.say("hello", at=ROOMS[room])
        await talk.until(lambda: len(talk.registry) == 2)
        (rested,) = talk.named("session.rested")
        assert rested.data["conversation"] == ROOMS[1].key


async def test_a_session_at_work_does_not_leave_memory_for_others_that_rest() -> None:
    gate = anyio.Event()
    model = Model(Reply(GREETING.text, gate=gate), GREETING, GREETING, GREETING)
    greeter = program(agent("Main", llm("Main", "01:QUE Greet", "02:YLD for user", begins=True)))
    resting = RestingSessions(1)
    async with talking(greeter, model, resting=resting) as talk:
        talk.post("hi", at=ROOMS[0])
        await model.writing.wait()
        for room in ROOMS[1:4]:
            talk.post("hi", at=room)
        await talk.until(lambda: talk.chat.count("Hello to you!") == 3)
        await talk.until(lambda: len(talk.registry) == 2)
        gate.set()
        await talk.until(lambda: talk.chat.count("Hello to you!") == 4)
        await talk.until(lambda: len(talk.registry) == 1)
        assert not talk.named("session.restored")
        assert len(resting) == 1


async def test_a_session_that_has_left_memory_is_forgotten_here_too() -> None:
    resting = RestingSessions(idle_s=0.001)
    async with talking(echo(), Model(), resting=resting, after="hello") as talk:
        await talk.rested()
        assert len(resting) == 0


def shapes() -> int:
    gc.collect()
    return sum(isinstance(one, CallShape) for one in gc.get_objects())


async def test_a_resting_session_has_two_tasks_and_shares_what_every_program_may_call() -> None:
    model = Model(*[GREETING] * len(ROOMS))
    greeter = program(agent("Main", llm("Main", "01:QUE Greet", "02:YLD for user", begins=True)))
    async with talking(greeter, model) as talk:
        await talk.say("hi", at=ROOMS[0])
        tasks, objects = len(asyncio.all_tasks()), shapes()
        for room in ROOMS[1:]:
            await talk.say("hi", at=room)
        more = len(ROOMS) - 1
        assert talk.chat == ["Hello to you!"] * len(ROOMS)
        assert (len(asyncio.all_tasks()) - tasks) / more <= 2
        assert shapes() == objects


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
async def test_whose_past_cannot_be_had_is_told_and_heard_when_it_can(in_memory: bool) -> None:
    world = Cold()
    async with talking(counter(), Model(), world=world, after=("hi", "one")) as talk:
        world.put_all_away()
        if in_memory:
            assert await talk.say("two") == [AWAY]
    async with talking(counter(), Model(), world=world) as talk:
        assert await talk.say("three") == [AWAY]
        await talk.rested()
        assert await talk.say("", kind="undo") == [AWAY]
        await talk.rested()
        world.answer()
        assert await talk.say("four") == ["2: four"]
    assert [entry.event.text for entry in world.discarded] == ["two"] * in_memory + ["three", ""]


async def test_who_begins_anew_needs_no_archive() -> None:
    world = Cold()
    async with talking(counter(), Model(), world=world, after=("hi", "one")) as talk:
        world.put_all_away()
        await talk.say("", kind="new")
        assert await talk.say("two") == ["1: two"]


T0 = datetime(2026, 1, 1, tzinfo=UTC)


async def test_sessions_that_are_short_have_no_snapshots(sandbox: MontySandbox) -> None:
    album = Album(HELLO.people)
    await live(album, HELLO.program, Company(HELLO, random.Random(0)), sandbox)
    assert album.taken == []


class Counting(World):
    """Counts the facts that are read."""

    read_facts = 0

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        async for fact in super().read_session(session, after=after, until=until):
            self.read_facts += 1
            yield fact


async def unused(_batch: CommitBatch) -> None:
    raise AssertionError("nothing is written here")


async def test_restoring_reads_only_the_facts_behind_the_snapshot() -> None:
    draw, session, world = Facts(random.Random(3)), SessionId("s1"), Counting(())
    told = [draw() for _ in range(1200)]
    facts = tuple(Fact(session_tape(session), seq, kind, T0, data) for seq, (kind, data) in enumerate(told, start=1))
    record = SessionRecord(session, ADDRESS, "test", T0, 0)
    await world.commit(Commit(Lease(0, 1), session, 0, facts=facts, begin=record))
    await world.keep_snapshot(Lease(0, 1), session, snapshot_of(folded(facts[:1000])))
    journal = Journal(session, world.clock, unused)
    await rest.Snapshots(world, record, lambda: Lease(0, 1), journal).restore()
    assert world.read_facts == 200
    assert journal.state == folded(facts)
    assert journal.settled


async def test_the_larger_a_snapshot_is_the_later_comes_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that grows with every fact costs so many characters a fact at most, however long it becomes."""
    monkeypatch.setattr(rest, "FACTS_BETWEEN", 10)
    monkeypatch.setattr(rest, "LARGE_CHARS", 1_000)
    session, world = SessionId("s1"), Album(())
    record = SessionRecord(session, ADDRESS, "test", T0, 0, taken_in="mark")
    await world.commit(Commit(Lease(0, 1), session, 0, begin=record, awake=False))

    async def write(batch: CommitBatch) -> None:
        await world.commit(Commit(Lease(0, 1), session, batch.expect, facts=batch.facts, awake=batch.awake))

    journal = Journal(session, world.clock, write)
    kept = rest.Snapshots(world, record, lambda: Lease(0, 1), journal)
    async with anyio.create_task_group() as tasks:
        journal.start(tasks)
        kept.start(tasks)
        for number in range(600):
            journal.note(content_of("person", {"id": f"test:{number}", "name": "x" * 80}))
            await journal.commit()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert set(world.taken_of) == {"mark"}
    numbers = [taken.seq for _, taken in world.taken]
    gaps = [after - before for before, after in pairwise(numbers)]
    assert numbers[0] == 10
    assert gaps == sorted(gaps)
    assert gaps[-1] > 5 * gaps[0]
    assert sum(len(taken.text) for _, taken in world.taken) / numbers[-1] < 2 * 1_000 / 10 + 200
