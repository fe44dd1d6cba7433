"""Marks on people's messages: the newest wins, pauses hold for them too, and a refusal is told."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.signs import PlatformReactions
from runtime.core.address import Address
from runtime.core.errors import MessageGone, RateLimited
from runtime.core.message import Mark
from tests.fakes.clock import FakeClock
from tests.fakes.platforms.bucket_platform import TOTAL, BucketPlatform
from tests.fakes.platforms.marked_platform import MarkedPlatform
from tests.fakes.platforms.rich_platform import LOST

ROOM, OTHER = Address("fake", "42"), Address("fake", "43")


async def accepted() -> None:
    """A call of a text."""


class Refused:
    """A call of a text that meets a flood, once."""

    def __init__(self) -> None:
        self._errors = [RateLimited("wait", retry_after_s=100.0)]

    async def __call__(self) -> None:
        if self._errors:
            raise self._errors.pop()


class Desk:
    def __init__(self, clock: FakeClock, platform: MarkedPlatform, tasks: TaskGroup) -> None:
        self.clock, self.platform, self._tasks = clock, platform, tasks
        self._scheduler = EditScheduler(TOTAL, clock, tasks)
        self.marks = PlatformReactions(platform, self._scheduler, tasks)
        self.refused: list[Mark | None] = []
        self.done: list[bool] = []

    def text(self, call: Callable[[], Awaitable[None]]) -> None:
        self._tasks.start_soon(self._scheduler.make, *self.platform.budget(ROOM), call)

    def put(self, mark: Mark | None, message: str = "m", room: Address = ROOM) -> bool:
        return self.marks.put(room, message, mark, lambda _, refused: self.refused.append(refused), self.done.append)


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        yield Desk(clock, MarkedPlatform(clock), tasks)
        tasks.cancel_scope.cancel()


async def test_a_mark_stands_at_once_and_the_newest_wins() -> None:
    async with desk() as at:
        assert at.put("queued")
        await at.clock.advance(0.3)
        assert at.platform.marks == {"m": "queued"}
        at.put("seen")
        at.put("stopped")
        at.put(None)
        await at.clock.advance(5)
        assert at.platform.marks == {"m": None}
        assert at.platform.reacts == 2


async def test_a_mark_that_changes_while_its_call_is_on_the_way_ends_as_the_newest() -> None:
    async with desk() as at:
        at.put("queued")
        await at.clock.advance(0.01)
        at.put("seen")
        await at.clock.advance(5)
        assert at.platform.marks == {"m": "seen"}


async def test_no_mark_is_put_in_a_floods_pause_and_then_only_the_newest() -> None:
    async with desk() as at:
        at.platform.trouble.append((RateLimited("wait", retry_after_s=1000.0), False))
        at.put("queued")
        await at.clock.advance(1)
        at.put("queued", "n")
        at.put("seen")
        await at.clock.advance(990)
        assert (at.platform.reacts, at.platform.marks) == (1, {})
        await at.clock.advance(20)
        assert at.platform.marks == {"m": "seen", "n": "queued"}
        assert at.platform.reacts == 3


async def test_marks_do_not_wait_for_texts_but_pause_with_them() -> None:
    async with desk() as at:
        for _ in range(9):
            at.text(accepted)
        at.put("queued")
        await at.clock.advance(0.3)
        assert at.platform.marks == {"m": "queued"}
        at.text(Refused())
        await at.clock.advance(90)
        at.put("seen")
        await at.clock.advance(5)
        assert at.platform.marks == {"m": "queued"}
        await at.clock.advance(15)
        assert at.platform.marks == {"m": "seen"}


async def test_a_mark_whose_answer_was_lost_is_put_again() -> None:
    async with desk() as at:
        at.platform.trouble.append(LOST)
        at.put("queued")
        await at.clock.advance(5)
        assert at.platform.marks == {"m": "queued"}
        assert at.platform.reacts == 2


async def test_a_conversation_that_takes_no_marks_is_told_of_once_and_asked_no_more() -> None:
    async with desk() as at:
        at.platform.markless.add("42")
        assert at.put("queued")
        await at.clock.advance(1)
        assert at.refused == ["queued"]
        assert not at.put("queued", "n")
        assert at.put("queued", "n", OTHER)
        await at.clock.advance(1)
        assert at.platform.marks == {"n": "queued"}


async def test_a_message_that_is_gone_is_no_reason_to_go_without_marks() -> None:
    async with desk() as at:
        at.platform.trouble.append((MessageGone("deleted"), False))
        at.put("queued")
        await at.clock.advance(1)
        assert at.put("queued", "n")
        await at.clock.advance(1)
        assert (at.platform.marks, at.refused) == ({"n": "queued"}, [])


async def test_a_platform_without_marks_says_so() -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        marks = PlatformReactions(BucketPlatform(clock), EditScheduler(TOTAL, clock, tasks), tasks)
        assert not marks.put(ROOM, "m", "queued", lambda *_: None, lambda _: None)
