"""The door for participants: who may come in, and a connection of each, whose mail goes out in order and whose
acknowledgements and acts come in."""

from __future__ import annotations

import hashlib
import hmac
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket

from adapters.capabilities import Budget
from adapters.pacing.bucket import KeyedBudgets
from gateway.feature import FeatureGround, ServingGround, WebGround
from gateway.features.participants import frames
from gateway.features.participants.frames import Acknowledged, BadSeatFrame, Hello
from gateway.socket_protocol import SocketLink
from gateway.web.guard import PARTICIPANTS
from runtime.bus import Bus
from runtime.channels.mailbox import START, MailboxRead, MailboxReader, ParticipantSeat, SeatMailboxes
from runtime.core.clock import Clock
from runtime.core.errors import StorageError
from runtime.events.sessions import ParticipantConnected, ParticipantDisconnected
from runtime.sessions.features import NodePart
from runtime.sessions.inbound.participants import SeatAct
from runtime.storage.redis.mailboxes import RedisMailboxes
from runtime.stores.inbox import PARTICIPANT, Inbox, InboxEvent

WINDOW = 32
"""The number of messages sent before the first of them is acknowledged."""

HELLO_S = 10.0
"""The time for a new connection to say hello."""

FRAMES_PER_S = 500.0
"""Frames beyond this rate are read no faster."""

FRAMES_AT_ONCE = 1_000.0

_READ_S = 30.0
_ACKNOWLEDGED_AT_ONCE = 100
_NOWHERE = "18446744073709551615-0"
"""A position after every entry of a mailbox."""

ATTEMPTS = Budget(rate_per_s=0.2, burst=20)
"""The number of refused connections from one address after which all of its connections are refused for a while."""

_NOBODY = "nobody"


class SeatOffice(Struct, frozen=True):
    """The parts that all visits share: the mail, the way for acts, and the length limit of a text."""

    mailboxes: SeatMailboxes
    inbox: Inbox
    clock: Clock
    bus: Bus
    message_chars: int


class Ending(Struct, frozen=True):
    """The reason for the end of a visit; `code` is the WebSocket's."""

    code: int
    reason: str


_GONE = Ending(1000, "it went")
_REPLACED = Ending(frames.CLOSE_REPLACED, "replaced by a newer connection of this name")


class Visit:
    """A connected participant, until either side leaves or a newer connection of the same name comes."""

    def __init__(self, participant: str, link: SocketLink, office: SeatOffice) -> None:
        self._participant = participant
        self._link = link
        self._office = office
        self._connection = uuid.uuid4().hex
        self._sent: deque[str] = deque()
        self._room = anyio.Event()
        self._pace = _Pace(office.clock)
        self._ending = _GONE

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            await self._until_it_ends(tasks, self._serve)
        self._office.bus.publish(ParticipantDisconnected(self._participant, self._ending.reason))
        if self._ending is not _GONE:
            await self._link.send(frames.bye(self._ending.reason))
        await self._link.close(self._ending.code, self._ending.reason[:100])

    async def _until_it_ends(self, tasks: TaskGroup, work: Callable[[], Awaitable[Ending]]) -> None:
        """Do some work of the visit; when it ends, the visit ends."""
        try:
            self._ending = await work()
        except BadSeatFrame as error:
            self._ending = Ending(frames.CLOSE_PROTOCOL, str(error))
        except StorageError as error:
            self._ending = Ending(frames.CLOSE_LATER, f"this cannot be taken now: {error}")
        tasks.cancel_scope.cancel()

    async def _serve(self) -> Ending:
        said: str | None = None
        with anyio.move_on_after(HELLO_S) as limit:
            said = await self._link.receive()
        if limit.cancelled_caught:
            return Ending(frames.CLOSE_PROTOCOL, f"hello must come within {HELLO_S:g} s")
        if said is None:
            return _GONE
        hello = frames.read_frame(said)
        if not isinstance(hello, Hello):
            raise BadSeatFrame("hello must come first")
        reader = await self._office.mailboxes.attend(self._participant, self._connection)
        if hello.after is not None:
            await self._acknowledge(hello.after)
        await self._link.send(frames.welcome(self._participant, WINDOW))
        self._office.bus.publish(ParticipantConnected(self._participant))
        async with anyio.create_task_group() as tasks:
            for work in (self._listen, lambda: self._deliver(reader)):
                tasks.start_soon(self._until_it_ends, tasks, work)
        return self._ending

    async def _listen(self) -> Ending:
        while (said := await self._link.receive()) is not None:
            await self._pace.turn()
            frame = frames.read_frame(said)
            if isinstance(frame, SeatAct):
                await self._do(frame)
            elif isinstance(frame, Acknowledged):
                await self._acknowledge(frame.entry)
            else:
                raise BadSeatFrame("hello is said once")
        return _GONE

    async def _deliver(self, reader: MailboxReader) -> Ending:
        after = START
        while True:
            if len(self._sent) >= WINDOW and (ending := await self._until_there_is_room(reader)) is not None:
                return ending
            found = await self._read(after, reader, WINDOW - len(self._sent))
            if found.replaced:
                return _REPLACED
            for mail in found.mail:
                self._sent.append(mail.entry_id)
                await self._link.send(frames.message(mail))
                after = mail.entry_id

    async def _until_there_is_room(self, reader: MailboxReader) -> Ending | None:
        """Wait until half of the sent messages are acknowledged, not after each one.

        Each such wait takes a database connection, which also reports a newer visit; that ends this one.
        """
        ended: list[Ending] = []
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                await self._until_it_ends(tasks, lambda: self._watch(reader))
                ended.append(self._ending)

            tasks.start_soon(watch)
            while len(self._sent) > WINDOW // 2:
                self._room = anyio.Event()
                await self._room.wait()
            tasks.cancel_scope.cancel()
        return ended[0] if ended else None

    async def _watch(self, reader: MailboxReader) -> Ending:
        while not (await self._read(_NOWHERE, reader, 1)).replaced:
            pass
        return _REPLACED

    async def _read(self, after: str, reader: MailboxReader, at_most: int) -> MailboxRead:
        mailboxes = self._office.mailboxes
        return await mailboxes.read(self._participant, after, reader, wait_s=_READ_S, at_most=at_most)

    async def _acknowledge(self, until: str) -> None:
        """Record that the participant has everything up to an entry: first for its sessions, then by removing
        the mail.
        """
        mailboxes = self._office.mailboxes
        while mail := await mailboxes.waiting(self._participant, until, at_most=_ACKNOWLEDGED_AT_ONCE):
            for seat in dict.fromkeys(one.letter.seat for one in mail):
                own = [one for one in mail if one.letter.seat == seat]
                act = SeatAct(seat.id, "fetched", messages=tuple(str(one.letter.message) for one in own))
                await self._add(seat, act, f"fetched.{own[-1].entry_id}")
            await mailboxes.take_out(self._participant, mail)
        while self._sent and _place(self._sent[0]) <= _place(until):
            self._sent.popleft()
        self._room.set()

    async def _do(self, act: SeatAct) -> None:
        if len(act.text) > self._office.message_chars:
            await self._link.send(
                frames.refused(act.number, f"a text has at most {self._office.message_chars} characters")
            )
            return
        seat = await self._office.mailboxes.seat(self._participant, act.seat)
        if seat is None:
            await self._link.send(frames.refused(act.number, f"{self._participant} has no seat {act.seat}"))
            return
        await self._add(seat, act, f"act.{act.number}")
        await self._link.send(frames.taken(act.number))

    async def _add(self, seat: ParticipantSeat, act: SeatAct, name: str) -> None:
        """Bring an act to its session. The inbox recognises a repetition by its name."""
        event_id = f"{PARTICIPANT}.{self._participant}.{name}"
        now = self._office.clock.now()
        await self._office.inbox.add(InboxEvent(event_id, seat.address, "", "", str(act), now, kind=PARTICIPANT))


