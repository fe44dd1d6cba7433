"""The desk of participants in other processes, served on a free port, over stores in memory."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskGroup
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_socket
from websockets.exceptions import ConnectionClosed

from adapters.web.adapter import WebAdapter
from gateway.features.participants.door import SeatDesk, SeatOffice
from gateway.web.app import build_web
from gateway.web.server import serve
from runtime.bus import Bus
from runtime.channels.mailbox import ParticipantSeat, SeatLetter, SeatMailboxes
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.ids import AgentId, MessageId, SessionId
from runtime.events.happening import BusEvent
from runtime.sessions.inbound.participants import SeatAct
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import InboxEvent, shard_of
from tests.fakes.memory.mailboxes import MemoryMailboxes
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.pages.room_store import RoomStoreThatFails
from tests.fakes.pages.web_chat import named_alone

TOKEN = "a-token-of-the-scout-in-tests"
SEAT = ParticipantSeat(SessionId("s1"), AgentId("1001"), Address("web", "room"))


@dataclass
class Reception:
    """A gateway's desk, its stores, and what is said of it on the bus. `stop` and `start` are its process's."""

    mailboxes: SeatMailboxes = field(default_factory=MemoryMailboxes)
    inbox: MemoryInbox = field(default_factory=lambda: MemoryInbox(MemoryLeaseStore(SystemClock())))
    events: list[BusEvent] = field(default_factory=list)
    port: int = 0
    message_chars: int = 1_000

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/participants/scout"

    async def put(self, *texts: str, **more: Any) -> None:
        """Letters for the scout, named after their texts."""
        for text in texts:
            sender = {"id": "1000", "class": "Lead", "human": False}
            content = {"id": text, "kind": "direct", "from": sender, "text": text, **more}
            await self.mailboxes.put("scout", SeatLetter(SEAT, MessageId(text), content))

    async def came(self) -> list[InboxEvent]:
        """What sessions have got so far, without acknowledgements."""
        return [event for event in await self._all() if SeatAct.read(event.text).does != "fetched"]

    async def acts(self) -> list[SeatAct]:
        return [SeatAct.read(event.text) for event in await self.came()]

    async def fetched(self) -> list[str]:
        """The messages that sessions know to be acknowledged."""
        acts = [SeatAct.read(event.text) for event in await self._all()]
        return [message for act in acts if act.does == "fetched" for message in act.messages]

    async def _all(self) -> list[InboxEvent]:
        entries = await self.inbox.read({shard_of(SEAT.address.key): "0"}, wait_s=0)
        return [entry.event for entry in entries]

    async def serve(self, tasks: TaskGroup) -> None:
        """Serve in the group until `stop`, at the same port again and again."""
        self._scope, self._gone = anyio.CancelScope(), anyio.Event()
        self.port = await tasks.start(self._serve)

    async def stop(self) -> None:
        """The gateway's process goes."""
        self._scope.cancel()
        await self._gone.wait()

    async def _serve(self, *, task_status: Any) -> None:
        clock = SystemClock()
        bus = Bus(clock)
        bus.subscribe("participant.*", self.events.append)
        desk = SeatDesk({"scout": TOKEN}, SeatOffice(self.mailboxes, self.inbox, clock, bus, self.message_chars))
        adapter = WebAdapter(memory_tables(RoomStoreThatFails()), clock)
        app = build_web(adapter, named_alone(), [desk.route])
        with self._scope:
            await serve(app, "127.0.0.1", self.port, task_status=task_status)
        self._gone.set()


@asynccontextmanager
async def reception(**more: Any) -> AsyncGenerator[Reception]:
    """Serve until the block ends."""
    made = Reception(**more)
    async with anyio.create_task_group() as tasks:
        await made.serve(tasks)
        yield made
        tasks.cancel_scope.cancel()


class Wire:
    """A participant that speaks the protocol by hand."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, kind: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": kind, **fields}))

    async def next(self, kind: str | None = None) -> dict[str, Any]:
        """The next frame, which has to be of this kind."""
        frame: dict[str, Any] = json.loads(await self.socket.recv())
        assert kind in (None, frame["type"]), frame
        return frame

    async def texts(self, count: int) -> list[str]:
        return [(await self.next("message"))["text"] for _ in range(count)]

    async def farewell(self) -> tuple[str, int]:
        """Read on until the gateway closes: what it said last, and its code."""
        reason = ""
        try:
            while True:
                frame = json.loads(await self.socket.recv())
                reason = frame["reason"] if frame["type"] == "bye" else reason
        except ConnectionClosed:
            return reason, self.socket.close_code or 0


@asynccontextmanager
async def wire(made: Reception, *, token: str = TOKEN, after: str | None = None) -> AsyncGenerator[Wire]:
    """A connection on which hello was said and answered."""
    headers = {"Authorization": f"Bearer {token}"}
    async with open_socket(made.url, additional_headers=headers, proxy=None, max_queue=None) as socket:
        opened = Wire(socket)
        await opened.send("hello", version=1, after=after)
        await opened.next("welcome")
        yield opened
