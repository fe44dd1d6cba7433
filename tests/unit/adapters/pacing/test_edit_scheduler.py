"""Who may call next."""

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.capabilities import Budget, CallWindow
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pacing.frame_policy import AreaPolicy, Supply
from adapters.pacing.live_text import LiveCall, Progress
from runtime.core.errors import BadMarkup, OutcomeUncertain, StreamOver
from tests.fakes.clock import FakeClock

ROOMY = Budget(30.0, 30)


class Line:
    """A text whose frames show everything said; calls last `lasts_s`."""

    def __init__(self, name: str, clock: FakeClock, log: list[tuple[str, float]], lasts_s: float = 0.1) -> None:
        self.name, self.clock, self.log, self.lasts_s = name, clock, log, lasts_s
        self.said = self.shown = self.calls_now = self.most_calls = 0
        self.final_shown = False
        self.errors: list[Exception] = []
        self.conversation: str | None = None

    def frame(self, final: bool, /) -> LiveCall | None:
        if self.shown == self.said and (self.final_shown or not final):
            return None
        covers = self.said

        async def call() -> None:
            self.log.append((self.name, self.clock.monotonic()))
            self.calls_now += 1
            self.most_calls = max(self.most_calls, self.calls_now)
            await self.clock.sleep_until(self.clock.monotonic() + self.lasts_s)
            self.calls_now -= 1
            if self.errors:
                raise self.errors.pop(0)
            self.shown, self.final_shown = covers, final

        return LiveCall(covers, call)


class Bench:
    def __init__(self, clock: FakeClock, tasks: anyio.abc.TaskGroup, total: Budget) -> None:
        self.clock, self.tasks = clock, tasks
        self.scheduler = EditScheduler(total, clock, tasks)
        self.log: list[tuple[str, float]] = []

    def line(self, name: str, lasts_s: float = 0.1) -> Line:
        return Line(name, self.clock, self.log, lasts_s)

    @property
    def order(self) -> list[str]:
        return [name for name, _ in self.log]


@asynccontextmanager
async def bench(total: Budget = ROOMY) -> AsyncIterator[Bench]:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        yield Bench(clock, tasks, total)
        tasks.cancel_scope.cancel()


async def test_newest_text_wins_and_one_call_is_in_flight_per_text() -> None:
    async with bench() as b:
        line = b.line("a", lasts_s=2.0)
        live = b.scheduler.open("room", Budget(10.0, 10), line)
        for length in range(30, 330, 10):
            line.said = length
            live.said(length)
            await b.clock.advance(0.1)
        assert line.most_calls == 1
        b.tasks.start_soon(live.finish, line.said)
        await b.clock.advance(10)
        assert line.shown == 320
        assert len(b.log) <= 4


async def test_a_finished_text_goes_before_one_that_grows() -> None:
    async with bench() as b:
        drain = b.line("drain")
        b.tasks.start_soon(b.scheduler.open("room", Budget(1.0, 1), drain).finish, 1)
        drain.said = 1
        growing, ended = b.line("growing"), b.line("ended")
        growing_live = b.scheduler.open("room", Budget(1.0, 1), growing)
        ended_live = b.scheduler.open("room", Budget(1.0, 1), ended)
        await b.clock.advance(0.01)
        growing.said = 50
        growing_live.said(50)
        await b.clock.advance(0.5)
        ended.said = 5
        b.tasks.start_soon(ended_live.finish, 5)
        await b.clock.advance(6)
        assert b.order[:3] == ["drain", "ended", "growing"]


async def test_the_bots_bucket_serves_conversations_by_the_age_of_what_nobody_saw() -> None:
    async with bench(Budget(0.5, 1)) as b:
        lines = [b.line(f"room{number}") for number in range(4)]
        for line in reversed(lines):
            line.said = 40
            live = b.scheduler.open(line.name, Budget(5.0, 5), line)
            live.said(40)
            await b.clock.advance(0.05)
        await b.clock.advance(20)
        assert b.order[:4] == ["room3", "room2", "room1", "room0"]
        times = [at for _, at in b.log]
        assert all(later - earlier >= 2.0 for earlier, later in itertools.pairwise(times))


async def test_nothing_is_shown_in_a_conversation_that_may_be_another_nodes_until_it_surely_is_ours() -> None:
    async with bench() as b:
        silent = {"ours?"}
        scheduler = EditScheduler(ROOMY, b.clock, b.tasks, may_show=lambda conversation: conversation not in silent)
        for name, conversation in (("doubtful", "ours?"), ("sure", "ours"), ("nobody's", None)):
            line = b.line(name)
            line.said, line.conversation = 100, conversation
            b.tasks.start_soon(scheduler.open(line.name, ROOMY, line).finish, 100)
        await b.clock.advance(60)
        assert sorted(b.order) == ["nobody's", "sure"]
        silent.clear()
        scheduler.resume()
        await b.clock.advance(1)
        assert sorted(b.order) == ["doubtful", "nobody's", "sure"]


async def test_a_text_at_rest_makes_no_call_and_says_when_its_last_one_was_answered() -> None:
    async with bench() as b:
        line = b.line("a", lasts_s=2.0)
        live = b.scheduler.open("room", ROOMY, line)
        line.said = 100
        live.said(100)
        await b.clock.advance(1)
        rested: list[float] = []

        async def rest() -> None:
            await live.rest()
            rested.append(b.clock.monotonic())

        b.tasks.start_soon(rest)
        line.said = 200
        live.said(200)
        await b.clock.advance(10)
        assert (len(b.log), rested) == (1, [2.0])


