"""Requests of platforms to us, served for real: what an adapter gets and what the platform is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import httpx
import pytest

from adapters.adapter import HttpAnswer, HttpRequest
from gateway.web import files as hooks
from gateway.web.files import MAX_BODY_BYTES
from runtime.core.errors import StorageUnavailable
from tests.fakes.pages.web_chat import web_chat

pytestmark = pytest.mark.anyio


class Receiver:
    """An adapter's HTTP side: keeps what it gets, and answers with a challenge."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.requests: list[HttpRequest] = []
        self.failure = failure

    async def receive(self, request: HttpRequest, /) -> HttpAnswer:
        self.requests.append(request)
        if self.failure is not None:
            raise self.failure
        return HttpAnswer(202, b"<b>challenge</b>", {"content-type": "text/plain", "x-again": "no"})


async def test_a_platform_reaches_its_adapter_and_gets_its_answer() -> None:
    receiver = Receiver()
    async with web_chat(receivers={"pigeon": receiver}) as chat, httpx.AsyncClient(trust_env=False, timeout=60) as http:
        answer = await http.post(f"{chat.url}/hooks/pigeon/a/b?n=1", content=b"\x00coo", headers={"X-Signature": "s"})
        await http.get(f"{chat.url}/hooks/pigeon")
    assert (answer.status_code, answer.content) == (202, b"<b>challenge</b>")
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["x-again"] == "no"
    assert answer.headers["x-content-type-options"] == "nosniff"
    first, second = receiver.requests
    assert (first.method, first.path, dict(first.query), first.body) == ("POST", "/a/b", {"n": "1"}, b"\x00coo")
    assert first.headers["x-signature"] == "s"
    assert (second.method, second.path, second.body) == ("GET", "/", b"")


async def test_a_platform_needs_no_origin_but_the_right_host() -> None:
    receiver = Receiver()
    async with web_chat(receivers={"pigeon": receiver}) as chat, httpx.AsyncClient(trust_env=False, timeout=60) as http:
        url = f"{chat.url}/hooks/pigeon/x"
        assert (await http.post(url, headers={"Origin": "https://pigeon.example"})).status_code == 202
        assert (await http.post(url, headers={"Host": "evil.example"})).status_code == 421
    assert len(receiver.requests) == 1


async def test_an_unknown_platform_is_not_found() -> None:
    async with web_chat() as chat, httpx.AsyncClient(trust_env=False, timeout=60) as http:
        assert (await http.post(f"{chat.url}/hooks/pigeon/x")).status_code == 404


async def test_too_long_a_body_is_refused_whether_its_length_is_declared_or_not() -> None:
    receiver = Receiver()

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 65_536 + 1):
            yield b"x" * 65_536

    async with web_chat(receivers={"pigeon": receiver}) as chat, httpx.AsyncClient(trust_env=False, timeout=60) as http:
        url = f"{chat.url}/hooks/pigeon/x"
        assert (await http.post(url, content=b"x" * (MAX_BODY_BYTES + 1))).status_code == 413
        assert (await http.post(url, content=pieces())).status_code == 413
        assert receiver.requests == []
        assert (await http.post(url, content=b"x" * MAX_BODY_BYTES)).status_code == 202


async def test_what_cannot_be_taken_now_is_to_be_sent_again() -> None:
    receiver = Receiver(StorageUnavailable("no server"))
    async with web_chat(receivers={"pigeon": receiver}) as chat, httpx.AsyncClient(trust_env=False, timeout=60) as http:
        assert (await http.post(f"{chat.url}/hooks/pigeon/x")).status_code == 503


def half(path: str, *headers: str) -> bytes:
    """A request whose body never comes to its end."""
    lines = (f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Length: 10", *headers, "", "12345")
    return "\r\n".join(lines).encode()


async def test_a_body_that_does_not_arrive_in_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "BODY_TIMEOUT_S", 0.05)
    receiver = Receiver()
    async with (
        web_chat(receivers={"pigeon": receiver}) as chat,
        await anyio.connect_tcp("127.0.0.1", chat.port) as connection,
    ):
        await connection.send(half("/hooks/pigeon/x"))
        answer = await connection.receive()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert receiver.requests == []


async def test_more_requests_than_can_be_held_are_to_be_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "HOOKS_AT_ONCE", 1)
    arrived, go_on = anyio.Event(), anyio.Event()

    class Slow(Receiver):
        async def receive(self, request: HttpRequest, /) -> HttpAnswer:
            arrived.set()
            await go_on.wait()
            return await super().receive(request)

    statuses: list[int] = []
    async with web_chat(receivers={"pigeon": Slow()}) as chat, httpx.AsyncClient(trust_env=False, timeout=60) as http:

        async def first() -> None:
            statuses.append((await http.post(f"{chat.url}/hooks/pigeon/x")).status_code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await arrived.wait()
            assert (await http.post(f"{chat.url}/hooks/pigeon/x")).status_code == 503
            go_on.set()
        assert (await http.post(f"{chat.url}/hooks/pigeon/x")).status_code == 202
    assert statuses == [202]


@pytest.mark.parametrize(
    "path", ["/hooks/..%2f..%2fetc", "/hooks/x/pigeon/y", "/hooks//pigeon", "/hooks/%00", "/hooks/PIGEON/x"]
)
async def test_a_path_with_tricks_reaches_no_platform(path: str) -> None:
    receiver = Receiver()
    async with web_chat(receivers={"pigeon": receiver}) as chat, httpx.AsyncClient(trust_env=False, timeout=60) as http:
        assert (await http.post(f"{chat.url}{path}")).status_code in (400, 403, 404)
    assert receiver.requests == []
