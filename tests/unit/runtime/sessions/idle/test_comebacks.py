"""What a restart continues comes back a few at a time, and holds nobody up who writes meanwhile."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio

from runtime.core.address import TASK_PLATFORM, Address
from runtime.core.ids import SessionId
from runtime.sessions.registry import AT_ONCE, LONGEST_S, Comebacks
from runtime.stores.sessions import Lease, SessionRecord
from runtime.tape.snapshot import Snapshot
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import TurboClock, World
from tests.fakes.people.talk import Model, Reply, Talk, talking
from tests.unit.runtime.sessions.programs import agent, llm, program

CROWD = [Address("test", f"room {number}") for number in range(3 * AT_ONCE)]


@dataclass
class Stand:
    """Sessions that have come back when they are told to."""

    comebacks: Comebacks
    clock: FakeClock
    begun: list[SessionId] = field(default_factory=list)
    listen: dict[SessionId, anyio.Event] = field(default_factory=dict)

    async def come_back(self, _: Lease, record: SessionRecord) -> None:
        self.begun.append(record.id)
        await self.listen.setdefault(record.id, anyio.Event()).wait()

    async def heard_by(self, session: str) -> None:
        self.listen[SessionId(session)].set()
        await self.clock.settle()


@asynccontextmanager
async def stand(*sessions: str, shard: int = 0) -> AsyncIterator[Stand]:
    async with anyio.create_task_group() as tasks:
        clock = FakeClock()
        one = Stand(Comebacks(lambda lease, record: one.come_back(lease, record), clock, tasks), clock)
        for session in sessions:
            platform = TASK_PLATFORM if session.startswith("task") else "test"
            record = SessionRecord(
                SessionId(session), Address(platform, session), "p", datetime(2026, 1, 1, tzinfo=UTC), 1
            )
            one.comebacks.add(Lease(shard, 1), record)
        await clock.settle()
        yield one
        tasks.cancel_scope.cancel()


def names(count: int) -> Sequence[str]:
    return [f"s{number}" for number in range(count)]


async def test_the_next_comes_back_when_one_listens() -> None:
    async with stand(*names(AT_ONCE + 2)) as one:
        assert one.begun == names(AT_ONCE)
        await one.heard_by("s2")
        assert one.begun == names(AT_ONCE + 1)
        await one.heard_by("s0")
        assert one.begun == names(AT_ONCE + 2)
        assert len(one.comebacks) == 0


async def test_conversations_of_people_come_before_tasks() -> None:
    async with stand("task a", "task b", *names(AT_ONCE + 1)) as one:
        assert one.begun == names(AT_ONCE)
        await one.heard_by("s0")
        await one.heard_by("s1")
        assert one.begun == [*names(AT_ONCE + 1), "task a"]


async def test_one_that_waits_for_something_else_keeps_the_others_for_a_second_only() -> None:
    async with stand(*names(2 * AT_ONCE)) as one:
        await one.clock.advance(LONGEST_S - 0.01)
        assert one.begun == names(AT_ONCE)
        await one.clock.advance(0.01)
        assert one.begun == names(2 * AT_ONCE)


async def test_a_shard_that_is_lost_leaves_its_sessions_to_the_next_node() -> None:
    async with stand(*names(AT_ONCE + 3), shard=7) as one:
        assert one.comebacks.loads() == {7: 3}
        one.comebacks.forget(8)
        assert one.comebacks.loads() == {7: 3}
        one.comebacks.forget(7)
        await one.heard_by("s0")
        assert one.begun == names(AT_ONCE)


class StoppedClock(TurboClock):
    """No time passes."""

    async def sleep_until(self, _monotonic_s: float, /) -> None:
        await anyio.sleep_forever()


class Slow(World):
    """Gives sessions their past only when `gate` is open; `asked` are those that wanted it. Its clock stands still."""

    def __init__(self) -> None:
        super().__init__(())
        self.clock = StoppedClock()
        self.asked: list[SessionId] = []
        self.gate = anyio.Event()
        self.gate.set()

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        self.asked.append(session)
        await self.gate.wait()
        return await super().snapshot(session, version)


WRITES = program(agent("Main", llm("Main", "01:QUE Talk; YLD for user", begins=True)))


def halves() -> list[Reply]:
    return [Reply("```python\n" + "# words\n" * 10, gate=anyio.Event()) for _ in CROWD]


async def cut_off(world: Slow) -> dict[str, SessionId]:
    """Half an answer in each conversation of the crowd; the sessions by conversation."""
    model = Model(*halves())
    async with talking(WRITES, model, world=world) as talk:
        for address in CROWD:
            talk.post("hello", at=address)
        await talk.settled()
        await talk.until(lambda: len(model.asked) == len(talk.named("session.started")) == len(CROWD))
        started = talk.named("session.started")
    world.asked.clear()
    return {event.data["conversation"]: SessionId(event.data["session_id"]) for event in started}


def restored(talk: Talk) -> int:
    return len(talk.named("session.restored"))


async def test_half_answers_come_back_a_few_at_a_time_until_all_are_there() -> None:
    await cut_off(world := Slow())
    world.gate = anyio.Event()
    async with talking(WRITES, Model(*halves()), world=world) as talk:
        await anyio.wait_all_tasks_blocked()
        assert len(world.asked) == AT_ONCE
        assert len(talk.registry) == len(CROWD)
        assert talk.registry.loads() == {0: len(CROWD)}
        world.gate.set()
        await talk.until(lambda: restored(talk) == len(CROWD))


async def test_who_writes_while_half_answers_come_back_does_not_wait_for_them() -> None:
    sessions = await cut_off(world := Slow())
    world.gate = anyio.Event()
    async with talking(WRITES, Model(*halves()), world=world) as talk:
        await anyio.wait_all_tasks_blocked()
        last = next(address for address in reversed(CROWD) if sessions[address.key] not in world.asked)
        talk.post("are you there?", at=last)
        await anyio.wait_all_tasks_blocked()
        assert world.asked[AT_ONCE:] == [sessions[last.key]]
        world.gate.set()
        await talk.until(lambda: restored(talk) == len(CROWD))
        assert sorted(world.asked) == sorted(sessions.values())
