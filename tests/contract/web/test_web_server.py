"""The chat's HTTP side, served for real: who comes in, what is answered, how it stops."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import anyio
import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from adapters.web.codec import WebVisitor
from gateway.web.server import listen, serve
from runtime.core.errors import ConfigError
from tests.fakes.pages.page_socket import ADA, page_socket
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = pytest.mark.anyio


def client(chat: WebChat) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=chat.url, trust_env=False, timeout=60)


async def test_the_page_and_its_files_come_with_strict_headers() -> None:
    async with web_chat() as chat, client(chat) as http:
        for path in ("/", "/assets/chat.js", "/assets/chat.css", "/assets/vendor/purify.min.js", "/nothing"):
            answer = await http.get(path)
            assert answer.status_code == (404 if path == "/nothing" else 200)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
        assert (await http.get("/assets/chat.js")).headers["cache-control"] == "no-cache"
        assert (await http.get("/assets/../app.py")).status_code == 404
        assert (await http.get("/assets/%2e%2e/app.py")).status_code == 404


async def test_ready_gives_its_reasons_and_alive_is_always_alive() -> None:
    async with web_chat() as chat, client(chat) as http:
        assert (await http.get("/readyz")).json() == {"status": "ready", "reasons": []}
        chat.reasons.append("valkey does not answer")
        answer = await http.get("/readyz")
        assert (answer.status_code, answer.json()["reasons"]) == (503, ["valkey does not answer"])
        assert (await http.get("/healthz")).status_code == 200


async def test_a_name_makes_a_person_who_stays_the_same_under_another_name() -> None:
    async with web_chat() as chat, client(chat) as http:
        assert (await http.get("/session")).json() == {"person": None, "need_password": False}
        answer = await http.post("/login", json={"name": "  Ada\u202e \n Lovelace "})
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        person = answer.json()["person"]
        assert person["name"] == "Ada Lovelace"
        assert person["id"].startswith("web:")
        renamed = (await http.post("/login", json={"name": "Countess"})).json()["person"]
        assert renamed == {"id": person["id"], "name": "Countess"}
        assert (await http.get("/session")).json()["person"] == renamed


@pytest.mark.parametrize(
    ("body", "status"),
    [(b'{"name": "   "}', 422), (b'{"name": 1}', 422), (b"[]", 400), (b"nonsense", 400), (b'"' + b"x" * 5000, 400)],
)
async def test_a_login_that_cannot_be_read_is_refused(body: bytes, status: int) -> None:
    async with web_chat() as chat, client(chat) as http:
        answer = await http.post("/login", content=body)
        assert answer.status_code == status
        assert answer.json()["error"]


async def test_a_password_is_asked_once_and_guessing_is_slowed() -> None:
    async with web_chat(password="sesame") as chat, client(chat) as http:
        assert (await http.get("/session")).json()["need_password"]
        for _ in range(9):
            assert (await http.post("/login", json={"name": "Eve", "password": "open"})).status_code == 403
        assert (await http.post("/login", json={"name": "Ada", "password": "sesame"})).status_code == 200
        assert (await http.post("/login", json={"name": "Countess"})).status_code == 200
        http.cookies.clear()
        answers = [(await http.post("/login", json={"name": "Eve", "password": "open"})).status_code for _ in range(20)]
        assert 429 in answers
        assert set(answers) <= {403, 429}


async def test_a_cookie_from_before_a_password_is_void() -> None:
    async with web_chat() as open_chat, web_chat(password="sesame") as chat, client(chat) as http:
        old = open_chat.cookie(ADA)
        assert (await http.get("/session", headers={"Cookie": old})).json()["person"] is None
        new = chat.cookie(ADA)
        assert (await http.get("/session", headers={"Cookie": new})).json()["person"]["id"] == ADA.id


async def test_a_stranger_is_asked_who_they_are() -> None:
    async with web_chat() as chat, web_chat(password="other") as other:
        chat.identities = other.identities
        async with page_socket(chat, WebVisitor("web:eve", "Eve")) as page:
            assert (await page.farewell())[0] == 4401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8420", "127.0.0.1.evil.example", "", "[::1"])
async def test_a_foreign_name_for_this_machine_is_refused(host: str) -> None:
    async with web_chat() as chat, client(chat) as http:
        assert (await http.get("/", headers={"Host": host})).status_code in (400, 421)
        assert (await http.get("/healthz", headers={"Host": "10.0.0.7"})).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:8420"])
async def test_this_machine_may_be_called_by_its_loopback_names(host: str) -> None:
    async with web_chat() as chat, client(chat) as http:
        assert (await http.get("/", headers={"Host": host})).status_code == 200


async def test_a_foreign_page_cannot_log_people_in() -> None:
    async with web_chat() as chat, client(chat) as http:
        foreign = await http.post("/login", json={"name": "Eve"}, headers={"Origin": "http://evil.example"})
        assert foreign.status_code == 403
        own = await http.post("/login", json={"name": "Ada"}, headers={"Origin": chat.url})
        assert own.status_code == 200


def test_small_answers_do_not_wait_for_the_acknowledgement_of_those_before() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_a_taken_port_is_named_with_what_to_do() -> None:
    async with web_chat() as chat:
        with pytest.raises(ConfigError, match=rf"port {chat.port}.*PARLEY_WEB__PORT"):
            await serve(Starlette(), "127.0.0.1", chat.port)


async def test_stopping_tells_pages_to_come_back_and_frees_the_port() -> None:
    with anyio.fail_after(60):
        async with AsyncExitStack() as page_side:
            async with web_chat() as chat:
                page = await page_side.enter_async_context(page_socket(chat))
                await page.join()
            assert (await page.farewell())[0] == 1012
        async with web_chat(port=chat.port) as again:
            assert again.port == chat.port


async def test_an_answer_that_is_still_streamed_at_the_end_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def endless() -> AsyncIterator[str]:
        yield "first"
        await anyio.sleep_forever()

    async def stream(_: Request) -> StreamingResponse:
        return StreamingResponse(endless())

    async with anyio.create_task_group() as tasks:
        app = Starlette(routes=[Route("/", stream)])
        port = await tasks.start(serve, app, "127.0.0.1", 0)
        http = httpx.AsyncClient(trust_env=False)
        async with http, http.stream("GET", f"http://127.0.0.1:{port}/") as answer:
            texts = answer.aiter_text()
            assert await anext(texts) == "first"
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True), pytest.raises(httpx.TransportError):
                await anext(texts)
    await anyio.wait_all_tasks_blocked()
    assert [record.getMessage() for record in caplog.records] == []
