"""Calls that draw from several buckets, and buckets that several nodes share."""

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from adapters.capabilities import Budget
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pacing.live_text import LiveCall
from runtime.core.errors import NotDelivered, OutcomeUncertain, RateLimited
from tests.fakes.clock import FakeClock

HOME = Budget(30.0, 30)
Draws = Sequence[tuple[str, Budget]]


class Text:
    """A text whose calls draw from what `draws` says at the time."""

    def __init__(self, name: str, clock: FakeClock, log: list[tuple[str, float]], draws: Draws) -> None:
        self.name, self.clock, self.log, self.draws = name, clock, log, draws
        self.said = self.shown = 0
        self.final_shown = False
        self.errors: list[Exception] = []
        self.conversation: str | None = None

    def frame(self, final: bool, /) -> LiveCall | None:
        if self.shown == self.said and (self.final_shown or not final):
            return None
        covers = self.said

        async def call() -> None:
            self.log.append((self.name, self.clock.monotonic()))
            await self.clock.sleep_until(self.clock.monotonic() + 0.1)
            if self.errors:
                raise self.errors.pop(0)
            self.shown, self.final_shown = covers, final

        return LiveCall(covers, call, draws=self.draws)


class Bench:
    def __init__(self, clock: FakeClock, tasks: anyio.abc.TaskGroup, total: Budget) -> None:
        self.clock, self.tasks = clock, tasks
        self.scheduler = EditScheduler(total, clock, tasks)
        self.log: list[tuple[str, float]] = []

    def text(self, name: str, *draws: tuple[str, Budget]) -> Text:
        return Text(name, self.clock, self.log, draws)

    def finish(self, text: Text, length: int = 50) -> None:
        text.said = length
        self.tasks.start_soon(self.scheduler.open(f"room of {text.name}", HOME, text).finish, length)

    def times(self, name: str) -> list[float]:
        return [at for who, at in self.log if who == name]


@asynccontextmanager
async def bench(total: Budget = HOME) -> AsyncIterator[Bench]:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        yield Bench(clock, tasks, total)
        tasks.cancel_scope.cancel()


async def test_a_call_waits_for_a_token_of_every_bucket_it_draws_from() -> None:
    async with bench() as b:
        slow, slower = ("slow", Budget(0.5, 1)), ("slower", Budget(0.1, 1))
        b.finish(b.text("first", slow, slower))
        await b.clock.advance(0.5)
        b.finish(b.text("both", slow, slower))
        b.finish(b.text("one", slow))
        await b.clock.advance(30)
        assert b.times("one")[0] == pytest.approx(2.1, abs=0.1)
        assert b.times("both")[0] == pytest.approx(10.1, abs=0.1)


async def test_a_named_bucket_is_drawn_from_instead_of_the_bots_own() -> None:
    async with bench(Budget(0.01, 1)) as b:
        for number in range(3):
            b.finish(b.text(f"t{number}", ("method", Budget(10.0, 10))))
        await b.clock.advance(2)
        assert [name for name, _ in b.log] == ["t0", "t1", "t2"]


async def test_a_bucket_shared_by_conversations_serves_the_oldest_text_first() -> None:
    async with bench() as b:
        method = ("method", Budget(0.5, 1))
        b.finish(b.text("drain", method))
        for name in ("a", "b", "c"):
            await b.clock.advance(0.2)
            b.finish(b.text(name, method))
        await b.clock.advance(30)
        assert [name for name, _ in b.log] == ["drain", "a", "b", "c"]
        times = [at for _, at in b.log]
        assert all(later - earlier >= 2.0 for earlier, later in itertools.pairwise(times))


async def test_a_text_follows_its_frames_from_one_bucket_to_another() -> None:
    async with bench() as b:
        post, edit = ("post", Budget(1.0, 3)), ("edit", Budget(0.2, 1))
        text = b.text("a", post)
        live = b.scheduler.open("room", HOME, text)
        text.said = 30
        live.said(30)
        await b.clock.advance(0.05)
        assert len(b.log) == 1
        text.draws = (edit,)
        other = b.text("other", edit)
        b.finish(other)
        await b.clock.advance(1)
        text.said = 500
        b.tasks.start_soon(live.finish, 500)
        await b.clock.advance(10)
        assert b.times("a")[1] - b.times("other")[0] >= 5.0
        assert text.final_shown


async def test_a_flood_pauses_every_bucket_the_call_drew_from_and_no_other() -> None:
    async with bench() as b:
        mine, method, else_ = (("chat", Budget(5.0, 5)), ("method", Budget(5.0, 5)), ("else", Budget(5.0, 5)))
        flooded = b.text("flooded", mine, method)
        flooded.errors = [RateLimited("wait", retry_after_s=20.0)]
        b.finish(flooded)
        await b.clock.advance(0.5)
        b.finish(b.text("same method", method))
        b.finish(b.text("same chat", mine))
        b.finish(b.text("another", else_))
        await b.clock.advance(10)
        assert [name for name, _ in b.log] == ["flooded", "another"]
        await b.clock.advance(20)
        assert flooded.final_shown
        assert min(b.times("same method") + b.times("same chat")) >= 20.0


