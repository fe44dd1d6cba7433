"""A presenter on a rich platform, for tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from adapters.adapter import FileData
from adapters.capabilities import Budget, Capabilities
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.page import Page
from adapters.pages.platform_context import FileSource
from adapters.pages.presenter import PagePresenter
from runtime.core.address import Address, Speaker
from runtime.core.errors import AdapterError, NotDelivered
from runtime.core.message import Attachment
from runtime.core.page import PageSpec
from runtime.events.happening import Happening
from tests.fakes.clock import FakeClock
from tests.fakes.platforms.bucket_platform import PRIVATE, TOTAL, BucketPlatform
from tests.fakes.platforms.rich_platform import RichPlatform

ROOM = Address("fake", "42")
HOST = Speaker("1000", "Host")
Platform = TypeVar("Platform", bound=BucketPlatform)

FILES = {"store:1": b"x" * 50, "store:2": b"x" * 500}


class Journal:
    """A record in memory: which message each part is."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, int, str]] = []
        self.grown = ""

    @property
    def sent_parts(self) -> dict[int, str]:
        return {part: platform_id for kind, part, platform_id in self.entries if kind == "sent"}

    @property
    def openings(self) -> list[int]:
        return [part for kind, part, _ in self.entries if kind == "opening"]

    async def opening(self, part: int, text: str, /) -> None:
        self.entries.append(("opening", part, text))

    async def grows(self, text: str, /) -> None:
        self.grown = text

    async def sent(self, part: int, platform_id: str, /) -> None:
        self.entries.append(("sent", part, platform_id))


class Show(Generic[Platform]):
    """A presenter with its platform; `finish` works in the background."""

    def __init__(self, clock: FakeClock, platform: Platform, tasks: TaskGroup) -> None:
        self.clock, self.platform, self.tasks = clock, platform, tasks
        self.events: list[str] = []
        self.scheduler = EditScheduler(TOTAL, clock, tasks)
        self.journal = Journal()
        self.results: dict[str, object] = {}
        self.presenter = self.restarted()

    def restarted(self) -> PagePresenter:
        """A presenter that knows nothing of the one before it."""
        file_source = FileSource(load)
        self.presenter = PagePresenter(
            self.platform, self.scheduler, self.clock, on_event=self._hear, tasks=self.tasks, file_source=file_source
        )
        return self.presenter

    def page(self, page_id: str = "p", parts: dict[int, str] | None = None, **others: Any) -> Page:
        return self.presenter.page(PageSpec(page_id, ROOM, HOST, parts or {}, **others), self.journal)

    async def grow(self, page: Page, words: int, *, each_s: float = 0.05, start: str = "") -> str:
        text = start
        for number in range(words):
            text += f"w{number:05d} "
            page.update(text)
            await self.clock.advance(each_s)
        return text

    def finish(self, page: Page, text: str) -> None:
        self.tasks.start_soon(self._finish, page, text)

    async def _finish(self, page: Page, text: str) -> None:
        try:
            self.results[page.spec.id] = await page.finish(text)
        except AdapterError as error:
            self.results[page.spec.id] = error

    def _hear(self, what: Happening) -> None:
        self.events.append(what.name)

    @property
    def shown(self) -> list[str]:
        return list(self.platform.messages.values())

    @property
    def words(self) -> list[str]:
        return " ".join(self.shown).split()


async def load(attachment: Attachment) -> FileData:
    if attachment.url not in FILES:
        raise NotDelivered("not kept any more")
    return FileData(attachment.name, attachment.media_type, FILES[attachment.url])


@asynccontextmanager
async def shown_on(capabilities: Capabilities) -> AsyncIterator[Show[RichPlatform]]:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        yield Show(clock, RichPlatform(clock, capabilities), tasks)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def staged(budget: Budget = PRIVATE, **options: Any) -> AsyncIterator[Show[BucketPlatform]]:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        yield Show(clock, BucketPlatform(clock, budget, **options), tasks)
        tasks.cancel_scope.cancel()