async def test_a_held_text_waits_until_it_is_released() -> None:
    async with bench() as b:
        line = b.line("a")
        live = b.scheduler.open("room", ROOMY, line, held=True)
        line.said = 100
        live.said(100)
        await b.clock.advance(10)
        assert b.log == []
        live.release()
        await b.clock.advance(1)
        assert line.shown == 100


async def test_an_unclear_answer_is_repeated_at_once_a_few_times_and_then_ever_later() -> None:
    async with bench() as b:
        line = b.line("a", lasts_s=0.0)
        line.errors = [OutcomeUncertain("502") for _ in range(6)]
        line.said = 3
        b.tasks.start_soon(b.scheduler.open("room", ROOMY, line).finish, 3)
        await b.clock.advance(30)
        waits = [later[1] - earlier[1] for earlier, later in zip(b.log, b.log[1:], strict=False)]
        assert waits == pytest.approx([0.0, 0.0, 0.0, 1.0, 2.0, 4.0], abs=0.01)
        assert line.final_shown


async def test_a_text_that_is_put_off_to_the_same_time_again_is_not_forgotten() -> None:
    async with bench() as b:
        line = b.line("a", lasts_s=0.0)
        live = b.scheduler.open("room", Budget(5.0, 5, window=CallWindow(2, 10.0)), line)
        line.said = 30
        live.said(30)
        await b.clock.advance(1.0)
        line.said = 60
        live.said(60)
        await b.clock.advance(1.0)
        line.errors = [OutcomeUncertain("502")]
        b.tasks.start_soon(live.finish, 60)
        await b.clock.advance(1.0)
        assert (len(b.log), line.final_shown) == (2, False)
        await b.clock.advance(9.0)
        assert (len(b.log), line.final_shown) == (3, True)


async def test_an_unclear_answer_to_an_edit_costs_a_growing_text_no_further_call() -> None:
    calls: list[int] = []
    for unclear in (0, 2):
        async with bench() as b:
            line = b.line("a")
            live = b.scheduler.open("room", Budget(1 / 3, 5), line)
            for length in range(10, 3010, 10):
                line.said = length
                live.said(length)
                if len(b.log) == 3:
                    line.errors = [OutcomeUncertain("502") for _ in range(unclear)]
                    unclear = 0
                await b.clock.advance(0.05)
            b.tasks.start_soon(live.finish, line.said)
            await b.clock.advance(20)
            assert (line.shown, line.final_shown) == (3000, True)
            calls.append(len(b.log))
    assert calls[0] == calls[1]


async def test_no_timer_is_left_when_everything_is_shown() -> None:
    async with bench() as b:
        line = b.line("a")
        live = b.scheduler.open("room", ROOMY, line)
        line.said = 30
        live.said(30)
        await b.clock.advance(30)
        assert line.shown == 30
        assert b.clock.sleeping == 0


async def test_a_call_nobody_misses_is_made_only_when_no_text_waits_and_tokens_abound() -> None:
    async with bench() as b:
        made: list[float] = []

        async def sign() -> None:
            made.append(b.clock.monotonic())

        budget = Budget(0.1, 3)
        assert [await b.scheduler.spare("room", budget, sign) for _ in range(3)] == [True, False, False]
        assert len(made) == 1


def supply(level: float, texts: int = 1) -> Supply:
    return Supply(1.0, 3, level, 3, texts)


def progress(length: int, *, visible: bool, now: float) -> Progress:
    text = Progress(first_at=0.0, newest_at=0.0, visible=visible)
    text.said(length, 0.0)
    text.said(length, now)
    return text


def test_a_first_frame_is_held_longer_among_several_texts() -> None:
    short = progress(5, visible=False, now=0.1)
    assert AreaPolicy().due_at(short, [supply(3)], 0.1) == pytest.approx(0.3)
    assert AreaPolicy().due_at(short, [supply(3, texts=2)], 0.1) == pytest.approx(1.0)
    assert AreaPolicy().due_at(progress(20, visible=False, now=0.1), [supply(3)], 0.1) == 0.1


def test_frames_are_closer_together_when_there_are_spare_tokens() -> None:
    def due(supplies: Sequence[Supply]) -> float:
        text = progress(1000, visible=True, now=5.0)
        text.sending(1000, 5.0)
        text.said(1020, 5.1)
        text.spacing_s = 5.0
        return AreaPolicy().due_at(text, supplies, 5.1)

    assert due([Supply(1.0, 3, 2.5, 3, 1)]) < due([Supply(1.0, 3, 1.0, 1.9, 1)])


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0.001, 2.0)), min_size=1, max_size=30))
def test_the_area_is_the_sum_of_the_ages_of_unshown_characters(chunks: list[tuple[int, float]]) -> None:
    text = Progress(first_at=0.0, newest_at=0.0)
    now, length, expected = 0.0, 0, 0.0
    for count, pause_s in chunks:
        length += count
        text.said(length, now)
        now += pause_s
        expected += length * pause_s
    assert text.area_now(now) == pytest.approx(expected)


@pytest.mark.parametrize("refusal", [StreamOver("no stream"), BadMarkup("no markup")])
async def test_a_text_that_was_refused_one_way_is_asked_for_again_without_new_text(refusal: Exception) -> None:
    async with bench() as b:
        line = b.line("a")
        line.errors = [refusal]
        live = b.scheduler.open("room", Budget(10.0, 10), line)
        line.said = 30
        live.said(30)
        await b.clock.advance(1)
        assert (line.shown, len(b.log)) == (30, 2)
