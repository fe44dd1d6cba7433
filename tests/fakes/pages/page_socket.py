"""A page without a screen: speaks the chat's protocol over a real WebSocket."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from adapters.web.codec import WebVisitor
from tests.fakes.pages.web_chat import WebChat

ADA = WebVisitor("web:ada", "Ada")
GRACE = WebVisitor("web:grace", "Grace")

Frame = dict[str, Any]


class PageSocket:
    """Sends frames, and reads those that come one after the other."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, kind: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"t": kind, **fields}))

    async def say(
        self, text: str, *, room: str = "lobby", thread: str | None = None, message_id: str = "", **more: Any
    ) -> str:
        """Say something and return the message's id."""
        message_id = message_id or str(uuid4())
        await self.send("say", id=message_id, room=room, thread=thread, text=text, **more)
        return message_id

    async def next(self) -> Frame:
        frame: Frame = json.loads(await self.socket.recv())
        return frame

    async def until(self, kind: str, **fields: Any) -> Frame:
        """The next frame of this kind with these fields; what comes before it is passed over."""
        while True:
            frame = await self.next()
            if frame["t"] == kind and all(frame.get(key) == value for key, value in fields.items()):
                return frame

    async def everything_so_far(self) -> list[Frame]:
        """All frames that the gateway sent before it answered a ping."""
        await self.send("ping")
        frames = []
        while (frame := await self.next())["t"] != "pong":
            frames.append(frame)
        return frames

    async def farewell(self) -> tuple[int, str]:
        """Read on until the gateway closes; its code and reason, (0, "") when it went without a word."""
        try:
            while True:
                await self.socket.recv()
        except ConnectionClosed as closed:
            return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (0, "")

    async def join(self, room: str = "lobby", version: int | None = None) -> Frame:
        await self.send("join", room=room, version=version)
        return await self.until("joined", room=room)


@asynccontextmanager
async def page_socket(
    chat: WebChat,
    person: WebVisitor = ADA,
    *,
    language: str | None = None,
    headers: Mapping[str, str] | None = None,
    **options: Any,
) -> AsyncGenerator[PageSocket]:
    """A page in which this person has logged in, or one whose browser sends these headers."""
    url = chat.url.replace("http:", "ws:") + "/ws"
    headers = dict(headers or {"Cookie": chat.cookie(person)}) | ({"Accept-Language": language} if language else {})
    async with connect(
        url, origin=options.pop("origin", chat.url), additional_headers=headers, proxy=None, open_timeout=60, **options
    ) as socket:
        yield PageSocket(socket)
