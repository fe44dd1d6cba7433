"""Pages shown by native streams: exact deltas, nothing appended twice, another stream before one dies."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters.pages.page import Page
from runtime.core.errors import AdapterError, BadMarkup, MessageGone, OutcomeUncertain, RateLimited, StreamOver
from tests.fakes.platforms.rich_platform import LOST, NEVER_CAME, STREAM, RichPlatform, rich_capabilities
from tests.unit.adapters.pages.presenting import Show, shown_on

STREAMS = rich_capabilities(stream=STREAM)


@asynccontextmanager
async def streamed() -> AsyncIterator[tuple[Show[RichPlatform], Page]]:
    """A page on a platform with native streams."""
    async with shown_on(STREAMS) as show:
        yield show, show.page()


TABLE = "| name | ok |\n|---|---|\n| one | yes |\n| tw"


async def test_a_growing_text_is_opened_appended_and_closed_and_never_edited() -> None:
    async with streamed() as (show, page):
        text = await show.grow(page, 60)
        show.finish(page, text)
        await show.clock.advance(20)
        assert show.shown == [text]
        assert show.platform.kinds["open_stream"] == show.platform.kinds["close_stream"] == 1
        assert show.platform.kinds["append"] >= 3
        assert show.platform.kinds["edit"] == show.platform.kinds["send"] == 0
        assert show.platform.open == {}
        assert show.events == ["page.checked"]


async def test_a_short_text_that_is_finished_is_posted_without_a_stream() -> None:
    async with shown_on(STREAMS) as show:
        show.finish(show.page(), "short and done")
        await show.clock.advance(5)
        assert show.shown == ["short and done"]
        assert show.platform.kinds["open_stream"] == 0


@pytest.mark.parametrize("fault", [LOST, NEVER_CAME], ids=["applied", "not applied"])
@pytest.mark.parametrize("kind", ["open_stream", "append", "close_stream"])
async def test_an_unclear_answer_leaves_one_message_with_the_whole_text(
    kind: str, fault: tuple[AdapterError, bool]
) -> None:
    async with streamed() as (show, page):
        show.platform.trouble[kind].append(fault)
        text = await show.grow(page, 40)
        show.finish(page, text)
        await show.clock.advance(40)
        assert show.shown == [text]
        assert show.results == {"p": True}
        assert show.platform.kinds["edit"] > 0
        assert show.platform.open == {}


@pytest.mark.parametrize("error", [StreamOver("dead"), BadMarkup("no"), OutcomeUncertain("?")])
async def test_a_stream_that_takes_nothing_more_is_gone_on_with_by_edits(error: AdapterError) -> None:
    async with streamed() as (show, page):
        text = await show.grow(page, 20)
        show.platform.trouble["append"].append((error, False))
        text = await show.grow(page, 20, start=text)
        show.finish(page, text)
        await show.clock.advance(30)
        assert show.words == text.split()
        assert len(show.shown) == 1
        assert show.platform.kinds["close_stream"] == 0


async def test_where_no_stream_is_to_be_had_the_page_is_posted_and_edited() -> None:
    async with shown_on(STREAMS) as show:
        show.platform.trouble["open_stream"].append((StreamOver("none"), False))
        page = show.page()
        text = await show.grow(page, 40)
        show.finish(page, text)
        await show.clock.advance(30)
        assert show.shown == [text]
        assert show.platform.kinds["open_stream"] == 1


async def test_a_stream_is_followed_by_another_at_a_words_end_before_it_dies() -> None:
    async with streamed() as (show, page):
        text = await show.grow(page, 130, each_s=0.6)
        show.finish(page, text)
        await show.clock.advance(30)
        assert show.words == text.split()
        assert len(show.shown) == 2
        assert show.platform.kinds["edit"] == 0
        assert show.results == {"p": True}


async def test_a_silent_stream_is_closed_in_time_and_the_rest_goes_into_another() -> None:
    async with streamed() as (show, page):
        text = await show.grow(page, 20)
        await show.clock.advance(70)
        assert show.platform.open == {}
        assert show.platform.kinds["edit"] == 0
        text = await show.grow(page, 20, start=text)
        show.finish(page, text)
        await show.clock.advance(20)
        assert show.words == text.split()
        assert len(show.shown) == 2
        assert show.platform.kinds["edit"] == 0


async def test_a_code_fence_is_reopened_in_the_stream_that_follows() -> None:
    async with streamed() as (show, page):
        text = "see\n\n```python\n"
        for number in range(110):
            text += f"x{number:03d}\n"
            page.update(text)
            await show.clock.advance(0.6)
        text += "```\n"
        show.finish(page, text)
        await show.clock.advance(30)
        first, second = show.shown
        assert first.endswith("\n```")
        assert second.startswith("```python\n")
        assert second.rstrip().endswith("\n```")
        lines = [line for line in f"{first}\n{second}".splitlines() if line.startswith("x")]
        assert lines == [f"x{number:03d}" for number in range(110)]
        assert show.platform.kinds["edit"] == 0


async def test_a_text_longer_than_a_stream_takes_goes_into_more_of_them() -> None:
    async with streamed() as (show, page):
        text = await show.grow(page, 600, each_s=0.04)
        show.finish(page, text)
        await show.clock.advance(60)
        assert show.words == text.split()
        assert len(show.shown) == -(-len(text) // 990)
        assert show.platform.kinds["edit"] == 0
        assert show.events[-1] == "page.checked"


async def test_a_stream_whose_text_is_changed_in_the_end_is_edited() -> None:
    async with streamed() as (show, page):
        await show.grow(page, 80)
        show.finish(page, "something else altogether")
        await show.clock.advance(30)
        assert show.shown == ["something else altogether"]


async def test_after_a_restart_in_mid_stream_the_same_message_has_the_whole_text() -> None:
    async with streamed() as (show, page):
        text = await show.grow(page, 40)
        page.abandon()
        await show.clock.advance(5)
        known = dict(show.journal.sent_parts)
        show.restarted()
        again = show.page(parts=known)
        show.finish(again, text + "and more")
        await show.clock.advance(30)
        assert show.shown == [text + "and more"]
        assert show.platform.open == {}


async def test_a_long_closed_stream_is_split_anew_when_it_must_be_edited() -> None:
    async with streamed() as (show, page):
        text = await show.grow(page, 120)
        show.platform.trouble["close_stream"].append((OutcomeUncertain("?"), True))
        show.finish(page, text)
        await show.clock.advance(60)
        assert show.words == text.split()
        assert [len(message) <= 400 for message in show.shown] == [True, False]
        assert show.platform.open == {}


async def test_a_stream_whose_message_was_deleted_is_posted_again() -> None:
    async with streamed() as (show, page):
        text = await show.grow(page, 30)
        show.platform.messages.clear()
        show.platform.trouble["append"].append((MessageGone("deleted"), False))
        text = await show.grow(page, 30, start=text)
        show.finish(page, text)
        await show.clock.advance(30)
        assert show.words == text.split()


async def test_an_append_that_must_wait_is_made_with_everything_since() -> None:
    async with streamed() as (show, page):
        text = await show.grow(page, 20)
        show.platform.trouble["append"].append((RateLimited("wait", retry_after_s=5.0), False))
        text = await show.grow(page, 60, start=text)
        show.finish(page, text)
        await show.clock.advance(30)
        assert show.shown == [text]
        assert "adapter.rate_limited" in show.events
        assert show.platform.kinds["edit"] == 0


@pytest.mark.parametrize("dies", [True, False], ids=["the process dies", "an answer is unclear"])
async def test_half_a_row_that_a_stream_has_shown_stays_when_edits_go_on_with_it(dies: bool) -> None:
    async with streamed() as (show, page):
        page.update(TABLE)
        await show.clock.advance(3)
        assert show.shown == [TABLE]
        if dies:
            page.abandon()
            show.restarted()
            page = show.page(parts=dict(show.journal.sent_parts), stands=TABLE)
        else:
            show.platform.trouble["append"].append(LOST)
        for more in ("", "o", "o | no", "o | no |\n| three"):
            page.update(TABLE + more)
            await show.clock.advance(3)
            assert show.shown[0].startswith(TABLE)
        assert show.shown == [f"{TABLE}o | no |"]


async def test_the_end_of_a_stream_that_is_too_long_for_a_message_stays_until_it_stands_in_the_next_one() -> None:
    async with streamed() as (show, page):
        text = await show.grow(page, 70)
        show.finish(page, text)
        await show.clock.advance(30)
        assert show.shown == [text]
        before = len(show.platform.landings)
        show.restarted()
        show.finish(show.page("p", dict(show.journal.sent_parts)), text)
        await show.clock.advance(30)
        assert [landing.message for landing in show.platform.landings[before:]][:2] == ["2", "1"]
        assert show.words == text.split()
