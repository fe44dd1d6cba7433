"""Growing text in memory: bounded, and never in front of what is kept."""

import json
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from anyio import from_thread
from msgspec.structs import replace

from adapters.web import board
from adapters.web.board import RoomBoard
from adapters.web.charters import RoomCharter, RoomCharters, RoomHues
from adapters.web.codec import ShownMessage, WebVisitor
from adapters.web.echo import Echo
from adapters.web.hub import ConnectedPage, Hub
from adapters.web.searching import WordSearch
from runtime.core.room import RoomPost
from tests.fakes.memory.rooms import MemoryRoomStore
from tests.fakes.observing.records import MemoryRecords

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def growing(message_id: str, text: str) -> RoomPost:
    return RoomPost(message_id, "1000", "Guide", "agent", text, NOON, final=False)


class SlowRecords(MemoryRecords):
    """Records during whose reading something else happens, once."""

    async def get(self, name: str, /) -> str | None:
        if self.meanwhile is not None:
            happens, self.meanwhile = self.meanwhile, None
            await happens()
        return await super().get(name)

    meanwhile: Callable[[], Awaitable[object]] | None = None


def board_of(
    hub: Hub | None = None,
    records: MemoryRecords | None = None,
    hues: MemoryRecords | None = None,
    rooms: MemoryRoomStore | None = None,
) -> RoomBoard:
    charters = RoomCharters(records or MemoryRecords())
    return RoomBoard(rooms or MemoryRoomStore(), hub or Hub(), Echo(None), charters, RoomHues(hues or MemoryRecords()))


async def seen(shown: RoomBoard, room: str = "lobby", version: int | None = None) -> dict[str, Any]:
    page = ConnectedPage(WebVisitor("web:ada", "Ada"))
    await shown.join(page, room, version)
    frame: dict[str, Any] = json.loads(await page.next_frame())
    return frame


async def test_a_page_that_comes_back_gets_whatever_grows_whole() -> None:
    shown = board_of()
    kept = await shown.post("lobby", growing("m1", "On"))
    await shown.change("lobby", "m1", "Once upon", final=False)
    frame = await seen(shown, version=kept.version)
    assert [(each["text"], each["live"]) for each in frame["messages"]] == [("Once upon", True)]


async def test_beyond_the_bound_the_stillest_text_is_shown_as_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "MAX_GROWING", 1)
    shown = board_of()
    for message_id in ("m1", "m2"):
        await shown.post("lobby", growing(message_id, "On"))
        await shown.change("lobby", message_id, "Once", final=False)
    frame = await seen(shown)
    assert [(each["text"], each["live"]) for each in frame["messages"]] == [("On", False), ("Once", True)]


async def test_a_repeated_first_text_does_not_take_back_what_has_grown() -> None:
    shown = board_of()
    await shown.post("lobby", growing("m1", "On"))
    await shown.change("lobby", "m1", "Once upon", final=False)
    await shown.post("lobby", growing("m1", "On"))
    assert [each["text"] for each in (await seen(shown))["messages"]] == ["Once upon"]


async def test_who_left_a_room_sees_no_more_of_it_although_its_charter_was_read_before_the_news_came() -> None:
    room, records, hub = "private-0011223344556677", MemoryRecords(), Hub()
    shown = board_of(hub, records)
    await shown.alter(room, lambda _: RoomCharter("Wedding", "private", people={"web:ada": "Ada", "web:bob": "Bob"}))
    page = ConnectedPage(WebVisitor("web:ada", "Ada"))
    hub.enter(page)
    await shown.join(page, room, None)
    await RoomCharters(records).change(room, lambda now: replace(now, people={"web:bob": "Bob"}))  # on another node
    await shown.charters.get(room)
    await shown.chartered(room)
    await shown.post(room, RoomPost("m1", "web:bob", "Bob", "person", "She is gone", NOON))
    frames = [json.loads(await page.next_frame()) for _ in range(page.waiting)]
    assert frames[-1] == {"t": "gone", "room": room}


async def test_growth_of_one_room_is_not_shown_in_another() -> None:
    shown = board_of()
    await shown.post("lobby", growing("m1", "here"))
    kept = await shown.post("ideas", growing("m2", "there"))
    assert [each["text"] for each in (await seen(shown, "ideas", kept.version))["messages"]] == ["there"]


async def test_the_first_room_is_there_before_anything_was_said() -> None:
    shown = board_of()
    assert await shown.has("lobby")
    assert not await shown.has("ideas")
    assert [(head.id, head.seq) for head in await shown.rooms("web:ada")] == [("lobby", 0)]


