"""The library for participants in other processes: connect, read messages, answer them. Reconnects on its own.

    async with connect("ws://127.0.0.1:8420/participants/scout", token) as inbox:
        async for message in inbox:
            await message.reply(f"You said: {message.text}")

Needs only this file, anyio and websockets. A message is acknowledged when the next one is asked for: who dies before
that is given it again. What `reply` says to a message is said once, however often the message is given.
"""

from __future__ import annotations

import json
import random
import uuid
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_socket
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 30.0
OPEN_S = 10.0
PING_S = 20.0
MAX_FRAME_BYTES = 16 * 1024 * 1024

_REFUSED = frozenset({400, 401, 403, 404, 421})
_CLOSED_FOR_GOOD = frozenset({4400, 4409})


class ParticipantError(Exception):
    """The participant cannot continue; the text says why."""


class SeatRefused(ParticipantError):
    """The gateway does not know this name and token, or there is no gateway."""


class Replaced(ParticipantError):
    """A newer connection with the same name has taken over."""


class NotTaken(ParticipantError):
    """The gateway refuses one act, and continues with the rest."""


@dataclass
class _Act:
    frame: dict[str, Any]
    done: anyio.Event = field(default_factory=anyio.Event)
    refusal: str | None = None


@dataclass(frozen=True)
class ParticipantMessage:
    """A message to the participant. `content` is all of it, in the protocol's form."""

    content: Mapping[str, Any]
    inbox: ParticipantInbox

    @property
    def id(self) -> str:
        return str(self.content["id"])

    @property
    def kind(self) -> str:
        """ "direct", "meeting_broadcast", "meeting_invitation", "meeting_notice", "undelivered" or another."""
        return str(self.content["kind"])

    @property
    def text(self) -> str:
        return str(self.content["text"])

    @property
    def sender(self) -> str:
        """The sender: a person's name, or an agent's class."""
        return str(self.content["from"].get("name") or self.content["from"]["class"])

    @property
    def meeting(self) -> str | None:
        """The id of the meeting in which it was said, or into which it invites."""
        return self.content.get("meeting")

    @property
    def to_you(self) -> bool:
        """Whether it is meant for this participant in particular."""
        return bool(self.content.get("to_you"))

    async def reply(self, text: str) -> None:
        """Answer in the same place: in the message's meeting, else to its sender."""
        sender = self.content["from"]
        private = f"person {sender['id']}" if sender["human"] else f"agent {sender['id']}"
        await self.say(f"meeting {self.meeting}" if self.meeting else private, text)

    async def say(self, to: str, text: str) -> None:
        """Say something in the same session to the recipient `to`: "user", "agent 1000", "Lead", "meeting 100"."""
        await self.inbox.act("say", self, to=to, text=text)

    async def join(self) -> None:
        await self.inbox.act("answer", self, meeting=self.meeting, answer="JOINED")

    async def reject(self, reason: str) -> None:
        await self.inbox.act("answer", self, meeting=self.meeting, answer=f"REJECTED - {reason}")

    async def leave(self) -> None:
        await self.inbox.act("leave", self, meeting=self.meeting)

    @property
    def shared(self) -> Mapping[str, Any]:
        """The meeting's shared state at that time: `value`, `version` and `by` for each name; large values are left
        out.
        """
        return dict(self.content.get("shared") or {})

    async def share(self, name: str, value: Any, *, expected: int | None = None) -> None:
        """Set a shared value of the meeting in which the message was said, if version `expected` is current (None:
        any).
        """
        await self.inbox.act("share", self, meeting=self.meeting, name=name, value=value, expected=expected)


