"""One connection of one page, from its first frame to its last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import anyio
from msgspec import Struct
from msgspec.structs import replace

from adapters.capabilities import Budget
from adapters.pacing.bucket import KeyedBudgets
from adapters.web import codec
from adapters.web.acts import ActLedger, Acts
from adapters.web.charters import DIRECT, PRIVATE
from adapters.web.codec import WebVisitor
from adapters.web.echo import Echo
from adapters.web.gatherings import RoomGatherings
from adapters.web.hub import ConnectedPage, Hub
from adapters.web.requests import (
    MAX_ROOM_NAME,
    BadFrame,
    Change,
    Gather,
    Join,
    ListPeople,
    MembersRequest,
    Older,
    Open,
    Ping,
    Press,
    React,
    Request,
    SayInRoom,
    SearchRoom,
    Typing,
    read_request,
    room_id,
)
from runtime.core.errors import StorageUnavailable
from runtime.core.files import MAX_FILE_BYTES

MAX_ROOMS = 200
MAX_ROOMS_OF_ONE = 20
"""The number of rooms beyond which people cannot open more."""
SEND_TIMEOUT_S = 20.0
"""The time for one frame, after which a page is too slow."""
CLOSE_TIMEOUT_S = 1.0
CLOSE_TRY_AGAIN = 1013
CLOSE_TOO_MUCH = 1008
CLOSE_TOO_MANY_PAGES = 4429
"""The close code when no further page can be opened; the reason says why, in words for people."""
MESSAGES = Budget(rate_per_s=1.0, burst=15)
FRAMES = Budget(rate_per_s=20.0, burst=120)


class PageLink(Protocol):
    async def receive(self) -> str | None:
        """The next text frame; None when the other side has gone."""

    def send_at_once(self, frame: str, /) -> bool:
        """Send a text frame now. Returns False, and sends nothing, where that has to wait."""

    async def send(self, frame: str, /) -> None:
        """Send a text frame; returns when it may be forgotten. Does nothing when the other side has gone."""

    async def close(self, code: int, reason: str, /) -> None: ...


class House(Struct, frozen=True):
    """What all visits share. `commands` are the menu's commands, with their descriptions."""

    ledger: ActLedger
    hub: Hub
    echo: Echo
    frames: KeyedBudgets
    commands: Mapping[str, str]
    gatherings: RoomGatherings


