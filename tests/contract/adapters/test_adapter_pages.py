"""Whole pages over every platform's real client: they grow, end as they were said, and outlive faults and restarts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import TaskGroup

from adapters.adapter import Adapter
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.page import Page
from adapters.pages.presenter import PagePresenter
from runtime.core.address import Address, Speaker
from runtime.core.clock import SystemClock
from runtime.core.page import PageSpec
from runtime.events.happening import Happening
from tests.contract.stands.parts import needs
from tests.contract.stands.stand import Seen, Stand, Trouble

pytestmark = pytest.mark.anyio

WRITER, CRITIC = Speaker("1000", "Writer"), Speaker("1001", "Critic")


class Books:
    """What a page writes down, as a session would keep it over a restart."""

    def __init__(self) -> None:
        self.parts: dict[int, str] = {}
        self.sent_once = anyio.Event()

    async def opening(self, part: int, text: str, /) -> None:
        """Nothing to keep here."""

    async def grows(self, text: str, /) -> None:
        """Not looked at."""

    async def sent(self, part: int, platform_id: str, /) -> None:
        self.parts[part] = platform_id
        self.sent_once.set()


class Show:
    """A presenter over a stand's adapter, and what it told."""

    def __init__(self, adapter: Adapter, tasks: TaskGroup) -> None:
        clock = SystemClock()
        self.events: list[str] = []
        scheduler = EditScheduler(adapter.capabilities.total_budget, clock, tasks)
        self._presenter = PagePresenter(adapter, scheduler, clock, on_event=self._note, tasks=tasks)

    def page(
        self, to: Address, books: Books, *, speaker: Speaker = WRITER, parts: Mapping[int, str] | None = None
    ) -> Page:
        return self._presenter.page(PageSpec("p1" + speaker.id, to, speaker, parts or {}), books)

    def _note(self, what: Happening) -> None:
        self.events.append(what.name)


@asynccontextmanager
async def showing(adapter: Adapter) -> AsyncIterator[Show]:
    async with anyio.create_task_group() as tasks:
        yield Show(adapter, tasks)
        tasks.cancel_scope.cancel()


def words(count: int) -> str:
    return " ".join(f"w{number:05d}" for number in range(count))


def words_in(seen: list[Seen]) -> list[str]:
    return re.findall(r"w\d{5}", " ".join(each.text for each in seen))


@needs("editing")
async def test_a_growing_text_is_seen_early_and_ends_as_it_was_said(stand: Stand) -> None:
    books = Books()
    async with showing(stand.adapter) as show:
        page = show.page(stand.private, books)
        page.update(words(20))
        with anyio.fail_after(60):
            await books.sent_once.wait()
            early = words_in(await stand.seen(stand.private))
            assert await page.finish(words(60))
    assert early == words(20).split()
    assert words_in(await stand.seen(stand.private)) == words(60).split()
    assert ("page.checked" in show.events, "page.diverged" in show.events) == (True, False)


@pytest.mark.parametrize(
    "trouble", [pytest.param("answer_lost", marks=needs("answers that are lost", "nonces")), "never_arrived"]
)
async def test_the_first_text_stands_once_whatever_became_of_its_answer(stand: Stand, trouble: Trouble) -> None:
    stand.trouble("send", stand.private, trouble)
    async with showing(stand.adapter) as show:
        with anyio.fail_after(60):
            assert await show.page(stand.private, Books()).finish(words(30))
    assert words_in(await stand.seen(stand.private)) == words(30).split()


@needs("editing", "floods")
async def test_the_end_is_shown_after_a_flood(stand: Stand) -> None:
    books = Books()
    async with showing(stand.adapter) as show:
        page = show.page(stand.private, books)
        page.update(words(20))
        with anyio.fail_after(60):
            await books.sent_once.wait()
            stand.trouble("edit", stand.private, "flood")
            assert await page.finish(words(60))
    assert words_in(await stand.seen(stand.private)) == words(60).split()


@needs("editing")
async def test_a_page_goes_on_after_a_restart_in_its_own_message(stand: Stand) -> None:
    books = Books()
    async with showing(stand.adapter) as show:
        page = show.page(stand.group, books)
        page.update(words(20))
        with anyio.fail_after(60):
            await books.sent_once.wait()
    async with stand.another() as adapter, showing(adapter) as show:
        with anyio.fail_after(60):
            assert await show.page(stand.group, books, parts=books.parts).finish(words(60))
    seen = await stand.seen(stand.group)
    assert (len(seen), words_in(seen)) == (1, words(60).split())


async def test_two_agents_speak_at_once_each_whole(stand: Stand) -> None:
    async with showing(stand.adapter) as show:
        first = show.page(stand.group, Books(), speaker=WRITER)
        second = show.page(stand.group, Books(), speaker=CRITIC)
        first.update("Writer " + words(10))
        second.update("Critic " + words(10))
        with anyio.fail_after(90):
            async with anyio.create_task_group() as ends:
                ends.start_soon(first.finish, "I write " + words(30))
                ends.start_soon(second.finish, "I doubt " + words(30))
    seen = await stand.seen(stand.group)
    assert sorted(len(words_in([each])) for each in seen) == [30, 30]


async def test_a_long_page_of_markdown_arrives_whole_and_in_order(stand: Stand) -> None:
    paragraph = f"**bold** _thin_ `code` [link](https://example.org) {words(40)}"
    text = "\n\n".join(f"{paragraph}\n\n```python\nprint({number})\n```" for number in range(24))
    limits = stand.adapter.capabilities
    async with showing(stand.adapter) as show:
        page = show.page(stand.private, Books())
        with anyio.fail_after(100):
            assert await page.finish(text)
    seen = await stand.seen(stand.private)
    assert words_in(seen) == re.findall(r"w\d{5}", text)
    assert len(seen) >= len(text) / (limits.max_text * 2)
    assert all(each.text.count("```") % 2 == 0 for each in seen)