class ParticipantInbox:
    """The messages for the participant, in order, across reconnects."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"}
        self._came: deque[ParticipantMessage] = deque()  # bounded by the gateway's window
        self._news = anyio.Event()
        self._over = False
        self._socket: ClientConnection | None = None
        self._pending: dict[str, _Act] = {}
        self._given: ParticipantMessage | None = None
        self._said = 0
        self._acknowledged: str | None = None
        self._received = (0, 0)
        self._failure: ParticipantError | None = None
        self.connections = 0
        """The number of welcomes from the gateway."""

    def __aiter__(self) -> ParticipantInbox:
        return self

    async def __anext__(self) -> ParticipantMessage:
        """The next message, once there is one; the previous one is acknowledged. Raises ParticipantError."""
        await self.acknowledge()
        while not self._came:
            if self._over:
                raise self._failure or ParticipantError("the connection is closed")
            self._news = anyio.Event()
            await self._news.wait()
        self._given, self._said = self._came.popleft(), 0
        return self._given

    async def acknowledge(self) -> None:
        """The last message has been handled and will not be delivered again."""
        if self._given is not None:
            self._acknowledged = self._given.content["entry"]
            self._given = None
            await self._send({"type": "ack", "entry": self._acknowledged})

    async def act(self, kind: str, about: ParticipantMessage, **more: Any) -> None:
        """Act in the seat that received a message; returns when the gateway has stored the act. Raises NotTaken.

        The same act about the same message has the same id and is done once.
        """
        number = uuid.uuid4().hex
        if about is self._given:
            self._said += 1
            number = f"{about.content['entry']}.{self._said}"
        act = _Act({"type": kind, "id": number, "seat": about.content["seat"], **more})
        self._pending[number] = act
        try:
            await self._send(act.frame)
            await act.done.wait()
        finally:
            self._pending.pop(number, None)
        if act.refusal is not None:
            raise NotTaken(act.refusal)
        if self._failure is not None:
            raise self._failure

    async def run(self) -> None:
        """Stay connected until no more messages can come."""
        pause_s = FIRST_PAUSE_S
        while self._failure is None:
            before = self.connections
            try:
                async with open_socket(
                    self._url,
                    additional_headers=self._headers,
                    open_timeout=OPEN_S,
                    ping_interval=PING_S,
                    ping_timeout=PING_S,
                    max_size=MAX_FRAME_BYTES,
                    proxy=None,
                ) as socket:
                    await self._converse(socket)
            except InvalidStatus as error:
                if error.response.status_code in _REFUSED:
                    self._failure = SeatRefused(error.response.body.decode(errors="replace").strip())
            except InvalidURI as error:
                self._failure = SeatRefused(str(error))
            except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed):
                pass  # tried again below
            self._socket = None
            pause_s = FIRST_PAUSE_S if self.connections > before else min(2 * pause_s, LONGEST_PAUSE_S)
            if self._failure is None:
                await anyio.sleep(pause_s * random.uniform(0.5, 1.0))
        self._over = True
        self._news.set()
        for act in self._pending.values():
            act.done.set()

    async def _converse(self, socket: ClientConnection) -> None:
        await socket.send(json.dumps({"type": "hello", "version": 1, "after": self._acknowledged}))
        try:
            async for text in socket:
                await self._take(socket, json.loads(text))
        finally:
            if socket.close_code in _CLOSED_FOR_GOOD:
                kind = Replaced if socket.close_code == 4409 else ParticipantError
                self._failure = kind(socket.close_reason or "closed")

    async def _take(self, socket: ClientConnection, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "welcome":
                self._socket = socket
                self.connections += 1
                for act in list(self._pending.values()):
                    await socket.send(json.dumps(act.frame))
            case "message":
                place = tuple(map(int, frame["entry"].split("-")))
                if place > self._received:
                    self._received = (place[0], place[1])
                    self._came.append(ParticipantMessage(frame, self))
                    self._news.set()
            case "taken" | "refused":
                answered = self._pending.get(frame["id"])
                if answered is not None:
                    answered.refusal = frame.get("reason")
                    answered.done.set()

    async def _send(self, frame: dict[str, Any]) -> None:
        """Send a frame now if connected, else after the next welcome."""
        if self._socket is not None:
            try:
                await self._socket.send(json.dumps(frame))
            except ConnectionClosed:
                self._socket = None


@asynccontextmanager
async def connect(url: str, token: str) -> AsyncIterator[ParticipantInbox]:
    """Connect as a participant: `ws://<host>:<port>/participants/<name>`, or `wss://`. Waits for nothing."""
    inbox, failure = ParticipantInbox(url, token), None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(inbox.run)
        try:
            yield inbox
        except Exception as error:  # noqa: BLE001 - raised again below, outside the group that would wrap it
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
