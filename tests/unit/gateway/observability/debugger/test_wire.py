"""What the debug server makes of connections that are no editor's."""

import json
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.observability.debugger.server import MAX_CONNECTIONS, DebugAddress, SessionDebugger
from gateway.observability.debugger.wire import MAX_BODY_BYTES, MAX_HEAD_BYTES, MAX_UNSENT, MAX_UNSENT_BYTES, Wire
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError
from runtime.execution.frames.loop import FrameLoop
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.protocols.dap_client import DapClient, Refused, debugging
from tests.unit.gateway.observability.debugger.stand import ASKS, debugged, guide_in, guided


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


HOSTILE = (
    b"POST / HTTP/1.1\r\nHost: localhost:7529\r\nContent-Length: 2\r\n\r\n{}",
    b"Content-Length: 2\r\nOrigin: https://example.org\r\n\r\n{}",
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"Content-Length: -1\r\n\r\n",
    b"Content-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1),
    b"x" * (MAX_HEAD_BYTES + 1),
    b"\r\n\r\n",
    framed(b""),
    framed(b"[]"),
    framed(b"\xff\xfe"),
    framed(b"{"),
    framed(b"[" * 100_000),
    framed(b'{"type": "request", "seq": "1", "command": "threads"}'),
    framed(b'{"type": "response", "seq": 1}'),
    framed(json.dumps({"type": "request", "seq": 1, "command": "x", "arguments": [1]}).encode()),
)


async def test_what_is_not_the_protocol_is_told_so_and_hung_up_on(tmp_path: Path) -> None:
    async with guided(tmp_path, ASKS) as at:
        await at.editor.begin({at.file: [1]})
        for hostile in HOSTILE:
            async with debugging(at.debugger.port) as stranger:
                await stranger.raw(hostile)
                said = await stranger.rest()
                assert b"Not the Debug Adapter Protocol: " in said, hostile
        at.talk.post("hi")
        thread = (await at.editor.stopped())["threadId"]
        await at.editor.request("continue", threadId=thread)
        await at.idle()
        assert at.talk.chat == ["Who are you?"]


async def test_requests_are_refused_with_a_reason_and_do_no_harm(tmp_path: Path) -> None:
    _, program = await guide_in(tmp_path)
    async with debugged(program) as at:
        with pytest.raises(Refused, match="begins with `initialize`"):
            await at.editor.request("threads")
        with pytest.raises(Refused, match="counted from 1"):
            await at.editor.request("initialize", adapterID="x", linesStartAt1=False)
        await at.editor.begin()
        many: list[dict[str, Any]] = [{"line": 1}] * 2000
        for command, arguments, why in (
            ("initialize", {}, "already initialized"),
            ("restartFrame", {"frameId": 1}, "knows no such request"),
            ("stackTrace", {}, "needs `threadId`, a whole number"),
            ("stackTrace", {"threadId": True}, "needs `threadId`, a whole number"),
            ("scopes", {"frameId": 7}, "is running again"),
            ("setBreakpoints", {"source": {}}, "needs `source`"),
            ("setBreakpoints", {"source": {"path": "a.pb"}, "breakpoints": [1]}, "a list of objects"),
            ("setBreakpoints", {"source": {"path": "a.pb"}, "breakpoints": many}, "at most 1,000"),
            ("setBreakpoints", {"source": {"path": "\ud800.pb"}}, "setBreakpoints failed: UnicodeEncodeError"),
            ("source", {"sourceReference": 9}, "no such source"),
            ("evaluate", {"expression": "(" * 5000}, "not an expression"),
            ("evaluate", {"expression": "x" * 20_000}, "at most 10,000 characters"),
            ("setExceptionBreakpoints", {"filters": "failed"}, "a list of texts"),
            ("exceptionInfo", {"threadId": 1}, "thread 1 no longer exists"),
        ):
            with pytest.raises(Refused, match=why):
                await at.editor.request(command, **arguments)
        assert (await at.editor.request("threads"))["threads"] == []


