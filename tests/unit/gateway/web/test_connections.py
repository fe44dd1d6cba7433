"""A server under connections that ask slowly, ask for nothing, or are too many: over real sockets. The server of the
pages, where its address is somebody else's.
"""

import logging
import resource
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
import pytest
import websockets
from anyio.abc import SocketStream
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from gateway.web import connections
from gateway.web.connections import ConnectionBounds, Connections, raised_descriptors
from gateway.web.server import Rarely, ServerRules, few_records, serve
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError
from runtime.events.service import ConnectionsEnded

SOON = ConnectionBounds(total=100, per_address=100, header_s=0.1, body_s=0.1, bytes_per_s=1e6, stuck_s=0.1)
"""Limits that end at once what is slow."""

FEW = ConnectionBounds(total=8, per_address=4, header_s=60, body_s=60)
"""Few places, whose times nobody waits for."""


@dataclass
class Stand:
    """A server with doors for each kind of request."""

    port: int = 0
    troubles: list[ConnectionsEnded] = field(default_factory=list)
    in_trouble: anyio.Event = field(default_factory=anyio.Event)
    open: anyio.Event = field(default_factory=anyio.Event)
    """Lets answers that wait go on."""

    async def raw(self, stack: AsyncExitStack, sent: bytes) -> SocketStream:
        """A connection that has sent this."""
        stream = await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", self.port))
        await stream.send(sent)
        return stream

    async def ask(self, path: str = "/", **how: Any) -> httpx.Response:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", timeout=60, trust_env=False) as http:
            return await http.get(path, **how)

    async def echo(self, request: Request) -> Response:
        return PlainTextResponse(f"{len(await request.body())} bytes")

    async def late(self, _request: Request) -> Response:
        await self.open.wait()
        return PlainTextResponse("late")

    async def events(self, _request: Request) -> Response:
        async def stream() -> AsyncIterator[str]:
            yield "one\n"
            await self.open.wait()
            yield "two\n"

        return StreamingResponse(stream())

    async def flood(self, _request: Request) -> Response:
        async def stream() -> AsyncIterator[bytes]:
            while True:
                yield b"x" * 65_536
                await (
                    anyio.lowlevel.checkpoint()
                )  # what is sent to an ended connection does not wait, nor hear of its end

        return StreamingResponse(stream())

    async def socket(self, socket: WebSocket) -> None:
        await socket.accept()
        async for text in socket.iter_text():
            await socket.send_text(text)


@asynccontextmanager
async def standing(bounds: ConnectionBounds, proxies: Sequence[str] = ()) -> AsyncIterator[Stand]:
    stand, bus = Stand(), Bus(SystemClock())

    def hear(what: ConnectionsEnded, _: object) -> None:
        stand.troubles.append(what)
        stand.in_trouble.set()

    bus.hear(ConnectionsEnded, hear)
    paths = {"/": stand.echo, "/late": stand.late, "/events": stand.events, "/flood": stand.flood}
    routes = [Route(path, answer, methods=["GET", "POST"]) for path, answer in paths.items()]
    app = Starlette(routes=[*routes, WebSocketRoute("/socket", stand.socket)])
    async with anyio.create_task_group() as tasks:
        stand.port = await tasks.start(serve, app, "127.0.0.1", 0, ServerRules(proxies, bus, bounds))
        yield stand
        tasks.cancel_scope.cancel()


async def until_end(stream: SocketStream) -> bytes:
    """Everything that comes before the other side ends the connection."""
    got = b""
    with anyio.fail_after(60):
        try:
            while True:
                got += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return got


HEAD = b"GET / HTTP/1.1\r\nhost: x\r\n"
BODY = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nbegun"
SLOW = {
    "no header at all": (b"", b"", []),
    "half a header": (HEAD, b"408", ["slow header"]),
    "half a line": (b"GET", b"408", ["slow header"]),
    "half a body": (BODY, b"408", ["slow body"]),
    "no body": (BODY[:-5], b"408", ["slow body"]),
    "half a second header": (HEAD + b"\r\n" + HEAD, b"200 OK", []),
    "half a body in pieces": (
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbe",
        b"408",
        ["slow body"],
    ),
}


