"""An editor as the debug server meets it: it speaks the Debug Adapter Protocol, and takes nothing that breaks it.

The protocol: https://microsoft.github.io/debug-adapter-protocol/specification
"""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

LIMIT_S = 30.0
"""How long an answer or an event that must come is waited for."""

_EVENTS: Mapping[str, Mapping[str, type]] = {
    "initialized": {},
    "stopped": {"reason": str, "threadId": int},
    "continued": {"threadId": int},
    "thread": {"reason": str, "threadId": int},
    "output": {"output": str},
    "terminated": {},
}
"""The fields that each event must have."""

_BODIES: Mapping[str, Mapping[str, type]] = {
    "setBreakpoints": {"breakpoints": list},
    "setFunctionBreakpoints": {"breakpoints": list},
    "breakpointLocations": {"breakpoints": list},
    "threads": {"threads": list},
    "stackTrace": {"stackFrames": list},
    "scopes": {"scopes": list},
    "variables": {"variables": list},
    "evaluate": {"result": str, "variablesReference": int},
    "setVariable": {"value": str},
    "source": {"content": str},
    "loadedSources": {"sources": list},
    "exceptionInfo": {"exceptionId": str, "breakMode": str},
}
_ITEMS: Mapping[str, Mapping[str, type]] = {
    "breakpoints": {},
    "threads": {"id": int, "name": str},
    "stackFrames": {"id": int, "name": str, "line": int, "column": int},
    "scopes": {"name": str, "variablesReference": int, "expensive": bool},
    "variables": {"name": str, "value": str, "variablesReference": int},
    "sources": {},
}

_REASONS = frozenset(
    {"step", "breakpoint", "exception", "pause", "entry", "goto", "function breakpoint", "data breakpoint"}
)


class Refused(Exception):
    """The server refused a request."""


class DapClient:
    """One connection. Events that came while an answer was waited for are kept for `until`."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._buffer = BufferedByteReceiveStream(stream)
        self._seq = itertools.count(1)
        self._last_seq = 0
        self.events: list[dict[str, Any]] = []
        """Those that nobody has waited for yet."""

    # -- the protocol

    async def _message(self) -> dict[str, Any]:
        head = (await self._buffer.receive_until(b"\r\n\r\n", 1000)).decode("ascii")
        name, _, length = head.partition(": ")
        assert name == "Content-Length", head
        message: dict[str, Any] = json.loads(await self._buffer.receive_exactly(int(length)))
        assert message["seq"] == self._last_seq + 1, "messages are numbered in order"
        self._last_seq = message["seq"]
        assert message["type"] in ("response", "event"), message
        if message["type"] == "event":
            _check(message.get("body", {}), _EVENTS[message["event"]])
            assert message["event"] != "stopped" or message["body"]["reason"] in _REASONS
        return message

    async def request(self, command: str, /, **arguments: Any) -> dict[str, Any]:
        """Ask for something; the body of the answer. Raises Refused."""
        seq = next(self._seq)
        await self.send({"seq": seq, "type": "request", "command": command, "arguments": arguments})
        with anyio.fail_after(LIMIT_S):
            while (message := await self._message())["type"] == "event":
                self.events.append(message)
        assert (message["request_seq"], message["command"]) == (seq, command), "each request is answered, in order"
        if not message["success"]:
            assert isinstance(message["message"], str)
            assert message["message"]
            raise Refused(message["message"])
        body: dict[str, Any] = message.get("body", {})
        _check(body, _BODIES.get(command, {}))
        return body

    async def send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps(message).encode()
        await self._stream.send(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        await self._stream.send(data)

    async def hang_up(self) -> None:
        """Go without a word."""
        await self._stream.aclose()

    async def rest(self) -> bytes:
        """What comes until the server hangs up."""
        data = b""
        with anyio.fail_after(LIMIT_S):
            try:
                while True:
                    data += await self._buffer.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return data

    async def until(self, event: str, holds: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """The body of the next event of this name for which it holds; those before it are kept."""
        kept = self.events
        self.events = []
        with anyio.fail_after(LIMIT_S):
            while True:
                message = kept.pop(0) if kept else await self._message()
                assert message["type"] == "event", f"an answer that nobody asked for: {message}"
                if message["event"] == event and holds(message.get("body", {})):
                    self.events += kept
                    return dict(message.get("body", {}))
                self.events.append(message)

    # -- what an editor does

    async def begin(self, lines: Mapping[Path, Sequence[int]] | None = None, **attach: Any) -> list[dict[str, Any]]:
        """Attach, with breakpoints; what became of those."""
        abilities = await self.request("initialize", adapterID="parley", linesStartAt1=True, pathFormat="path")
        assert abilities["supportsConfigurationDoneRequest"] is True
        await self.until("initialized")
        await self.request("attach", **attach)
        found = [one for path, wanted in (lines or {}).items() for one in await self.break_at(path, *wanted)]
        await self.request("setExceptionBreakpoints", filters=[])
        await self.request("configurationDone")
        return found

    async def break_at(self, path: Path, *lines: int, **more: Any) -> list[dict[str, Any]]:
        """Set the breakpoints of a file."""
        wanted = [{"line": line, **more} for line in lines]
        body = await self.request("setBreakpoints", source={"path": str(path)}, breakpoints=wanted)
        assert len(body["breakpoints"]) == len(lines)
        return list(body["breakpoints"])

    async def stopped(self) -> dict[str, Any]:
        """The next stop that draws the editor's attention."""
        return await self.until("stopped", lambda body: not body.get("preserveFocusHint"))

    async def stack(self, thread: int) -> list[dict[str, Any]]:
        """The frames of a thread."""
        return list((await self.request("stackTrace", threadId=thread))["stackFrames"])

    async def scopes(self, frame: int) -> dict[str, dict[str, str]]:
        """Scopes by name, with their variables' values as they are shown."""
        found = {}
        for scope in (await self.request("scopes", frameId=frame))["scopes"]:
            body = await self.request("variables", variablesReference=scope["variablesReference"])
            found[scope["name"]] = {one["name"]: one["value"] for one in body["variables"]}
        return found

    async def where(self, thread: int) -> list[tuple[str, int]]:
        """Names and lines of the frames of a thread."""
        return [(frame["name"], frame["line"]) for frame in await self.stack(thread)]


def _check(body: Mapping[str, Any], fields: Mapping[str, type]) -> None:
    for name, kind in fields.items():
        assert type(body.get(name)) is kind, f"{name} must be {kind.__name__}: {body}"
        for item in body[name] if kind is list else ():
            _check(item, _ITEMS[name])


@asynccontextmanager
async def debugging(port: int) -> AsyncIterator[DapClient]:
    """An editor connected to a debug server of this machine."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        yield DapClient(stream)