class _Pace:
    """A rate limit with a burst."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next_s = clock.monotonic() - FRAMES_AT_ONCE / FRAMES_PER_S

    async def turn(self) -> None:
        now_s = self._clock.monotonic()
        self._next_s = max(self._next_s, now_s - FRAMES_AT_ONCE / FRAMES_PER_S) + 1 / FRAMES_PER_S
        if self._next_s > now_s:
            await self._clock.sleep_until(self._next_s)


def _place(entry_id: str) -> tuple[int, int]:
    first, _, second = entry_id.partition("-")
    return int(first), int(second)


class SeatDesk:
    """Admits the participants whose names and tokens are in the settings."""

    def __init__(self, tokens: Mapping[str, str], office: SeatOffice) -> None:
        self._digests = {name: _digest(token) for name, token in tokens.items()}
        self._office = office
        self._attempts = KeyedBudgets(ATTEMPTS, office.clock)

    @property
    def route(self) -> WebSocketRoute:
        return WebSocketRoute(f"{PARTICIPANTS}{{name}}", self.answer)

    async def answer(self, socket: WebSocket) -> None:
        """Admit a participant; 401 for an unknown name or token, 429 for too many of those."""
        name = str(socket.path_params["name"])
        address = socket.client.host if socket.client else ""
        if not self._admits(name, socket.headers.get("authorization", "")):
            tried = self._attempts.take(address)
            text = "This name or token is not known.\n" if tried else "Too many attempts. Wait a minute.\n"
            await socket.send_denial_response(PlainTextResponse(text, status_code=401 if tried else 429))
            return
        await socket.accept()
        await Visit(name, SocketLink(socket), self._office).run()

    def _admits(self, name: str, authorization: str) -> bool:
        """Compare the token, in the same time for an unknown name as for a wrong token."""
        scheme, _, token = authorization.partition(" ")
        known = self._digests.get(name, _digest(_NOBODY))
        right = hmac.compare_digest(known, _digest(token.strip()))
        return right and name in self._digests and scheme.lower() == "bearer"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


class NodeParticipants(NodePart):
    def __init__(self, mailboxes: SeatMailboxes) -> None:
        self.mailboxes = mailboxes


def mailboxes_in(ground: FeatureGround) -> SeatMailboxes:
    return RedisMailboxes(ground.connection, bound=ground.settings.participants.mailbox_messages)


def open_node(ground: FeatureGround, _: ServingGround) -> NodeParticipants:
    return NodeParticipants(mailboxes_in(ground))


def open_desk(ground: FeatureGround, _: WebGround) -> Sequence[BaseRoute]:
    """The endpoint for participants in other processes. Raises ConfigError for a token that will not do."""
    if not ground.settings.participants.tokens:
        return ()
    chars, tokens = ground.settings.limits.message_chars, ground.settings.participants.known()
    office = SeatOffice(mailboxes_in(ground), ground.database.inbox, ground.clock, ground.bus, chars)
    return (SeatDesk(tokens, office).route,)