@pytest.mark.parametrize(("sent", "answer", "troubles"), SLOW.values(), ids=SLOW)
async def test_a_request_that_does_not_come_to_its_end_is_ended(
    sent: bytes, answer: bytes, troubles: list[str]
) -> None:
    async with standing(SOON) as stand, AsyncExitStack() as stack:
        got = await until_end(await stand.raw(stack, sent))
        assert answer in got
        assert [each.trouble for each in stand.troubles] == troubles
        assert (await stand.ask()).text == "0 bytes"


async def test_the_rest_of_a_header_that_comes_piece_by_piece_gives_it_no_more_time() -> None:
    async with standing(SOON) as stand, AsyncExitStack() as stack:
        stream, pieces = await stand.raw(stack, HEAD), 0
        with anyio.fail_after(60):
            try:
                while True:
                    await stream.send(b"x: y\r\n")
                    pieces += 1
                    with anyio.move_on_after(0.01):
                        if b"408" in await stream.receive():
                            break
            except anyio.BrokenResourceError:
                pass
        assert pieces > 1
        assert [each.trouble for each in stand.troubles] == ["slow header"]


async def test_a_body_has_more_time_the_more_of_it_has_come() -> None:
    bounds = ConnectionBounds(100, 100, body_s=0.1, bytes_per_s=1000.0)
    head = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 200000\r\n\r\n"
    async with standing(bounds) as stand, AsyncExitStack() as stack:
        stream = await stand.raw(stack, head + b"x" * 100_000)
        assert b"408" in await until_end(await stand.raw(stack, head))  # the limit's time has passed
        await stream.send(b"x" * 100_000)
        assert (await until_end(stream)).endswith(b"200000 bytes")


async def test_an_answer_that_takes_long_is_not_ended() -> None:
    async with standing(SOON) as stand, AsyncExitStack() as stack:
        streams = [
            await stand.raw(stack, b"GET /%s HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n" % one)
            for one in (b"late", b"events")
        ]
        socket = await stack.enter_async_context(websockets.connect(f"ws://127.0.0.1:{stand.port}/socket", proxy=None))
        slow = await stand.raw(stack, HEAD)
        await until_end(slow)  # a limit's time has passed
        stand.open.set()
        assert [(await until_end(one)).count(b"late") for one in streams] == [1, 0]
        await socket.send("still here")
        assert await socket.recv() == "still here"


async def test_an_answer_of_which_nothing_is_fetched_is_ended() -> None:
    async with standing(SOON) as stand, AsyncExitStack() as stack:
        await stand.raw(stack, b"GET /flood HTTP/1.1\r\nhost: x\r\n\r\n")
        with anyio.fail_after(60):
            await stand.in_trouble.wait()
        assert [each.trouble for each in stand.troubles] == ["stuck answer"]


async def test_of_too_many_connections_from_an_address_the_oldest_that_ask_for_nothing_give_way() -> None:
    """Many come at once, before any of those that give way is closed."""
    async with standing(FEW) as stand, AsyncExitStack() as stack:
        streams = [await stand.raw(stack, HEAD) for _ in range(50)]
        assert (await stand.ask()).text == "0 bytes"
        ended = [await until_end(one) for one in streams[:47]]
        assert ended == [b""] * 47
        assert {each.trouble for each in stand.troubles} == {"crowded"}
        assert len(stand.troubles) == 1


