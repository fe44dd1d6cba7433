"""Two nodes of the browser chat over one store: a page sees on one what is said on the other."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

from adapters.web import codec
from adapters.web.board import RoomBoard
from adapters.web.charters import RoomCharter, RoomCharters, RoomHues
from adapters.web.codec import WebVisitor
from adapters.web.echo import RENEW_S, VALID_S, Echo, OnNews, OnOpen
from adapters.web.hub import ConnectedPage, Hub
from runtime.core.clock import Clock, SystemClock
from runtime.core.room import RoomChange, RoomPost
from tests.fakes.clock import FakeClock
from tests.fakes.memory.rooms import MemoryRoomStore
from tests.fakes.observing.records import MemoryRecords

LIMIT_S = 60


class Wire:
    """What nodes tell each other in one process; `deaf` nodes miss it."""

    def __init__(self) -> None:
        self.nodes: dict[str, WiredNews] = {}

    def news(self, node: str) -> WiredNews:
        self.nodes[node] = WiredNews(self, node)
        return self.nodes[node]


class WiredNews:
    """Implements `adapters.web.echo.RoomNews`."""

    def __init__(self, wire: Wire, node: str) -> None:
        self.node = node
        self.deaf = False
        self.heard: list[dict[str, Any]] = []
        self._wire = wire
        self._send, self._receive = anyio.create_memory_object_stream[str | None](1000)

    async def tell(self, text: str, /, *, to: str | None = None) -> None:
        for node in self._wire.nodes.values() if to is None else [self._wire.nodes[to]]:
            if not node.deaf:
                await node._send.send(text)

    async def listen(self, on_open: OnOpen, on_news: OnNews, /) -> None:
        await on_open()
        async with self._send, self._receive:
            async for text in self._receive:
                if text is None:
                    await on_open()
                else:
                    self.heard.append(json.loads(text))
                    await on_news(text)

    async def listen_again(self) -> None:
        """Hear again, knowing that something was missed."""
        self.deaf = False
        await self._send.send(None)

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [news for news in self.heard if news["t"] == kind]


class House:
    """The web chat of one node, with one page."""

    def __init__(self, wire: Wire, store: MemoryRoomStore, charters: MemoryRecords, name: str, clock: Clock) -> None:
        self.news = wire.news(name)
        self.echo = Echo(self.news, clock)
        self.hub = Hub()
        known, hues = RoomCharters(charters), RoomHues(MemoryRecords())
        self.board = RoomBoard(store, self.hub, self.echo, known, hues)
        self.page = ConnectedPage(WebVisitor(f"web:{name}", name))
        self.shown: dict[str, str] = {}
        self.live: set[str] = set()
        self.rooms: list[str] = []
        self.gone: list[str] = []

    async def look(self, room: str = "lobby") -> None:
        self.hub.enter(self.page)
        await self.board.join(self.page, room, None)

    async def until(self, message_id: str, text: str, *, live: bool) -> None:
        """Return when the page shows this."""
        with anyio.fail_after(LIMIT_S):
            while self.shown.get(message_id) != text or (message_id in self.live) != live:
                self._apply(json.loads(await self.page.next_frame()))

    async def until_room(self, room: str) -> None:
        with anyio.fail_after(LIMIT_S):
            while room not in self.rooms:
                self._apply(json.loads(await self.page.next_frame()))

    async def until_gone(self, room: str) -> None:
        with anyio.fail_after(LIMIT_S):
            while room not in self.gone:
                self._apply(json.loads(await self.page.next_frame()))

    async def until_people(self, *names: str) -> None:
        """Return when the page shows these people as here."""
        with anyio.fail_after(LIMIT_S):
            while (shown := self.board.people("lobby")) or names:
                if sorted(one.name for one in shown) == sorted(names):
                    break
                await self.page.next_frame()

    async def until_online(self, *people: str) -> None:
        """Return when the page is told that these are online."""
        with anyio.fail_after(LIMIT_S):
            while (frame := json.loads(await self.page.next_frame()))["t"] != "online" or frame["people"] != [*people]:
                pass

    def _apply(self, frame: dict[str, Any]) -> None:
        for message in frame.get("messages", [frame["message"]] if frame["t"] == "message" else []):
            self.shown[message["id"]] = message["text"]
            (self.live.add if message["live"] else self.live.discard)(message["id"])
        if frame["t"] == "grow":
            before = self.shown[frame["id"]]
            self.shown[frame["id"]] = before[: len(before) - frame.get("cut", 0)] + frame["add"]
            (self.live.discard if "done" in frame else self.live.add)(frame["id"])
        if frame["t"] == "gone":
            self.gone.append(frame["room"])
        if frame["t"] == "activity":
            self.rooms += [room["id"] for room in frame["rooms"]]


@asynccontextmanager
async def houses(*names: str, clock: Clock | None = None) -> AsyncIterator[list[House]]:
    wire, store, charters = Wire(), MemoryRoomStore(), MemoryRecords()
    made = [House(wire, store, charters, name, clock or SystemClock()) for name in names]
    async with anyio.create_task_group() as tasks:
        for house in made:
            tasks.start_soon(house.echo.run, house.board)
            tasks.start_soon(house.hub.bulletin.run, SystemClock())
        yield made
        tasks.cancel_scope.cancel()


def post(text: str, *, final: bool = True, id_: str = "m") -> RoomPost:
    return RoomPost(id_, "1000", "Guide", "agent", text, SystemClock().now(), final=final)


async def test_a_page_sees_a_text_of_another_node_grow_and_end() -> None:
    async with houses("a", "b") as (ada, bob):
        await ada.look()
        await bob.board.post("lobby", post("Once", final=False))
        await ada.until("m", "Once", live=True)
        for text in ("Once there", "Once there was", "Once there is"):
            await bob.board.change("lobby", "m", text, final=False)
        await ada.until("m", "Once there is", live=True)
        await bob.board.change("lobby", "m", "Once there is an end.", final=True)
        await ada.until("m", "Once there is an end.", live=False)


async def test_a_page_that_comes_later_sees_what_is_growing_elsewhere() -> None:
    async with houses("a", "b") as (ada, bob):
        await bob.board.post("lobby", post("Once", final=False))
        await bob.board.change("lobby", "m", "Once there was", final=False)
        await ada.look()
        await ada.until("m", "Once there was", live=True)
        await bob.board.change("lobby", "m", "Once there was more", final=False)
        await ada.until("m", "Once there was more", live=True)


async def test_a_text_that_another_node_goes_on_with_is_shown_as_that_node_has_it() -> None:
    async with houses("a", "b", "c") as (ada, bob, cid):
        await ada.look()
        await bob.board.post("lobby", post("Once", final=False))
        await bob.board.change("lobby", "m", "Once there was a gate", final=False)
        await ada.until("m", "Once there was a gate", live=True)
        await cid.board.change("lobby", "m", "Once there", final=False)
        await cid.board.change("lobby", "m", "Once there stood", final=False)
        await ada.until("m", "Once there stood", live=True)
        await cid.board.change("lobby", "m", "Once there stood a gate.", final=True)
        await ada.until("m", "Once there stood a gate.", live=False)


async def test_a_node_that_missed_something_catches_up() -> None:
    async with houses("a", "b") as (ada, bob):
        await ada.look()
        await bob.board.post("lobby", post("Once", final=False))
        await ada.until("m", "Once", live=True)
        ada.news.deaf = True
        await bob.board.change("lobby", "m", "Once there was", final=False)
        await bob.board.post("lobby", post("Beside it.", id_="n"))
        await bob.board.amend("lobby", "n", RoomChange(text="Changed.", edited=True))
        await anyio.wait_all_tasks_blocked()
        await ada.news.listen_again()
        await ada.until("n", "Changed.", live=False)
        await ada.until("m", "Once there was", live=True)


async def test_what_a_text_begins_with_is_asked_for_by_a_node_that_does_not_have_it() -> None:
    async with houses("a", "b") as (ada, bob):
        await ada.look()
        await bob.board.post("lobby", post("Once", final=False))
        await ada.until("m", "Once", live=True)
        ada.news.deaf = True
        await bob.board.change("lobby", "m", "Once there was a gate", final=False)
        await anyio.wait_all_tasks_blocked()
        ada.news.deaf = False
        await bob.board.change("lobby", "m", "Once there was a gate at the end", final=False)
        await ada.until("m", "Once there was a gate at the end", live=True)
        assert len(bob.news.told("again")) == 1


async def test_nothing_is_told_of_a_room_that_no_other_node_looks_at() -> None:
    async with houses("a", "b") as (ada, bob):
        await ada.look()
        await ada.look("den")
        await anyio.wait_all_tasks_blocked()
        await bob.board.post("lobby", post("Once", final=False))
        await bob.board.change("lobby", "m", "Once there was", final=False)
        await anyio.wait_all_tasks_blocked()
        assert ada.news.told("text") == ada.news.told("changed") == []


async def test_an_answer_for_one_person_reaches_their_pages_on_other_nodes_and_nobody_else() -> None:
    async with houses("a", "b", "c") as (ada, bob, cid):
        for house in (ada, cid):
            await house.look()
        await anyio.wait_all_tasks_blocked()
        frame = codec.alone("lobby", None, "For you")
        bob.board.tell_alone("lobby", "web:a", frame)
        with anyio.fail_after(LIMIT_S):
            while await ada.page.next_frame() != frame:
                pass
        await anyio.wait_all_tasks_blocked()
        assert frame not in cid.page._frames


async def test_who_is_here_is_known_on_all_nodes_until_they_go() -> None:
    async with houses("ada", "bob", "cid") as (ada, bob, cid):
        for house in (ada, bob):
            await house.look()
        await ada.until_people("ada", "bob")
        await bob.until_people("ada", "bob")
        while len(cid.board.people("lobby")) < 2:  # a node without a page knows it as well: it may send notifications
            await anyio.lowlevel.checkpoint()
        bob.hub.leave(bob.page)
        await ada.until_people("ada")


async def test_who_has_a_direct_room_with_somebody_sees_whether_they_are_online_at_another_node() -> None:
    async with houses("ada", "bob") as (ada, bob):
        two = {"web:ada": "ada", "web:bob": "bob"}
        await bob.board.alter("direct-00112233", lambda now: replace(now, kind="direct", people=two))
        await bob.board.post("team", post("Hi"))
        await ada.look()
        await bob.look("team")
        await ada.until_online("web:bob")
        bob.hub.leave(bob.page)
        await ada.until_online()


async def test_a_node_that_missed_who_is_here_hears_it_again() -> None:
    async with houses("ada", "bob") as (ada, bob):
        await ada.look()
        await ada.until_people("ada")
        ada.news.deaf = True
        await bob.look()
        await anyio.wait_all_tasks_blocked()
        await ada.news.listen_again()
        await ada.until_people("ada", "bob")


async def test_the_people_of_a_node_that_was_killed_are_gone_after_a_while() -> None:
    clock = FakeClock()
    async with houses("ada", "bob", clock=clock) as (ada, bob):
        for house in (ada, bob):
            await house.look()
        while len(ada.board.people("lobby")) < 2:
            await anyio.lowlevel.checkpoint()
        await clock.advance(VALID_S - 1)  # told again meanwhile
        assert len(ada.board.people("lobby")) == 2
        ada.news.deaf = True
        await clock.advance(VALID_S + RENEW_S)
        assert [one.name for one in ada.board.people("lobby")] == ["ada"]


async def test_a_new_room_comes_into_the_lists_of_all_nodes() -> None:
    async with houses("a", "b") as (ada, bob):
        await ada.look()
        await bob.board.post("den", post("Open.", id_="o"))
        await ada.until_room("den")


def private(*people: str) -> RoomCharter:
    return RoomCharter("Wedding", "private", "web:a", {person: person for person in people})


async def test_a_private_room_of_another_node_is_told_to_its_people_alone() -> None:
    async with houses("a", "b", "c") as (ada, bob, cleo):
        await bob.look()
        await cleo.look()
        await ada.board.alter("private-1", lambda _: private("web:a", "web:b"))
        await ada.board.post("private-1", post("Sunday"))
        await bob.until_room("private-1")
        await ada.board.post("ideas", post("Monday", id_="m2"))
        await cleo.until_room("ideas")
        assert cleo.rooms == ["ideas"]


@pytest.mark.parametrize("deaf", [False, True])
async def test_who_is_removed_by_another_node_sees_no_more_even_if_that_was_missed(deaf: bool) -> None:
    async with houses("a", "b") as (ada, bob):
        await ada.board.alter("private-1", lambda _: private("web:a", "web:b"))
        await ada.board.post("private-1", post("Sunday"))
        await bob.board.charters.all()
        await bob.look("private-1")
        bob.news.deaf = deaf
        await ada.board.alter("private-1", lambda _: private("web:a"))
        if deaf:
            await bob.news.listen_again()
        await bob.until_gone("private-1")
        await ada.board.post("private-1", post("Secret", id_="m2"))
        await bob.board.catch_up_all()
        assert "m2" not in bob.shown
        assert (bob.page.room, bob.page.waiting) == (None, 0)
