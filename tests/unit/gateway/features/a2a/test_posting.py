"""Posting to servers that answer in every way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute

from gateway.features.a2a.push import HttpPost, http_client

pytestmark = pytest.mark.anyio

ENDLESS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n"


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n", False),
        (b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", False),
        (b"what is this", False),
        (b"", False),
        (ENDLESS, True),
    ],
)
async def test_only_an_answer_of_success_is_taking_it(answer: bytes, taken: bool) -> None:
    heard: list[bytes] = []

    async def serve(stream: ByteStream) -> None:
        async with stream:
            heard.append(await stream.receive())
            await stream.send(answer)
            if answer is ENDLESS:
                await stream.receive()  # it says nothing more, and does not end

    listener = (await anyio.create_tcp_listener(local_host="127.0.0.1")).listeners[0]
    port = listener.extra(SocketAttribute.local_port)
    async with listener, http_client() as http, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, _quietly(serve))
        with anyio.fail_after(10):
            post = HttpPost(http, private=True)
            assert await post(f"http://127.0.0.1:{port}/x", {"a": "ä"}, {"authorization": "Bearer b"}) is taken
        tasks.cancel_scope.cancel()
    said = b"".join(heard)
    assert b"authorization: Bearer b" in said
    assert b"content-type: application/a2a+json" in said


def _quietly(serve: Callable[[ByteStream], Awaitable[None]]) -> Callable[[ByteStream], Awaitable[None]]:
    async def served(stream: ByteStream) -> None:
        try:
            await serve(stream)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return

    return served