class PageVisit:
    """A person's page and its requests. Ends when the page leaves, is too slow, or sends too much."""

    def __init__(self, house: House, link: PageLink, person: WebVisitor, language: str | None) -> None:
        self._house = house
        self._board = house.ledger.board
        self._link = link
        self._browser = ConnectedPage(person, link.send_at_once)
        self._acts = Acts(house.ledger, self._browser, language)
        self._farewell: tuple[int, str] | None = None

    async def run(self) -> None:
        """Serve the page until it leaves. A page too many is told so and closed."""
        refusal = self._house.hub.refusal(self._browser.person)
        if refusal is not None:
            await self._link.close(CLOSE_TOO_MANY_PAGES, refusal)
            return
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
            self._browser.push(await self._welcome())
            while (raw := await self._link.receive()) is not None:
                if not self._house.frames.take(self._browser.person.id):
                    self._farewell = (CLOSE_TOO_MUCH, "too many requests")
                    return
                await self._handle(raw)
        except StorageUnavailable:
            self._farewell = (CLOSE_TRY_AGAIN, "the store does not answer")

    async def _handle(self, raw: str) -> None:
        try:
            request = read_request(raw)
        except BadFrame as error:
            self._browser.push(codec.error(str(error)))
            return
        room = getattr(request, "room", None)
        if room is not None and not await self._admitted(room, request):
            return
        if isinstance(request, Gather):
            if (room is None or await self._known(room)) and self._may_act(request):
                await self._house.gatherings.take(self._browser, request)
        elif isinstance(request, Join | Older | SearchRoom | Typing | Open | Ping):
            await self._look(request)
        else:
            await self._acts.take(request)

    def _may_act(self, request: Request) -> bool:
        """Whether this is not too much at once; else the page is told."""
        if isinstance(request, MembersRequest | ListPeople) or self._house.ledger.messages.take(
            self._browser.person.id
        ):
            return True
        self._browser.push(codec.error("That is a lot at once. Try again in a moment."))
        return False

    async def _admitted(self, room: str, request: Request) -> bool:
        """Whether the person sees this room; else the page is told as if there was none."""
        charter = await self._board.charters.get(room)
        person = self._browser.person.id
        if charter.admits(person):
            if isinstance(request, Join | SayInRoom) and person in charter.left:
                await self._board.alter(room, lambda now: replace(now, left=now.left - {person}))
            if not (charter.archived and isinstance(request, SayInRoom | Change | React | Press)):
                return True
            text = "This room is archived."
            said = isinstance(request, SayInRoom)
            self._browser.push(codec.refused(request.id, "invalid", text) if said else codec.error(text))
        elif isinstance(request, SayInRoom):
            self._browser.push(codec.refused(request.id, "invalid", f"There is no room {room!r}. Open it first."))
        else:
            self._browser.push(codec.absent(room))
        return False

    async def _welcome(self) -> str:
        largest = 0 if self._house.ledger.files is None else MAX_FILE_BYTES
        self._browser.person = await self._house.gatherings.came(self._browser.person)
        rooms = await self._board.rooms(self._browser.person.id)
        rules = self._house.ledger.rules
        limits = {"max_text": rules.max_text, "max_file_bytes": largest, "voice_s": rules.voice_s}
        return codec.welcome(self._browser.person, rooms, limits, commands=self._house.commands)

    async def _look(self, request: Request) -> None:
        match request:
            case Join(room, version):
                if await self._known(room):
                    await self._board.join(self._browser, room, version)
            case Older(room, before):
                if await self._known(room):
                    await self._board.older(self._browser, room, before)
            case SearchRoom(room, words):
                if not room or await self._known(room):
                    await self._board.search(self._browser, room, words)
            case Typing(room, thread):
                person = self._browser.person
                frame = codec.typing(room, thread, person, "person")
                if room == self._browser.room:
                    self._house.hub.to_room(room, frame, but=self._browser)
                    self._house.echo.frame(room, frame)
            case Open(name):
                await self._open(name)
            case _:
                self._browser.push(codec.frame("pong"))

    async def _known(self, room: str) -> bool:
        if await self._board.has(room):
            return True
        self._browser.push(codec.absent(room))
        return False

    async def _open(self, name: str) -> None:
        room = room_id(name)
        if not room or len(name) > MAX_ROOM_NAME:
            self._browser.push(codec.error(f"A room's name needs letters or digits, at most {MAX_ROOM_NAME} in all."))
            return
        known = await self._board.has(room)
        seen = known and (await self._board.charters.get(room)).admits(self._browser.person.id)
        if not seen and room.startswith((DIRECT, PRIVATE)):  # whether or not there is one
            self._browser.push(codec.error(f"A room's name does not begin with {DIRECT} or {PRIVATE}."))
            return
        if not known:
            person = self._browser.person
            rooms, of_person = await self._board.open_rooms(person.id)
            if of_person >= MAX_ROOMS_OF_ONE:
                text = f"You have made {MAX_ROOMS_OF_ONE} rooms, and nobody makes more. Archive one of them first."
                self._browser.push(codec.error(text))
                return
            if rooms >= MAX_ROOMS:
                self._browser.push(codec.error(f"There are {MAX_ROOMS} rooms already. Use one of them."))
                return
            if not self._may_act(Open(name)):
                return
            await self._house.gatherings.opened(room, person)
            await self._house.gatherings.note(room, f"{person.name} opened this room.")
        self._browser.push(codec.frame("opened", room=room))
