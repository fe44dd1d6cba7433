"""Pages of one conversation, one after the other: whole ones are never told in each other's middle."""

import pytest

from adapters.capabilities import StreamLimits
from runtime.core.errors import StreamOver
from tests.fakes.platforms.rich_platform import STREAM, RichPlatform, rich_capabilities
from tests.unit.adapters.pages.presenting import Show, shown_on

STORY = " ".join(f"w{number:05d}" for number in range(300))


def told(show: Show[RichPlatform]) -> str:
    return " ".join(text.strip() for text in show.shown)


@pytest.mark.parametrize("stream", [None, STREAM], ids=["edits", "streams"])
async def test_a_short_page_waits_for_all_messages_of_a_whole_one_before_it(stream: StreamLimits | None) -> None:
    async with shown_on(rich_capabilities(stream=stream)) as show:
        first, second = show.page("a"), show.page("b")
        show.finish(first, STORY)
        show.finish(second, "And now?")
        await show.clock.advance(120)
        assert len(show.shown) > 2
        assert told(show) == f"{STORY} And now?"


@pytest.mark.parametrize("stream", [None, STREAM], ids=["edits", "streams"])
async def test_a_page_that_comes_when_the_one_before_is_whole_waits_for_its_end(stream: StreamLimits | None) -> None:
    async with shown_on(rich_capabilities(stream=stream)) as show:
        first = show.page("a")
        first.update(STORY[:100])
        await show.clock.advance(3)
        show.finish(first, STORY)
        await show.clock.advance(0)
        show.finish(show.page("b"), "And now?")
        await show.clock.advance(120)
        assert told(show) == f"{STORY} And now?"


async def test_a_whole_page_that_was_begun_before_a_restart_is_ended_before_the_next_begins() -> None:
    async with shown_on(rich_capabilities()) as show:
        show.platform.messages["earlier"] = STORY[:100]
        show.finish(show.page("a", parts={0: "earlier"}), STORY)
        await show.clock.advance(0)
        show.finish(show.page("b"), "And now?")
        await show.clock.advance(120)
        assert told(show) == f"{STORY} And now?"


async def test_what_follows_a_page_that_is_about_to_end_waits_for_its_last_message() -> None:
    async with shown_on(rich_capabilities()) as show:
        first = show.page("a")
        first.update(STORY[:390])
        await show.clock.advance(3)
        first.ends()
        show.finish(show.page("b"), "Stopped.")
        await show.clock.advance(3)
        show.finish(first, f"{STORY[:398]} and this.")
        await show.clock.advance(30)
        assert len(show.shown) == 3
        assert show.shown[1].endswith("and this.")
        assert show.shown[2] == "Stopped."


async def test_what_follows_a_stream_that_somebody_stopped_waits_for_the_messages_that_go_on_with_it() -> None:
    async with shown_on(rich_capabilities(stream=STREAM)) as show:
        first = show.page("a")
        text = await show.grow(first, 100)
        show.platform.trouble["close_stream"].append((StreamOver("stopped"), False))
        first.ends()
        show.finish(show.page("b"), "Stopped.")
        show.finish(first, f"{text}and this.")
        await show.clock.advance(60)
        assert len(show.shown) > 2
        assert told(show) == f"{text}and this. Stopped."


async def test_an_abandoned_page_that_was_about_to_end_keeps_nobody_waiting() -> None:
    async with shown_on(rich_capabilities()) as show:
        first = show.page("a")
        first.update(STORY)
        first.ends()
        show.finish(show.page("b"), "And now?")
        await show.clock.advance(0)
        first.abandon()
        await show.clock.advance(30)
        assert len(show.shown) == 2
        assert "And now?" in show.shown


async def test_a_page_begins_while_another_still_grows() -> None:
    async with shown_on(rich_capabilities()) as show:
        first = show.page("a")
        await show.grow(first, 30)
        show.finish(show.page("b"), "And now?")
        await show.clock.advance(10)
        assert show.shown[-1] == "And now?"
        show.finish(first, STORY)
        await show.clock.advance(120)
        assert show.results == {"a": True, "b": True}
