"""The browser chat as a platform: our own, so the gateway keeps and shows what elsewhere the platform does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from adapters.adapter import Inbound
from adapters.capabilities import Budget, Capabilities
from adapters.web import codec
from adapters.web.allowance import Allowance
from adapters.web.board import Board
from adapters.web.codec import MAX_TEXT, Person
from adapters.web.hub import Hub
from adapters.web.intake import Intake
from adapters.web.rooms import RoomStore
from adapters.web.visit import FRAMES, MESSAGES, PLATFORM, House, Link, Visit
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import NotDelivered, OutcomeUncertain, StorageUnavailable
from runtime.core.room import AuthorKind, RoomPost

FIRST_ROOM = "lobby"
"""The room that is always there."""

_ROOM_BUDGET = Budget(rate_per_s=30.0, burst=60)
_CAPABILITIES = Capabilities(
    max_text=MAX_TEXT,
    text_unit="codepoints",
    edits=True,
    threads=True,
    custom_identity=True,
    idempotent_send=True,
    typing_lasts_s=5.0,
    private_budget=_ROOM_BUDGET,
    group_budget=_ROOM_BUDGET,
    total_budget=Budget(rate_per_s=3_000.0, burst=6_000),
    source="our own platform: 30 edits/s are one for every second frame of a 60 Hz screen",
)


class WebAdapter:
    """Rooms and threads in browsers.

    A room is `Address("web", room)`, a thread in it `Address("web", room, thread=<id of the message it hangs on>)`.
    A message's platform id is the nonce it was sent with; a person's is the UUID that the page made, and it is also
    the event id, so a message that a page sends again after a reconnect is recognised. A page is told that its
    message is taken when the consumer of `connect()` asks for the next one.
    """

    def __init__(self, rooms: RoomStore, clock: Clock) -> None:
        self._rooms = rooms
        self._clock = clock
        self._hub = Hub()
        self._intake = Intake()
        self._board = Board(rooms, self._hub, first_room=FIRST_ROOM)
        self._house = House(
            self._board, self._hub, self._intake, clock, Allowance(MESSAGES, clock), Allowance(FRAMES, clock)
        )

    @property
    def name(self) -> str:
        return PLATFORM

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Inbound]]:
        """What people say, in the order in which the rooms show it; for one consumer at a time."""
        async with aclosing(self._intake.items()) as items:
            yield items

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        """One bucket for each room; its threads share it."""
        return f"{PLATFORM}:{to.conversation}", _ROOM_BUDGET

    async def check(self) -> str:
        """Whether the rooms can be read. Raises NotDelivered."""
        try:
            rooms = await self._rooms.rooms()
        except StorageUnavailable as error:
            raise NotDelivered(f"web: the rooms cannot be read: {error}") from error
        return f"web: {len(rooms)} rooms, no token needed"

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        """Show a message. Raises OutcomeUncertain when the store does not answer."""
        kind: AuthorKind = "agent" if speaker.id else "notice"
        now = self._clock.now()
        post = RoomPost(nonce, speaker.id, speaker.name, kind, text, now, final=final, thread=to.thread)
        try:
            kept = await self._board.post(to.conversation, post)
            if final and not kept.final:
                await self._board.change(to.conversation, nonce, text, final=True)
        except StorageUnavailable as error:
            raise OutcomeUncertain(f"web: message {nonce} may not be kept: {error}") from error
        return nonce

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """Change a message. Raises MessageGone, and OutcomeUncertain when the store does not answer."""
        try:
            await self._board.change(to.conversation, message, text, final=final)
        except StorageUnavailable as error:
            raise OutcomeUncertain(f"web: the change of message {message} may not be kept: {error}") from error

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        self._hub.to_room(to.conversation, codec.typing(to.conversation, to.thread, speaker.id, speaker.name, "agent"))

    async def attend(self, link: Link, person: Person) -> None:
        """Serve one page over its WebSocket until either side ends it."""
        await Visit(self._house, link, person).run()