async def test_nobody_gives_way_in_the_middle_of_an_answer() -> None:
    async with standing(FEW) as stand, AsyncExitStack() as stack:
        long = b"GET /late HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        taken = [await stand.raw(stack, long) for _ in range(4)]
        assert await until_end(await stand.raw(stack, HEAD + b"\r\n")) == b""
        stand.open.set()
        assert [(await until_end(one))[-4:] for one in taken] == [b"late"] * 4
        assert (await stand.ask()).text == "0 bytes"


async def test_a_web_socket_keeps_its_place_until_it_ends() -> None:
    async with standing(FEW) as stand:
        url = f"ws://127.0.0.1:{stand.port}/socket"
        async with AsyncExitStack() as stack:
            sockets = [await stack.enter_async_context(websockets.connect(url, proxy=None)) for _ in range(4)]
            assert await until_end(await stand.raw(stack, HEAD + b"\r\n")) == b""
            await sockets[0].send("hi")
            assert await sockets[0].recv() == "hi"
        with anyio.fail_after(60):
            while True:
                try:
                    assert (await stand.ask()).text == "0 bytes"
                    break
                except httpx.TransportError:
                    await anyio.lowlevel.checkpoint()


async def test_a_trusted_proxy_has_no_bound_of_its_own_and_each_address_behind_it_has() -> None:
    async with standing(FEW, ["127.0.0.1"]) as stand, AsyncExitStack() as stack:
        ada = b"GET /late HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 203.0.113.7\r\n\r\n"
        for _ in range(4):
            await stand.raw(stack, ada)
        of_bob: Mapping[str, str] = {"x-forwarded-for": "203.0.113.8"}
        assert (await stand.ask(headers=of_bob)).text == "0 bytes"
        with anyio.fail_after(60):
            while (refused := await stand.ask(headers={"x-forwarded-for": "203.0.113.7"})).status_code != 503:
                pass
        assert refused.headers["retry-after"] == "5"
        assert (await stand.ask()).status_code == 200


def test_a_connection_of_another_address_gives_way_only_where_all_are_too_many() -> None:
    """Each is asked once, also while it has not ended yet."""
    given: list[str] = []

    class One:
        def __init__(self, name: str) -> None:
            self.name = name

        def give_way(self) -> None:
            given.append(self.name)

    places = Connections(ConnectionBounds(total=3, per_address=2), lambda _: False, lambda *_: None)

    def comes(name: str) -> bool:
        taken = places.enter(name[0])
        if taken:
            places.wait(One(name), name[0])
        return taken

    assert [comes(name) for name in ("a1", "a2", "b1", "a3", "c1")] == [True] * 5
    assert given == ["a1", "a2"]


def test_a_kind_of_line_is_due_once_a_minute_with_how_many_there_were() -> None:
    now = [0.0]
    rarely = Rarely(lambda: now[0])
    assert [rarely.due("a") for _ in range(1_000)] == [1, *[0] * 999]
    assert rarely.due("b") == 1
    now[0] = 60.0
    assert rarely.due("a") == 1_000


def test_remarks_of_the_server_and_its_loop_are_few(caplog: pytest.LogCaptureFixture) -> None:
    with few_records(lambda: 0.0):
        for number in range(100):
            logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
            logging.getLogger("asyncio").error("socket.accept() out of system resource\nsocket: " + str(number))  # noqa: G003
            try:
                raise ValueError(number)
            except ValueError:
                logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    assert len(caplog.records) == 3


def test_a_process_may_have_as_many_descriptors_as_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"now": (1_024, 8_192)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, given: limits.update(now=given))
    assert raised_descriptors() == 8_192
    bounds = ConnectionBounds.of_process()
    assert bounds.total == 8_192 - connections.KEPT_BACK
    assert bounds.per_address == bounds.total // 2


async def test_a_port_that_is_in_use_is_named_once_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError) as failure:
            await serve(Starlette(), "127.0.0.1", port)
    assert str(failure.value) == (
        f"web: cannot listen on 127.0.0.1 port {port}: Address already in use. "
        "Choose another with --port or PARLEY_WEB__PORT"
    )
