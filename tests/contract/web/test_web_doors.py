"""Who gets through the web chat's door, served for real: proxies, many addresses, names, and what cannot be read."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import httpx
import pytest

from gateway.web.logins.door import ALL_LOGINS, LOGINS
from tests.fakes.clock import FakeClock
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = pytest.mark.anyio

LOOPBACK = ["127.0.0.1", "::1"]
DEEP = b'{"name": ' + b"[" * 2_000 + b"]" * 2_000 + b"}"


def client(chat: WebChat) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=chat.url, trust_env=False, timeout=60)


async def tried(chat: WebChat, password: str = "open", headers: Mapping[str, str] | None = None) -> int:
    """The status of an attempt to log in by a browser without a cookie."""
    async with client(chat) as http:
        answer = await http.post("/login", json={"name": "Eve", "password": password}, headers=headers)
    return answer.status_code


@pytest.mark.parametrize("origin", ["http://[::1", "http://[", "//", "null", "http://evil.example"])
async def test_an_origin_that_cannot_be_read_is_a_foreign_one(origin: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        async with web_chat() as chat:
            assert await tried(chat, headers={"Origin": origin}) == 403
    assert caplog.records == []


@pytest.mark.parametrize("body", [DEEP, b'{"name": "Eve", "password": "\\ud800"}'], ids=["deep", "half a character"])
async def test_odd_data_at_the_login_is_refused_without_a_trace_back(
    body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        async with web_chat(password="sesame") as chat, client(chat) as http:
            assert (await http.post("/login", content=body)).status_code in (400, 403)
    assert caplog.records == []


async def test_who_is_no_trusted_proxy_cannot_say_who_asks() -> None:
    async with web_chat(password="sesame", clock=FakeClock()) as chat:
        statuses = [await tried(chat, headers={"X-Forwarded-For": f"10.0.0.{n}"}) for n in range(int(LOGINS.burst) + 3)]
    assert 429 in statuses


async def test_people_behind_a_trusted_proxy_are_told_apart_by_their_addresses() -> None:
    async with web_chat(password="sesame", trusted_proxies=LOOPBACK, clock=FakeClock()) as chat:
        eve = [await tried(chat, headers={"X-Forwarded-For": "10.0.0.1"}) for _ in range(int(LOGINS.burst) + 3)]
        assert 429 in eve
        assert await tried(chat, "sesame", headers={"X-Forwarded-For": "10.0.0.2"}) == 200


async def test_addresses_of_one_host_in_ipv6_are_one() -> None:
    async with web_chat(password="sesame", trusted_proxies=LOOPBACK, clock=FakeClock()) as chat:
        many = [f"2001:db8::{n:x}" for n in range(int(LOGINS.burst) + 3)]
        assert 429 in [await tried(chat, headers={"X-Forwarded-For": one}) for one in many]


async def test_guessing_from_many_addresses_is_slowed_for_all_of_them_together() -> None:
    async with web_chat(password="sesame", trusted_proxies=LOOPBACK, clock=FakeClock()) as chat:
        many = [f"10.0.{n // 200}.{n % 200}" for n in range(int(ALL_LOGINS.burst) + 60)]
        statuses = [await tried(chat, headers={"X-Forwarded-For": one}) for one in many]
    assert 429 in statuses
    assert set(statuses) == {403, 429}


@pytest.mark.parametrize(
    ("headers", "trusted"),
    [({"X-Forwarded-Proto": "https"}, LOOPBACK), ({"Origin": "https://HOST"}, [])],
    ids=["as a trusted proxy says", "as the page's origin says"],
)
async def test_cookies_are_secure_behind_tls(headers: Mapping[str, str], trusted: list[str]) -> None:
    async with web_chat(trusted_proxies=trusted) as chat, client(chat) as http:
        sent = {name: value.replace("HOST", f"127.0.0.1:{chat.port}") for name, value in headers.items()}
        answer = await http.post("/login", json={"name": "Ada"}, headers=sent)
        assert "; secure" in answer.headers["set-cookie"].lower()
        plain = await http.post("/login", json={"name": "Ada"}, headers={"X-Forwarded-Proto": "http"})
        assert "; secure" not in plain.headers["set-cookie"].lower()


async def test_nobody_takes_the_name_of_an_agent_or_one_that_looks_like_it() -> None:
    async with web_chat(agents=["Host"]) as chat, client(chat) as http:
        for name in ("Host", "h0st", "\u041dost", "Parley"):
            answer = await http.post("/login", json={"name": name})
            assert answer.status_code == 422
            assert "is the name of an agent here, or looks like one. Choose another." in answer.json()["error"]
        assert (await http.post("/login", json={"name": "Ada"})).status_code == 200
        assert (await http.post("/login", json={"name": "Host"})).status_code == 422


async def test_the_page_is_told_what_its_person_may_not_do() -> None:
    async with web_chat(barred={"Guest": ["undo", "stop"]}) as chat, client(chat) as http:
        assert "barred" not in (await http.get("/session")).json()
        for name, barred in (("Guest", ["undo", "stop"]), ("Ada", [])):
            await http.post("/login", json={"name": name})
            assert (await http.get("/session")).json()["barred"] == barred


async def test_where_there_is_no_console_its_address_says_how_to_have_one() -> None:
    async with web_chat() as chat, client(chat) as http:
        answer = await http.get("/console")
        assert answer.status_code == 404
        assert "Set PARLEY_CONSOLE__PASSWORD" in answer.text
