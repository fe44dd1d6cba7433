"""Faults at every kind of call, in any order, on every way of showing: nothing lost, doubled or left over."""

import random
from collections.abc import Callable

import anyio
import pytest

from adapters.capabilities import Capabilities
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.page import Page
from runtime.core.message import Choice
from tests.fakes.clock import FakeClock
from tests.fakes.platforms.bucket_platform import TOTAL
from tests.fakes.platforms.rich_platform import DRAFTS, LOST, NEVER_CAME, STREAM, RichPlatform, rich_capabilities
from tests.unit.adapters.pages.presenting import ROOM, Show, shown_on

WAYS = {
    "edits": rich_capabilities(),
    "streams": rich_capabilities(stream=STREAM),
    "drafts": rich_capabilities(preview=DRAFTS),
}
KINDS = ("send", "edit", "delete", "open_stream", "append", "close_stream", "preview", "offer")
CHOICES = (Choice("q1.y", "Yes"), Choice("q1.n", "No"))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("way", WAYS)
async def test_unclear_answers_anywhere_leave_the_whole_text_once(way: str, seed: int) -> None:
    chance = random.Random(seed)
    async with shown_on(WAYS[way]) as show:
        page = show.page(choices=CHOICES)
        text = ""
        for _ in range(12):
            show.platform.trouble[chance.choice(KINDS)].append(chance.choice([LOST, NEVER_CAME]))
            text = await show.grow(page, 10, start=text, each_s=chance.uniform(0.02, 0.5))
        show.finish(page, text)
        await show.clock.advance(400)
        assert show.results == {"p": True}
        assert show.words == text.split()
        assert list(show.platform.offered) == [str(len(show.shown))]
        assert show.platform.open == {}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("way", WAYS)
async def test_restarts_anywhere_leave_the_whole_text_once(way: str, seed: int) -> None:
    chance = random.Random(seed)
    capabilities: Capabilities = WAYS[way]
    async with shown_on(capabilities) as show:
        text = ""
        page = show.page()
        for _ in range(3):
            text = await show.grow(page, chance.randrange(5, 60), start=text)
            page.abandon()
            await show.clock.advance(3)
            show.restarted()
            page = show.page(parts=dict(show.journal.sent_parts))
        show.finish(page, text)
        await show.clock.advance(300)
        assert show.results == {"p": True}
        assert show.words == text.split()
        assert show.platform.open == {}


async def stopped_in_the_middle(show: Show[RichPlatform]) -> tuple[Page, str]:
    """A page that another process goes on with, and what stands of it."""
    page = show.page()
    text = await show.grow(page, 60)
    await show.clock.advance(3)
    page.abandon()
    show.restarted()
    return show.page(parts=dict(show.journal.sent_parts), stands=show.journal.grown), text


@pytest.mark.parametrize("way", ["edits", "streams"])
async def test_what_people_have_read_stays_while_the_same_is_written_again(way: str) -> None:
    async with shown_on(WAYS[way]) as show:
        page, text = await stopped_in_the_middle(show)
        assert len(show.journal.grown) >= len(" ".join(show.words))
        before = len(show.platform.landings)
        again = await show.grow(page, 40)
        assert show.words == text.split()
        assert len(show.platform.landings) == before
        more = await show.grow(page, 40, start=text)
        await show.clock.advance(3)
        assert again == text[: len(again)]
        assert show.words == more.split()
        show.finish(page, more)
        await show.clock.advance(30)
        assert show.results == {"p": True}
        assert show.words == more.split()


async def test_another_text_takes_the_place_of_what_stood_at_once_and_a_shorter_end_too() -> None:
    async with shown_on(rich_capabilities()) as show:
        page, _ = await stopped_in_the_middle(show)
        page.update("Quite another text, and short.")
        await show.clock.advance(3)
        assert show.shown[0] == "Quite another text, and short."
    async with shown_on(rich_capabilities()) as show:
        page, text = await stopped_in_the_middle(show)
        show.finish(page, text[:48])
        await show.clock.advance(30)
        assert show.shown == [text[:48].rstrip()]


async def test_what_stands_stays_too_when_the_model_begins_again_in_the_same_process() -> None:
    async with shown_on(rich_capabilities()) as show:
        page = show.page()
        text = await show.grow(page, 40)
        await show.clock.advance(3)
        before = len(show.platform.landings)
        await show.grow(page, 39)
        assert (show.words, len(show.platform.landings)) == (text.split(), before)


async def test_what_nobody_has_seen_goes_before_what_is_only_unclear() -> None:
    async with shown_on(rich_capabilities(max_text=100)) as show:
        page = show.page()
        text = await show.grow(page, 12, each_s=0.1)
        await show.clock.advance(3)
        show.platform.trouble["edit"].append(LOST)
        text += "".join(f"w{number:05d} " for number in range(12, 20))
        page.update(text)
        await show.clock.advance(3)
        assert [landing.message for landing in show.platform.landings[-3:]] == ["1", "2", "1"]
        assert show.words == text.split()
        show.finish(page, text)
        await show.clock.advance(30)
        assert show.results == {"p": True}
        assert show.words == text.split()


async def test_an_unclear_edit_of_a_text_that_grows_is_settled_by_the_next_one() -> None:
    async with shown_on(rich_capabilities()) as show:
        page = show.page()
        text = await show.grow(page, 20)
        show.platform.trouble["edit"].append(LOST)
        text = await show.grow(page, 60, start=text)
        show.finish(page, text)
        await show.clock.advance(30)
        assert show.words == text.split()
        assert not show.platform.trouble["edit"]
        assert show.platform.unchanged == 0


class Forgetful(RichPlatform):
    """A platform that notes which messages it is to look for."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock, WAYS["edits"])
        self.doubted: list[str] = []
        self.away: dict[str, Callable[[], bool]] = {}

    def doubt(self, nonce: str, /) -> None:
        self.doubted.append(nonce)

    def unless(self, nonce: str, away: Callable[[], bool], /) -> None:
        self.away[nonce.partition(".")[0]] = away


async def test_what_an_earlier_process_may_have_posted_is_in_doubt_and_nothing_else() -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        show = Show(clock, Forgetful(clock), tasks)
        show.finish(show.page("new"), "one")
        show.finish(show.page("begun", stands="two"), "two")
        await show.clock.advance(300)
        assert [nonce.partition(".")[0] for nonce in show.platform.doubted] == ["begun"]
        tasks.cancel_scope.cancel()


async def test_a_platform_that_looks_first_can_ask_whether_the_conversation_is_still_ours() -> None:
    clock, held = FakeClock(), {ROOM.key}
    async with anyio.create_task_group() as tasks:
        show = Show(clock, Forgetful(clock), tasks)
        show.scheduler = EditScheduler(TOTAL, clock, tasks, may_show=held.__contains__)
        show.restarted()
        show.finish(show.page("ours"), "one")
        show.finish(show.page("a notice", leased=False), "two")
        await clock.advance(300)
        assert not any(away() for away in show.platform.away.values())
        held.clear()
        assert {name: away() for name, away in show.platform.away.items()} == {"ours": True, "a notice": False}
        tasks.cancel_scope.cancel()
