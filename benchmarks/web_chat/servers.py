"""Servers of a web chat, each a process of its own: `python -m benchmarks.web_chat.servers bare|alone`.

`bare` is the floor: the same web server, which hands each message to the pages of its room and answers it, and keeps
nothing. `alone` is our web chat with rooms in memory, behind which somebody answers each message at once.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import defaultdict

import anyio
from anyio.abc import TaskGroup
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from adapters.web.adapter import WebAdapter
from gateway.web.app import build_web
from gateway.web.identity import ReservedNames, WebIdentities
from gateway.web.logins.door import PasswordLogIn
from gateway.web.server import serve
from runtime.core.address import Speaker
from runtime.core.clock import SystemClock
from runtime.execution.frames.loop import FrameLoop
from tests.fakes.memory.rooms import memory_tables

SECRET = "of the benchmark"
ANSWER = "You said: "
_GUIDE = Speaker("1000", "Guide")


class _Bare:
    def __init__(self) -> None:
        self._rooms: dict[str, set[WebSocket]] = defaultdict(set)

    async def chat(self, socket: WebSocket) -> None:
        await socket.accept()
        room = ""
        try:
            while True:
                frame = json.loads(await socket.receive_text())
                if frame["t"] == "open":
                    await socket.send_text(json.dumps({"t": "opened", "room": frame["name"]}))
                elif frame["t"] == "join":
                    room = frame["room"]
                    self._rooms[room].add(socket)
                    await socket.send_text(json.dumps({"t": "joined", "room": room}))
                else:
                    await self._show(room, "person", frame["text"])
                    await self._show(room, "agent", ANSWER + frame["text"])
        except WebSocketDisconnect:
            self._rooms[room].discard(socket)

    async def _show(self, room: str, kind: str, text: str) -> None:
        frame = json.dumps({"t": "message", "message": {"kind": kind, "text": text}})
        for socket in list(self._rooms[room]):
            await socket.send_text(frame)


async def _bare() -> None:
    async with anyio.create_task_group() as tasks:
        await _serve(Starlette(routes=[WebSocketRoute("/ws", _Bare().chat)]), tasks)


async def _alone() -> None:
    clock = SystemClock()
    adapter = WebAdapter(memory_tables(), clock)
    app = build_web(adapter, PasswordLogIn(WebIdentities(SECRET, None, clock), ReservedNames(), clock))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(adapter.tell_pages)
        await _serve(app, tasks)
        async with adapter.connect() as events:
            async for event in events:
                nonce = f"{event.event_id}.answer"
                await adapter.send(event.address, ANSWER + event.text, speaker=_GUIDE, nonce=nonce, final=True)


async def _serve(app: Starlette, tasks: TaskGroup) -> None:
    """Serve on any port, and print which."""
    print(await tasks.start(serve, app, "127.0.0.1", 0), flush=True)


def main() -> None:
    """Serve until the process is killed."""
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        runner.run({"bare": _bare, "alone": _alone}[sys.argv[1]]())


if __name__ == "__main__":
    main()
