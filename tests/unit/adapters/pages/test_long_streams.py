"""A text of very many chunks: how many calls it costs, also where nothing but we ourselves limits them."""

import pytest
from msgspec.structs import replace

from adapters.capabilities import Budget, StreamLimits
from runtime.core.errors import OutcomeUncertain
from tests.fakes.platforms.bucket_platform import PRIVATE, BucketPlatform, make_capabilities
from tests.fakes.platforms.rich_platform import STREAM, rich_capabilities
from tests.unit.adapters.pages.presenting import Show, shown_on, staged

CHUNK, PER_SECOND, SECONDS = "abc ", 50, 15


async def stream(stage: Show[BucketPlatform], *, failing_from: int | None = None) -> str:
    """Four characters at a time, fifty times a second; the text, whose end is given out.

    From chunk `failing_from` on nothing gets an answer until the end.
    """
    page, text = stage.page(), ""
    for number in range(PER_SECOND * SECONDS):
        if number == failing_from:
            stage.platform.faults.scripted.extend(OutcomeUncertain("502") for _ in range(PER_SECOND * SECONDS))
        text += CHUNK
        page.update(text)
        await stage.clock.advance(1 / PER_SECOND)
    stage.finish(page, text + "END.")
    return text + "END."


async def test_chunks_are_no_calls_also_where_the_platform_would_take_them() -> None:
    async with staged(Budget(1000.0, 1000), assumed=PRIVATE) as stage:
        text = await stream(stage)
        await stage.clock.advance(5)
        assert stage.shown == [text]
        assert SECONDS / 2 < stage.platform.calls <= PRIVATE.burst + SECONDS + 5


@pytest.mark.parametrize("failing_from", [0, PER_SECOND])
async def test_an_error_that_lasts_does_not_make_a_call_of_every_chunk(failing_from: int) -> None:
    capabilities = make_capabilities(idempotent_send=True)
    async with staged(Budget(1000.0, 1000), assumed=PRIVATE, capabilities=capabilities) as stage:
        text = await stream(stage, failing_from=failing_from)
        assert stage.platform.calls <= PRIVATE.burst + SECONDS
        stage.platform.faults.scripted.clear()
        await stage.clock.advance(60)
        assert stage.shown == [text]
        assert stage.results == {"p": True}


async def test_what_was_said_before_a_pause_is_shown_without_another_chunk() -> None:
    async with staged() as stage:
        page, text = stage.page(), ""
        for _ in range(100):
            text += CHUNK
            page.update(text)
            await stage.clock.advance(0.02)
        await stage.clock.advance(3)
        assert stage.shown == [text.rstrip()]


async def test_what_people_see_first_is_text_and_nothing_stands_for_it() -> None:
    async with staged() as stage:
        text = await stream(stage)
        await stage.clock.advance(5)
        assert all(text.startswith(landing.text) for landing in stage.platform.landings)


@pytest.mark.parametrize("stream_limits", [None, replace(STREAM, max_text=400)], ids=["edits", "streams"])
async def test_a_long_table_grows_over_messages_each_with_its_head(stream_limits: StreamLimits | None) -> None:
    head = "| Name | Value |\n|---|---|\n"
    async with shown_on(rich_capabilities(stream=stream_limits)) as show:
        page, text = show.page(), head
        for number in range(60):
            text += f"| w{number:05d} | {number} |\n"
            page.update(text)
            await show.clock.advance(0.2)
        show.finish(page, text)
        await show.clock.advance(60)
        assert len(show.shown) > 2
        assert all(message.startswith(head + "| w") for message in show.shown)
        assert [word for word in show.words if word.startswith("w")] == [f"w{number:05d}" for number in range(60)]
        assert ("page.checked" in show.events, "page.diverged" in show.events) == (True, False)
