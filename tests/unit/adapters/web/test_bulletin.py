"""What pages are told now and then: how often, how much of it, and what it costs."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from adapters.web import codec
from adapters.web.codec import WebVisitor
from adapters.web.hub import MAX_TOLD_A_TURN, TURN_S, ConnectedPage, Hub
from tests.fakes.clock import FakeClock

_encode = codec.activity


class Chat:
    """Pages, each of a person of its own, and the time."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.clock = FakeClock()

    def page(self, name: str, room: str | None = None) -> ConnectedPage:
        page = ConnectedPage(WebVisitor(f"web:{name}", name))
        self.hub.enter(page)
        if room is not None:
            self.hub.show(page, room)
        return page

    def active(self, room: str, seq: int) -> None:
        self.hub.bulletin.active(room, seq, here=True)


@asynccontextmanager
async def chat() -> AsyncIterator[Chat]:
    made = Chat()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.hub.bulletin.run, made.clock)
        yield made
        tasks.cancel_scope.cancel()


async def told(page: ConnectedPage, kind: str = "activity") -> list[dict[str, Any]]:
    """The frames of this kind that wait for the page."""
    frames = [json.loads(await page.next_frame()) for _ in range(page.waiting)]
    return [frame for frame in frames if frame["t"] == kind]


async def test_a_thousand_messages_in_a_second_are_four_frames_for_a_page_elsewhere() -> None:
    async with chat() as house:
        page = house.page("ada", "lobby")
        await house.clock.advance(1)
        await told(page)
        for number in range(1, 1001):
            house.active(f"room-{number % 20}", number)
            await house.clock.advance(0.001)
        await house.clock.advance(1)
        frames = await told(page)
        assert len(frames) == 5, "one at once, and four in the second after it"
        newest = {room["id"]: room["seq"] for frame in frames for room in frame["rooms"]}
        assert newest == {f"room-{number % 20}": number for number in range(981, 1001)}


async def test_a_page_is_not_told_of_its_own_room() -> None:
    async with chat() as house:
        here, elsewhere = house.page("ada", "lobby"), house.page("grace", "ideas")
        await house.clock.advance(1)
        for page in (here, elsewhere):
            await told(page)
        house.active("lobby", 7)
        await house.clock.advance(1)
        assert await told(here) == []
        assert [frame["rooms"] for frame in await told(elsewhere)] == [[{"id": "lobby", "seq": 7}]]


async def test_what_many_pages_are_told_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = list[str]()

    def counting(heads: Any) -> str:
        encoded.append(_encode(heads))
        return encoded[-1]

    monkeypatch.setattr(codec, "activity", counting)
    async with chat() as house:
        pages = [house.page(f"p{number}", "lobby") for number in range(100)]
        await house.clock.advance(1)
        house.active("ideas", 1)
        await house.clock.advance(1)
        assert all([await told(page) for page in pages])
        assert len(encoded) == 1


async def test_a_turn_tells_a_bounded_number_of_pages_and_the_next_goes_on() -> None:
    async with chat() as house:
        pages = [house.page(f"p{number}") for number in range(MAX_TOLD_A_TURN * 2 + 1)]
        house.active("ideas", 1)
        counts = []
        for _ in range(4):
            await house.clock.settle()
            counts.append(sum(page.waiting for page in pages))
            await house.clock.advance(TURN_S)
        assert counts == [250, 500, 501, 501]


async def test_very_many_pages_are_told_in_turn_while_there_is_news_all_the_time() -> None:
    async with chat() as house:
        pages = [house.page(f"p{number}") for number in range(MAX_TOLD_A_TURN * 4)]
        for number in range(1, 9):
            house.active("ideas", number)
            await house.clock.advance(TURN_S)
        assert {page.waiting for page in pages} == {2, 3}, "nine turns of a quarter of them: nobody is left out"


async def test_a_page_that_comes_is_told_nothing_of_what_was_before() -> None:
    async with chat() as house:
        house.active("ideas", 1)
        await house.clock.advance(1)
        page = house.page("ada")
        await house.clock.advance(1)
        assert await told(page) == []


async def test_a_crowd_that_comes_is_told_in_one_frame_to_who_is_there() -> None:
    async with chat() as house:
        ada = house.page("ada", "lobby")
        await house.clock.advance(1)
        await told(ada)
        for number in range(30):
            house.page(f"p{number}", "lobby")
        await house.clock.advance(1)
        [frame] = await told(ada, "people")
        assert (len(frame["people"]), frame["present"]) == (31, 31)


async def test_changing_rooms_is_told_in_both() -> None:
    async with chat() as house:
        ada, grace, linus = house.page("Ada", "lobby"), house.page("Grace", "ideas"), house.page("Linus", "lobby")
        await house.clock.advance(1)
        for page in (ada, grace):
            await told(page)
        house.hub.show(linus, "ideas")
        await house.clock.advance(1)
        seen = [await told(page, "people") for page in (ada, grace)]
        assert [[[each["name"] for each in frame["people"]] for frame in frames] for frames in seen] == [
            [["Ada"]],
            [["Grace", "Linus"]],
        ]


async def test_other_nodes_are_told_of_a_room_once_a_turn_and_not_of_what_they_told() -> None:
    async with chat() as house:
        spread = list[tuple[str, int]]()
        house.hub.bulletin.on_turn = lambda room, seq: spread.append((room, seq))
        for number in range(1, 101):
            house.active("ideas", number)
        house.hub.bulletin.active("theirs", 5, here=False)
        await house.clock.advance(1)
        assert spread == [("ideas", 100)]
