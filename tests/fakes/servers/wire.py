"""What passes between an HTTP client and a server, kept as it was on the way."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol


class Stream(Protocol):
    """A body that is read piece by piece."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


@dataclass
class Exchange:
    """A request and as much of its answer as was read."""

    method: str
    path: str
    asked: bytes
    status: int
    media_type: str
    pieces: list[bytes] = field(default_factory=list)

    @property
    def answers(self) -> list[Any]:
        """The JSON documents of the answer: one, or those of a stream of server-sent events. Half a one is none."""
        text = b"".join(self.pieces).decode()
        if self.media_type != "text/event-stream":
            return [json.loads(text)] if text else []
        events = text.replace("\r\n", "\n").split("\n\n")[:-1]
        lines = ([line[5:].strip() for line in event.split("\n") if line.startswith("data:")] for event in events)
        return [json.loads("\n".join(data)) for data in lines if any(data)]


class Tee:
    """A body that is kept while it is read."""

    def __init__(self, stream: Stream, pieces: list[bytes]) -> None:
        self._stream = stream
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._pieces.append(piece)
            yield piece

    async def aclose(self) -> None:
        """Close the connection's body."""
        await self._stream.aclose()
