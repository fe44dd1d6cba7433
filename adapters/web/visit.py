"""One connection of one page, from hello to goodbye."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

import anyio

from adapters.adapter import Inbound
from adapters.capabilities import Budget
from adapters.web import codec
from adapters.web.allowance import Allowance
from adapters.web.board import Board
from adapters.web.codec import MAX_ROOM_NAME, MAX_TEXT, BadFrame, Join, Older, Open, Person, Request, Say, Typing
from adapters.web.hub import Browser, Hub
from adapters.web.intake import Intake, Offer
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import StorageUnavailable
from runtime.core.room import RoomPost

PLATFORM = "web"
MAX_ROOMS = 200
"""People cannot open more rooms than this."""

SEND_TIMEOUT_S = 20.0
"""A page that takes longer for one frame is too slow."""

CLOSE_TIMEOUT_S = 1.0
CLOSE_TRY_AGAIN = 1013
CLOSE_TOO_MUCH = 1008

MESSAGES = Budget(rate_per_s=1.0, burst=15)
"""What one person may say."""

FRAMES = Budget(rate_per_s=20.0, burst=120)
"""Frames that one person's pages may send."""


class Link(Protocol):
    """A WebSocket, as far as a visit needs it."""

    async def receive(self) -> str | None:
        """The next text frame; None when the other side is gone."""
        ...

    async def send(self, frame: str, /) -> None:
        """Send a text frame; returns when it may be forgotten. Does nothing when the other side is gone."""
        ...

    async def close(self, code: int, reason: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class House:
    """What all visits share."""

    board: Board
    hub: Hub
    intake: Intake
    clock: Clock
    messages: Allowance
    frames: Allowance


class Visit:
    """A person's page and what it asks for. Ends when the page goes, is too slow, or sends too much."""

    def __init__(self, house: House, link: Link, person: Person) -> None:
        self._house = house
        self._link = link
        self._browser = Browser(person)
        self._farewell: tuple[int, str] | None = None

    async def run(self) -> None:
        """Serve the page until it leaves."""
        self._house.hub.enter(self._browser)
        try:
            async with anyio.create_task_group() as tasks:
                stop = tasks.cancel_scope.cancel
                tasks.start_soon(self._write, stop)
                tasks.start_soon(self._watch, stop)
                await self._read()
                stop()
        finally:
            self._house.hub.leave(self._browser)
        if self._farewell is not None:
            with anyio.move_on_after(CLOSE_TIMEOUT_S):
                await self._link.close(*self._farewell)

    async def _write(self, stop: Callable[[], None]) -> None:
        while True:
            frame = await self._browser.next_frame()
            with anyio.move_on_after(SEND_TIMEOUT_S) as limit:
                await self._link.send(frame)
            if limit.cancelled_caught:
                self._farewell = (CLOSE_TRY_AGAIN, "too slow")
                stop()

    async def _watch(self, stop: Callable[[], None]) -> None:
        await self._browser.too_slow.wait()
        self._farewell = (CLOSE_TRY_AGAIN, "too slow")
        stop()

    async def _read(self) -> None:
        try:
            self._browser.push(codec.welcome(self._browser.person, await self._house.board.rooms()))
            while (raw := await self._link.receive()) is not None:
                if not self._house.frames.take(self._browser.person.id):
                    self._farewell = (CLOSE_TOO_MUCH, "too many requests")
                    return
                await self._handle(raw)
        except StorageUnavailable:
            self._farewell = (CLOSE_TRY_AGAIN, "the store does not answer")

    async def _handle(self, raw: str) -> None:
        try:
            request = codec.read_request(raw)
        except BadFrame as error:
            self._browser.push(codec.error(str(error)))
            return
        if isinstance(request, Say):
            await self._say(request)
        else:
            await self._look(request)

    async def _look(self, request: Request) -> None:
        match request:
            case Join(room, version):
                if await self._known(room):
                    await self._house.board.join(self._browser, room, version)
            case Older(room, before):
                if await self._known(room):
                    await self._house.board.older(self._browser, room, before)
            case Typing(room, thread):
                person = self._browser.person
                frame = codec.typing(room, thread, person.id, person.name, "person")
                if room == self._browser.room:
                    self._house.hub.to_room(room, frame, but=self._browser)
            case Open(name):
                await self._open(name)
            case _:
                self._browser.push(codec.pong())

    async def _known(self, room: str) -> bool:
        if await self._house.board.has(room):
            return True
        self._browser.push(codec.error(f"There is no room {room!r}. Open it first."))
        return False

    async def _open(self, name: str) -> None:
        room = codec.room_id(name)
        if not room or len(name) > MAX_ROOM_NAME:
            self._browser.push(codec.error(f"A room's name needs letters or digits, at most {MAX_ROOM_NAME} in all."))
            return
        if not await self._house.board.has(room):
            if len(await self._house.board.rooms()) >= MAX_ROOMS:
                self._browser.push(codec.error(f"There are {MAX_ROOMS} rooms already. Use one of them."))
                return
            person = self._browser.person
            text = f"{person.name} opened this room."
            post = RoomPost(str(uuid4()), "", "Parley", "notice", text, self._house.clock.now())
            await self._house.board.post(room, post)
        self._browser.push(codec.opened(room))

    async def _say(self, say: Say) -> None:
        refusal = await self._refusal(say)
        if refusal is not None:
            self._browser.push(codec.refused(say.id, *refusal))
            return
        person = self._browser.person
        now = self._house.clock.now()
        post = RoomPost(say.id, person.id, person.name, "person", say.text, now, thread=say.thread)
        try:
            kept = await self._house.board.post(say.room, post)
        except StorageUnavailable:
            self._browser.push(codec.refused(say.id, "busy", "The chat's store does not answer. Trying again."))
            return
        if (kept.author_id, kept.text, kept.thread) != (person.id, say.text, say.thread):
            self._browser.push(codec.refused(say.id, "conflict", "Another message has this id. Send it anew."))
            return
        command, text = codec.command_of(say.text)
        inbound = Inbound(
            address=Address(PLATFORM, say.room, say.thread),
            event_id=say.id,
            person_id=person.id,
            person_name=person.name,
            text=text,
            sent_at=kept.sent_at,
            private=False,
            addressed=True,
            command=command,
        )
        self._house.intake.put(Offer(inbound, lambda: self._browser.push(codec.taken(say.id))))

    async def _refusal(self, say: Say) -> tuple[codec.RefusalCode, str] | None:
        if len(say.text) > MAX_TEXT:
            text = f"This message has {len(say.text):,} characters; {MAX_TEXT:,} is the most. Shorten or split it."
            return "too_long", text
        if not say.text.strip():
            return "invalid", "An empty message cannot be sent."
        if not self._house.messages.take(self._browser.person.id):
            return "slow_down", "That is a lot at once. The message will be sent in a moment."
        if self._house.intake.full:
            return "busy", "Too much is waiting to be answered. The message will be sent in a moment."
        try:
            known = await self._house.board.has(say.room)
        except StorageUnavailable:
            return "busy", "The chat's store does not answer. Trying again."
        return None if known else ("invalid", f"There is no room {say.room!r}. Open it first.")