@pytest.mark.parametrize("ask", ["join", "older", "search"])
async def test_who_is_taken_out_of_a_room_while_a_request_waits_is_shown_nothing_of_it(ask: str) -> None:
    hub, ada = Hub(), WebVisitor("web:ada", "Ada")
    shown = board_of(hub)
    await shown.alter("private-1", lambda _: RoomCharter("Wedding", "private", ada.id, {ada.id: ada.name}))
    await shown.post("private-1", growing("m1", "On Sunday"))
    page = ConnectedPage(ada)
    hub.enter(page)
    asked = {
        "join": lambda: shown.join(page, "private-1", None),
        "older": lambda: shown.older(page, "private-1", 9),
        "search": lambda: shown.search(page, "private-1", "sunday"),
    }[ask]
    async with anyio.create_task_group() as tasks, shown._lock("private-1"), shown._search_turn:
        tasks.start_soon(asked)
        await anyio.wait_all_tasks_blocked()
        await shown.alter("private-1", lambda now: replace(now, people={}))
    assert page.room is None
    assert "Sunday" not in "".join(page._frames)


async def test_what_grows_while_the_colours_of_a_room_are_read_is_not_lost_for_who_comes() -> None:
    hues = SlowRecords()
    shown = board_of(hues=hues)
    await shown.post("lobby", growing("m1", "On"))
    hues.meanwhile = lambda: shown.change("lobby", "m1", "Once upon", final=False)
    assert [each["text"] for each in (await seen(shown))["messages"]] == ["Once upon"]


async def test_what_grows_while_the_colours_of_a_room_are_read_is_not_taken_back_from_who_missed_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(board, "MAX_CHANGES", 1)
    hues, hub, rooms = SlowRecords(), Hub(), MemoryRoomStore()
    shown, elsewhere = board_of(hub, hues=hues, rooms=rooms), board_of(rooms=rooms)
    await shown.post("lobby", growing("m1", "On"))
    page = ConnectedPage(WebVisitor("web:ada", "Ada"))
    hub.enter(page)
    await shown.join(page, "lobby", None)
    for number in range(2):
        await elsewhere.post("lobby", RoomPost(f"n{number}", "web:bob", "Bob", "person", "Hi", NOON))
    hues.meanwhile = lambda: shown.change("lobby", "m1", "Once upon", final=False)
    await shown.catch_up("lobby")
    frames = [json.loads(await page.next_frame()) for _ in range(page.waiting)]
    last = [frame for frame in frames if frame["t"] == "joined"][-1]
    assert last["reset"]
    assert last["messages"][0]["text"] == "Once upon"


async def test_who_is_taken_out_of_a_room_while_its_colours_are_read_does_not_come_in() -> None:
    hub, hues, ada = Hub(), SlowRecords(), WebVisitor("web:ada", "Ada")
    shown = board_of(hub, hues=hues)
    await shown.alter("private-1", lambda _: RoomCharter("Wedding", "private", ada.id, {ada.id: ada.name}))
    await shown.post("private-1", growing("m1", "On Sunday"))
    page = ConnectedPage(ada)
    hub.enter(page)
    hues.meanwhile = lambda: shown.alter("private-1", lambda now: replace(now, people={}))
    await shown.join(page, "private-1", None)
    assert page.room is None
    assert "Sunday" not in "".join(page._frames)


async def found_by(shown: RoomBoard, room: str, words: str) -> tuple[list[str], list[str]]:
    page = ConnectedPage(WebVisitor("web:ada", "Ada"))
    await shown.search(page, room, words)
    frame = json.loads(await page.next_frame())
    return [each["text"] for each in frame["messages"]], frame["meant"]


async def test_words_that_are_alike_do_not_hide_the_exact_ones_that_were_said_earlier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(board, "MAX_FOUND", 2)
    monkeypatch.setattr(board, "_SEARCHED_AT_ONCE", 3)
    shown = board_of()
    for number, text in enumerate(["it works", *["in words"] * 6]):
        await shown.post("lobby", RoomPost(f"m{number}", "web:bob", "Bob", "person", text, NOON))
    assert await found_by(shown, "lobby", "works") == (["it works"], [])


async def test_a_search_tells_only_of_words_in_the_messages_that_it_shows() -> None:
    shown = board_of()
    for number, text in enumerate(["wonks", "good words"]):
        await shown.post("lobby", RoomPost(f"m{number}", "web:bob", "Bob", "person", text, NOON))
    assert await found_by(shown, "lobby", "works good") == (["good words"], ["words"])


async def test_long_messages_are_searched_while_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[bool] = []

    class Slow(WordSearch):
        def look(self, room: str, messages: Iterable[ShownMessage]) -> None:
            from_thread.run_sync(served.append, True)  # needs the loop
            super().look(room, messages)

    monkeypatch.setattr(board, "WordSearch", Slow)
    shown = board_of()
    await shown.post("lobby", RoomPost("m1", "web:bob", "Bob", "person", "it works", NOON))
    assert await found_by(shown, "lobby", "works") == (["it works"], [])
    assert served == [True]
