"""Two ends of a connection in one process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from gateway.isolation.peer import Handler, Peer


class MemoryLink:
    """One end. Who reads slowly makes the other end wait."""

    def __init__(self, incoming: MemoryObjectReceiveStream[str], outgoing: MemoryObjectSendStream[str]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing

    async def receive(self) -> str | None:
        try:
            return await self._incoming.receive()
        except anyio.EndOfStream:
            return None

    async def send(self, frame: str, /) -> None:
        try:
            await self._outgoing.send(frame)
        except anyio.BrokenResourceError:
            return

    def close(self) -> None:
        """Go away."""
        self._outgoing.close()
        self._incoming.close()


def linked() -> tuple[MemoryLink, MemoryLink]:
    """Both ends of a new connection."""
    one_way, other_way = anyio.create_memory_object_stream[str](8), anyio.create_memory_object_stream[str](8)
    return MemoryLink(other_way[1], one_way[0]), MemoryLink(one_way[1], other_way[0])


@asynccontextmanager
async def connected(answers: Mapping[str, Handler]) -> AsyncIterator[Peer]:
    """An end whose calls the other end answers."""
    near, far = linked()
    peer, other = Peer(near, {}), Peer(far, answers)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(peer.run)
        tasks.start_soon(other.run)
        yield peer
        tasks.cancel_scope.cancel()
    near.close()
    far.close()