async def test_a_call_that_must_be_made_is_repeated_until_its_outcome_is_known() -> None:
    async with bench() as b:
        made: list[float] = []
        outcomes: list[Exception] = [OutcomeUncertain("502"), RateLimited("wait", retry_after_s=7.0)]
        results: list[bool] = []

        async def call() -> None:
            made.append(b.clock.monotonic())
            if outcomes:
                raise outcomes.pop(0)

        async def make() -> None:
            results.append(await b.scheduler.make("room", HOME, call))

        b.tasks.start_soon(make)
        await b.clock.advance(10)
        assert results == [True]
        assert made == pytest.approx([0.0, 0.0, 7.02])


async def test_a_call_that_is_refused_for_good_is_given_up() -> None:
    async with bench() as b:

        async def call() -> None:
            raise NotDelivered("no")

        assert await b.scheduler.make("room", HOME, call) is False


async def test_a_node_uses_no_more_of_a_shared_bucket_than_its_share_and_all_of_its_own() -> None:
    async with bench(Budget(1.0, 4)) as b:
        b.scheduler.grant(0.5)
        own, shared = ("own", Budget(1.0, 4)), ("shared", Budget(1.0, 4, shared=True))
        for number in range(40):
            b.finish(b.text(f"own {number}", own))
            b.finish(b.text(f"shared {number}", shared))
        await b.clock.advance(20.5)
        assert len([name for name, _ in b.log if name.startswith("own")]) == 4 + 20
        assert len([name for name, _ in b.log if name.startswith("shared")]) == 2 + 10


async def test_nodes_whose_shares_change_never_overrun_the_whole_bucket() -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        log: list[tuple[str, float]] = []
        nodes = [EditScheduler(HOME, clock, tasks) for _ in range(2)]
        shared = ("shared", Budget(1.0, 6, shared=True))
        nodes[1].grant(0.0)
        for number, node in enumerate(nodes):
            for each in range(60):
                text = Text(f"{number}.{each}", clock, log, (shared,))
                text.said = 1
                tasks.start_soon(node.open(text.name, HOME, text).finish, 1)
        for first, second in ((1.0, 0.0), (0.5, 0.0), (0.5, 0.5), (0.25, 0.5), (0.25, 0.75), (0.0, 0.75), (0.0, 1.0)):
            nodes[0].grant(first)
            nodes[1].grant(second)
            await clock.advance(5)
        times = sorted(at for _, at in log)
        tasks.cancel_scope.cancel()
    level, as_of = 6.0, 0.0
    for at in times:
        level = min(6.0, level + (at - as_of)) - 1.0
        as_of = at
        assert level >= -1e-6
    assert len(times) >= 35


async def test_texts_that_wait_for_a_share_go_on_when_it_is_granted() -> None:
    async with bench() as b:
        b.scheduler.grant(0.0)
        b.finish(b.text("a", ("shared", Budget(1.0, 2, shared=True))))
        await b.clock.advance(60)
        assert b.log == []
        b.scheduler.grant(1.0)
        await b.clock.advance(2)
        assert len(b.log) == 1


async def test_a_bucket_is_shared_as_soon_as_anybody_says_so() -> None:
    async with bench() as b:
        b.scheduler.grant(0.5)
        b.finish(b.text("chat", ("chat", Budget(1.0, 4))))
        for number in range(9):
            b.finish(b.text(f"topic {number}", ("chat", Budget(1.0, 4, shared=True))))
        await b.clock.advance(4.5)
        assert len(b.log) == 2 + 2


async def test_a_text_whose_call_came_back_when_nothing_might_be_shown_goes_on_when_it_may_again() -> None:
    async with bench() as b:
        silent: set[str | None] = set()
        scheduler = EditScheduler(HOME, b.clock, b.tasks, may_show=lambda conversation: conversation not in silent)
        text = b.text("a", ("send", Budget(1.0, 3)))
        text.conversation, text.errors, text.said = "ours", [OutcomeUncertain("no answer")], 50
        b.tasks.start_soon(scheduler.open("room", HOME, text).finish, 50)
        await b.clock.advance(0.05)
        silent.add("ours")
        await b.clock.advance(10)
        assert len(b.times("a")) == 1
        silent.clear()
        scheduler.resume()
        await b.clock.advance(1)
        assert len(b.times("a")) == 2
        assert text.final_shown
