"""Faults at every kind of call, in any order, on every way of showing: nothing lost, doubled or left over."""

from __future__ import annotations

import random

import pytest

from adapters.capabilities import Capabilities
from adapters.page_part import Extras
from runtime.core.message import Choice
from tests.fakes.rich_platform import DRAFTS, LOST, NEVER_CAME, STREAM, rich_capabilities
from tests.unit.adapters.presenting import shown_on

pytestmark = pytest.mark.anyio

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
        page = show.page(extras=Extras(choices=CHOICES))
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
