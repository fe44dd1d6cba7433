"""The Debug Adapter Protocol on a stream of bytes: framed messages in, framed messages out.

A message is `Content-Length: <bytes>`, an empty line, and JSON
(https://microsoft.github.io/debug-adapter-protocol/overview#base-protocol).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec import Struct, field

from runtime.core.errors import DebugError, DebugProtocolError

MAX_HEAD_BYTES = 512
MAX_BODY_BYTES = 1 << 20
MAX_UNSENT = 10_000
MAX_UNSENT_BYTES = 32 << 20
"""The limits of unread output for an editor, in messages and in bytes. An editor beyond them counts as gone."""

MAX_DEPTH = 60
"""The nesting depth of a message."""

_END = b"\r\n\r\n"


T = TypeVar("T")


class Request(Struct, frozen=True):
    """A request of an editor. `arguments` are unchanged."""

    seq: int
    command: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """An argument that must be a text. Raises DebugError, as the others do."""
        return self._of(name, str, "a text")

    def number(self, name: str) -> int:
        return self._of(name, int, "a whole number")

    def objects(self, name: str) -> list[Mapping[str, Any]]:
        """An argument that must be a list of objects, or is left out."""
        given = self.arguments.get(name) or []
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            raise DebugError(f"{self.command} needs `{name}` to be a list of objects")
        return given

    def _of(self, name: str, kind: type[T], said: str) -> T:
        value = self.arguments.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DebugError(f"{self.command} needs `{name}`, {said}")
        return value


class Wire:
    """One connection. Messages that are sent wait for `write`, which must be running.

    `on_overflow` is called when the editor leaves too many of them unread.
    """

    def __init__(self, stream: ByteStream, *, on_overflow: Callable[[], None]) -> None:
        self._on_overflow = on_overflow
        self._stream = stream
        self._buffer = BufferedByteReceiveStream(stream)
        self._seq = itertools.count(1)
        self._unsent_bytes = 0
        self._send, self._unsent = anyio.create_memory_object_stream[bytes](MAX_UNSENT)

    async def read(self) -> Request | None:
        """The next request; None at the end. Raises DebugProtocolError for anything else."""
        try:
            head = await self._buffer.receive_until(_END, MAX_HEAD_BYTES)
            return _request(await self._buffer.receive_exactly(_length(head)))
        except anyio.DelimiterNotFound as error:
            raise DebugProtocolError(f"a message begins with {MAX_HEAD_BYTES} bytes at most before its text") from error
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return None

    def event(self, name: str, **body: Any) -> None:
        self._put({"type": "event", "event": name, "body": body})

    def answer(self, request: Request, body: Mapping[str, Any] | None = None) -> None:
        self._put({**_response(request), "success": True, "body": dict(body or {})})

    def refuse(self, request: Request, error: str) -> None:
        """Refuse a request, with the reason."""
        shown = {"id": 1, "format": "{error}", "variables": {"error": error}}
        self._put({**_response(request), "success": False, "message": error, "body": {"error": shown}})

    def _put(self, message: Mapping[str, Any]) -> None:
        text = json.dumps({"seq": next(self._seq), **message}, ensure_ascii=False, default=str)
        body = text.encode(errors="replace")
        framed = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        self._unsent_bytes += len(framed)
        if self._unsent_bytes > MAX_UNSENT_BYTES:
            self._on_overflow()
            return
        try:
            self._send.send_nowait(framed)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # it has gone, and that is being noticed
        except anyio.WouldBlock:
            self._on_overflow()

    def finish(self) -> None:
        self._send.close()

    async def write(self) -> None:
        """Send what waits, until nothing more comes or nobody reads."""
        with self._send, self._unsent, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for message in self._unsent:
                await self._stream.send(message)
                self._unsent_bytes -= len(message)


def _response(request: Request) -> dict[str, Any]:
    return {"type": "response", "request_seq": request.seq, "command": request.command}


def _length(head: bytes) -> int:
    """The length of the text. Headers other than the two of DAP are refused: a web page could send them."""
    length = None
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        kind = name.strip().lower()
        if kind == b"content-length" and length is None and value.strip().isdigit():
            length = int(value)
        elif kind != b"content-type":
            raise DebugProtocolError("a message begins with `Content-Length: <bytes>` and an empty line")
    if length is None or length > MAX_BODY_BYTES:
        raise DebugProtocolError(f"a message gives its length in Content-Length, at most {MAX_BODY_BYTES:,} bytes")
    return length


def _request(body: bytes) -> Request:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DebugProtocolError("a message is JSON in UTF-8") from error
    if not isinstance(message, dict) or message.get("type") != "request" or _depth(message) > MAX_DEPTH:
        raise DebugProtocolError("a message of an editor is an object of the type `request`")
    seq, command, arguments = message.get("seq"), message.get("command"), message.get("arguments")
    if type(seq) is not int or not isinstance(command, str) or not isinstance(arguments, dict | None):
        raise DebugProtocolError("a request has a number `seq`, a text `command`, and an object `arguments` or none")
    return Request(seq, command[:100], arguments or {})


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level and deepest <= MAX_DEPTH:
        deepest += 1
        inner = [list(one.values()) if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [each for values in inner for each in values]
    return deepest
