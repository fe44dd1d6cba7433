"""Searching a room of the web chat."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest
from anyio.lowlevel import checkpoint

from adapters.web import board
from adapters.web.board import MAX_FOUND, MAX_SEARCHED
from runtime.core.address import Address, Speaker
from runtime.core.clock import SystemClock
from runtime.core.room import RoomChange, RoomMessage, RoomPost
from tests.fakes.pages.page_socket import PageSocket, page_socket
from tests.fakes.pages.web_chat import web_chat

pytestmark = pytest.mark.anyio

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")


async def found(page: PageSocket, words: str, room: str = "lobby") -> tuple[list[str], bool]:
    await page.send("search", room=room, words=words)
    frame = await page.until("found", words=words)
    return [message["text"] for message in frame["messages"]], frame["more"]


async def test_messages_with_all_the_words_are_found_newest_first() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        for number, text in enumerate(["Pizza on Monday", "pasta on monday", "PIZZA, any day; Monday too"]):
            await chat.adapter.send(LOBBY, text, speaker=GUIDE, nonce=f"n{number}", final=True)
        assert await found(page, "monday pizza") == (["PIZZA, any day; Monday too", "Pizza on Monday"], False)
        assert await found(page, "guide pasta") == (["pasta on monday"], False)
        assert await found(page, "  ") == ([], False)
        assert await found(page, "sushi") == ([], False)


async def test_what_was_deleted_is_not_found_and_what_was_edited_is_found_as_it_is_now() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        for nonce in ("n1", "n2"):
            await chat.adapter.send(LOBBY, "pizza", speaker=GUIDE, nonce=nonce, final=True)
        await chat.adapter.delete(LOBBY, "n1", speaker=GUIDE)
        await chat.store.amend("lobby", "n2", RoomChange(text="pasta"))
        assert await found(page, "pizza") == ([], False)
        assert await found(page, "pasta") == (["pasta"], False)


async def test_a_search_says_when_there_are_more_than_it_shows() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        for number in range(MAX_FOUND + 5):
            post = RoomPost(f"n{number}", "1000", "Guide", "agent", f"pizza {number}", SystemClock().now())
            await chat.store.put("lobby", post)
        texts, more = await found(page, "pizza")
        assert (len(texts), texts[0], more) == (MAX_FOUND, f"pizza {MAX_FOUND + 4}", True)
    assert MAX_SEARCHED > MAX_FOUND


async def test_all_rooms_that_a_person_sees_are_searched_together() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        await page.send("open", name="Kitchen")
        kitchen = (await page.until("opened"))["room"]
        for number, room in enumerate(("lobby", kitchen, "lobby")):
            await chat.adapter.send(
                Address("web", room), f"pizza {number}", speaker=GUIDE, nonce=f"n{number}", final=True
            )
        await page.send("search", room="", words="pizza")
        frame = await page.until("found", words="pizza")
        seen = [(message["room"], message["text"]) for message in frame["messages"]]
        assert seen == [("lobby", "pizza 2"), (kitchen, "pizza 1"), ("lobby", "pizza 0")]


async def test_a_search_of_all_rooms_reads_the_newest_of_each_within_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "MAX_SEARCHED", 1_000)
    async with web_chat() as chat, page_socket(chat) as page:
        for room in range(4):
            for number in range(401 if room else 1):
                text = "pizza" if number in (0, 400) else "pasta"
                post = RoomPost(f"n{number}", "1000", "Guide", "agent", text, SystemClock().now())
                await chat.store.put(f"room-{room}", post)
        history, read = chat.store.history, 0

        async def counted(room: str, *, before_seq: int | None = None, limit: int) -> Sequence[RoomMessage]:
            nonlocal read
            found = await history(room, before_seq=before_seq, limit=limit)
            read += len(found)
            return found

        monkeypatch.setattr(chat.store, "history", counted)
        await page.send("search", room="", words="pizza")
        frame = await page.until("found", words="pizza")
        assert len(frame["messages"]) == 4  # the newest of each room, none of those before the bound
        assert (read <= 1_000, frame["whole"], frame["more"]) == (True, False, False)


async def test_a_room_that_does_not_exist_cannot_be_searched_and_long_words_are_refused() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        await page.send("search", room="nowhere", words="x")
        await page.until("absent", room="nowhere")
        await page.send("search", room="lobby", words="x" * 201)
        assert "at most 200" in (await page.until("error"))["text"]


async def test_searches_of_many_pages_come_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web_chat() as chat, AsyncExitStack() as stack:
        pages = [await stack.enter_async_context(page_socket(chat)) for _ in range(5)]
        history, at_once, most = chat.store.history, 0, 0

        async def slow(room: str, *, before_seq: int | None = None, limit: int) -> Sequence[RoomMessage]:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            for _ in range(20):
                await checkpoint()
            at_once -= 1
            return await history(room, before_seq=before_seq, limit=limit)

        monkeypatch.setattr(chat.store, "history", slow)
        for page in pages:
            await page.send("search", room="lobby", words="pizza")
        for page in pages:
            await page.until("found", words="pizza")
        assert most == 1