async def test_an_editor_that_reads_nothing_is_given_up() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            for unread, times in (("x", MAX_UNSENT), ("x" * 1_000_000, MAX_UNSENT_BYTES // 1_000_000)):
                given_up: list[bool] = []
                wire = Wire(stream, on_overflow=partial(given_up.append, True))
                for _ in range(times):
                    assert given_up == []
                    wire.event("output", output=unread)
                wire.event("output", output=unread)
                assert given_up == [True]
                wire.finish()
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    await wire.write()


async def test_only_so_many_may_be_connected_at_once(tmp_path: Path) -> None:
    _, program = await guide_in(tmp_path)
    async with debugged(program) as at:
        await at.editor.begin()
        async with AsyncExitStack() as silent:
            for _ in range(MAX_CONNECTIONS - 1):
                await silent.enter_async_context(debugging(at.debugger.port))
            async with debugging(at.debugger.port) as one_more:
                assert await one_more.rest() == b""
            assert (await at.editor.request("threads"))["threads"] == []


REQUESTS = st.builds(
    lambda command, arguments: {"type": "request", "seq": 1, "command": command, "arguments": arguments},
    st.sampled_from(
        [
            "initialize",
            "attach",
            "setBreakpoints",
            "stackTrace",
            "scopes",
            "variables",
            "continue",
            "next",
            "source",
            "evaluate",
            "pause",
            "threads",
            "setFunctionBreakpoints",
            "breakpointLocations",
            "configurationDone",
        ]
    ),
    st.dictionaries(
        st.sampled_from(["threadId", "frameId", "source", "breakpoints", "line", "expression", "sourceReference"]),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=5) | st.booleans(),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["path", "line"]), inner),
            max_leaves=4,
        ),
        max_size=4,
    ),
)
PIECES = st.lists(st.binary(max_size=80) | REQUESTS.map(lambda one: framed(json.dumps(one).encode())), max_size=6)


@settings(max_examples=40)
@given(pieces=PIECES)
def test_whatever_comes_the_server_serves_the_next_editor(pieces: list[bytes]) -> None:
    async def served() -> None:
        program = Program("empty", (), "", "1")
        debugger = SessionDebugger(
            DebugAddress("127.0.0.1", 0), {"empty": program}, MontySandbox(max_workers=1), Bus(SystemClock())
        )
        async with anyio.create_task_group() as tasks:
            port = await tasks.start(debugger.serve)
            stream = await anyio.connect_tcp("127.0.0.1", port)
            async with stream:
                for piece in pieces:
                    await stream.send(piece)
                await stream.send_eof()
                await DapClient(stream).rest()
            async with debugging(port) as editor:
                await editor.begin()
                assert (await editor.request("threads"))["threads"] == []
            tasks.cancel_scope.cancel()

    anyio.run(served, backend_options={"loop_factory": FrameLoop})


def test_only_addresses_of_this_machine_are_listened_at() -> None:
    assert DebugAddress.read("127.0.0.1:7529") == DebugAddress("127.0.0.1", 7529)
    assert DebugAddress.read("localhost:0", waits=True) == DebugAddress("127.0.0.1", 0, True)
    assert DebugAddress.read("7000") == DebugAddress("127.0.0.1", 7000)
    assert DebugAddress.read("[::1]:7529") == DebugAddress("::1", 7529)
    for outside in ("0.0.0.0:7529", "192.168.1.2:7529", "example.org:7529", "[::]:7529"):
        with pytest.raises(ConfigError, match="this machine alone"):
            DebugAddress.read(outside)
    for wrong in ("", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999"):
        with pytest.raises(ConfigError, match="write HOST:PORT"):
            DebugAddress.read(wrong)


async def test_a_port_that_is_taken_is_a_clear_error(sandbox: MontySandbox) -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as taken:
        port = taken.extra(anyio.abc.SocketAttribute.local_port)
        debugger = SessionDebugger(DebugAddress("127.0.0.1", port), {}, sandbox, Bus(SystemClock()))
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1 port {port}.*--debug-address"):
            await debugger.serve()
