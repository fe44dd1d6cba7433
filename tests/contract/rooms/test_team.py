"""A team's log-in over HTTP, and the end of a log-in while a page is open."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest

from gateway.access.people import KnownPeople, Role
from gateway.assembly.stores import access_news, people_in
from gateway.web.identity import ReservedNames, likeness
from gateway.web.logins.team import TEAM_TABLE, LoginTeam
from gateway.web.logins.team_logins import InvitedLogIn, ProxiedLogIn
from runtime.core.address import Address, Speaker
from runtime.core.clock import SystemClock
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.records import RedisRecords
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.pages.page_socket import page_socket
from tests.fakes.pages.team_chat import ATTEMPT, TeamChat, client, team_chat
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = pytest.mark.anyio

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")


async def test_a_link_leads_in_once_and_the_cookie_is_for_the_server_alone() -> None:
    async with team_chat() as stand, client(stand.chat) as http:
        asked = (await http.get("/session")).json()
        assert asked == {"person": None, "need_password": False, "login": "invite", "may_invite": False}
        assert (await http.post("/login", json={"name": "Dan"})).status_code == 401
        link = await stand.team.invite(Role.OWNER, "Ada")
        assert (await http.post("/invitation", json={"link": link})).json() == {"role": "owner", "by": "Ada"}
        form = {"link": link, "name": "Dan", "attempt": ATTEMPT}
        cookie = (await http.post("/join", json=form, headers={"Origin": stand.chat.url})).headers["set-cookie"]
        assert {"httponly", "samesite=lax", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
        assert "secure" not in cookie.lower()
        session = (await http.get("/session")).json()
        assert (session["person"]["name"], session["may_invite"]) == ("Dan", True)
        http.cookies.clear()
        thief = await http.post("/join", json={**form, "attempt": ATTEMPT[::-1]})
        assert (thief.status_code, thief.json()["error"]) == (
            403,
            "This link has been used already. Ask for a new one.",
        )
        assert "set-cookie" not in thief.headers


async def test_only_owners_make_links_for_others_and_everybody_for_themselves() -> None:
    async with team_chat() as stand:
        member, person = await stand.follow("Dan")
        owner, _ = await stand.follow("Ada", Role.OWNER)
        async with client(stand.chat, member) as http:
            assert (await http.post("/invite", json={"role": "guest"})).status_code == 403
            link = (await http.post("/device", json={})).json()["link"]
        async with client(stand.chat) as http:
            assert (await http.post("/device", json={})).status_code == 401
            offered = (await http.post("/invitation", json={"link": link})).json()
            assert offered["person"] == {"id": person, "name": "Dan"}
            joined = await http.post("/join", json={"link": link, "attempt": ATTEMPT})
            assert joined.json()["person"] == {"id": person, "name": "Dan"}
        async with client(stand.chat, owner) as http:
            assert "link" in (await http.post("/invite", json={"role": "guest", "hours": "1"})).json()
            for wrong in ({"role": "blocked"}, {"role": "king"}, {"hours": "0"}, {"hours": "-1"}, {"hours": "9999"}):
                assert (await http.post("/invite", json=wrong)).status_code == 400


async def test_guessing_links_is_slowed() -> None:
    async with team_chat() as stand, client(stand.chat) as http:
        statuses = [(await http.post("/invitation", json={"link": f"guess {n}"})).status_code for n in range(15)]
        assert statuses == [403] * 10 + [429] * 5
        link = await stand.team.invite(Role.MEMBER, "Ada")
        assert (await http.post("/join", json={"link": link, "name": "Dan", "attempt": ATTEMPT})).status_code == 429


async def test_who_is_blocked_mid_stream_is_out_at_once_with_every_page_and_file() -> None:
    async with team_chat() as stand:
        dan, person = await stand.follow("Dan")
        ada, _ = await stand.follow("Ada", Role.OWNER)
        hers, his = {"Cookie": ada}, {"Cookie": dan}
        async with page_socket(stand.chat, headers=hers) as stays, page_socket(stand.chat, headers=his) as goes:
            await stays.join()
            await goes.join()
            await stand.chat.adapter.send(LOBBY, "The secret is", speaker=GUIDE, nonce="n1", final=False)
            await goes.until("message")
            with anyio.fail_after(1):
                await stand.people.set(person, Role.BLOCKED)
                assert await goes.farewell() == (4401, "logged out")
            await stand.chat.adapter.edit(LOBBY, "n1", "The secret is 42", speaker=GUIDE, nonce="n1", final=True)
            await stays.until("grow")
            async with client(stand.chat, dan) as http:
                assert (await http.get("/session")).json()["person"] is None
                assert (await http.post("/files", content=b"x")).status_code == 401
                assert (await http.get(f"/files/{'a' * 64}")).status_code == 401
            async with page_socket(stand.chat, headers=his) as again:
                assert (await again.farewell())[0] == 4401


async def test_logging_out_closes_the_other_pages_of_the_same_device() -> None:
    async with team_chat() as stand:
        dan, _ = await stand.follow("Dan")
        async with page_socket(stand.chat, headers={"Cookie": dan}) as page, client(stand.chat, dan) as http:
            await page.join()
            left = await http.post("/logout")
            assert (left.status_code, left.headers["clear-site-data"]) == (204, '"cache"')
            with anyio.fail_after(5):
                assert (await page.farewell())[0] == 4401


async def test_logging_out_everywhere_closes_the_pages_of_all_devices() -> None:
    async with team_chat() as stand:
        dan, _ = await stand.follow("Dan")
        async with page_socket(stand.chat, headers={"Cookie": dan}) as page, client(stand.chat, dan) as http:
            await page.join()
            assert (await http.post("/logout?everywhere")).status_code == 204
            assert (await page.farewell())[0] == 4401


@asynccontextmanager
async def proxied_chat(*proxies: str) -> AsyncGenerator[tuple[WebChat, KnownPeople]]:
    people = KnownPeople(MemoryRecords(), MemoryRecords(), MemoryRecords(), SystemClock())
    log_in = ProxiedLogIn("X-Forwarded-User", MemoryRecords(), people, ReservedNames(["Guide"]))
    async with web_chat(log_in=log_in, trusted_proxies=proxies) as chat:
        yield chat, people


async def named(chat: WebChat, *headers: tuple[str, str]) -> object:
    async with client(chat) as http:
        return (await http.get("/session", headers=list(headers))).json()["person"]


async def test_a_proxy_that_is_trusted_names_the_person_also_behind_another_address() -> None:
    async with proxied_chat("127.0.0.1") as (chat, people):
        ada = await named(chat, ("X-Forwarded-User", "ada@example.org"), ("X-Forwarded-For", "203.0.113.9"))
        assert isinstance(ada, dict)
        assert ada["name"] == "ada"
        other = await named(chat, ("X-Forwarded-User", "Ada@elsewhere.example"))
        assert isinstance(other, dict)
        assert (other["name"], other["id"] != ada["id"]) == ("Ada@elsewhere.example", True)
        agent = await named(chat, ("X-Forwarded-User", "guide@example.org"))
        assert isinstance(agent, dict)
        assert agent["name"] == "guide@example.org"
        async with page_socket(chat, headers={"X-Forwarded-User": "ada@example.org"}) as page:
            assert (await page.next())["you"] == ada
        await people.set(ada["id"], Role.BLOCKED)
        assert await named(chat, ("X-Forwarded-User", "ada@example.org")) is None


@pytest.mark.parametrize("who", ["Guide", "gu1de", "Parley"])
async def test_nobody_whom_a_proxy_names_has_the_name_of_an_agent(who: str) -> None:
    async with proxied_chat("127.0.0.1") as (chat, _):
        person = await named(chat, ("X-Forwarded-User", who))
        assert isinstance(person, dict)
        assert person["name"] not in ReservedNames(["Guide"])


async def test_two_whom_a_proxy_names_alike_have_different_names() -> None:
    async with proxied_chat("127.0.0.1") as (chat, _):
        long = "somebody.with.a.very.long.name.of.more.than.forty.characters"
        people = [await named(chat, ("X-Forwarded-User", who)) for who in ("ada", "ADA", f"{long}1", f"{long}2")]
        assert len({likeness(person["name"]) for person in people if isinstance(person, dict)}) == 4


@pytest.mark.parametrize("proxies", [[], ["10.0.0.0/8"], ["127.0.0.2", "::1"]])
async def test_a_header_from_a_stranger_names_nobody(proxies: list[str]) -> None:
    async with proxied_chat(*proxies) as (chat, _):
        headers = [("X-Forwarded-User", "ada@example.org"), ("X-Forwarded-For", "10.0.0.1"), ("X-Real-IP", "10.0.0.1")]
        assert await named(chat, *headers) is None


async def test_two_headers_or_an_empty_one_name_nobody() -> None:
    async with proxied_chat("127.0.0.1") as (chat, _):
        assert await named(chat, ("X-Forwarded-User", "ada"), ("X-Forwarded-User", "owner")) is None
        assert await named(chat, ("X-Forwarded-User", "")) is None
        assert await named(chat) is None


async def test_a_block_by_another_process_closes_the_pages_of_every_node(valkey_socket: Path) -> None:
    async with AsyncExitStack() as stack:
        nodes = []
        for _ in range(2):
            connection = await stack.enter_async_context(open_connection(valkey_socket))
            people = people_in(connection, SystemClock())
            team = LoginTeam(RedisRecords(connection, TEAM_TABLE), people, SystemClock())
            chat = await stack.enter_async_context(web_chat(log_in=InvitedLogIn(team, SystemClock())))
            connection.start_soon(partial(access_news(connection, "").listen, chat.pages.check_all, chat.pages.check))
            nodes.append(TeamChat(chat, team, people))
        cookie, person = await nodes[0].follow("Dan")
        pages = [await stack.enter_async_context(page_socket(node.chat, headers={"Cookie": cookie})) for node in nodes]
        for page in pages:
            await page.join()
        elsewhere = await stack.enter_async_context(open_connection(valkey_socket, patience_s=20))
        await people_in(elsewhere, SystemClock()).set(person, Role.BLOCKED)
        with anyio.fail_after(5):
            assert [await page.farewell() for page in pages] == [(4401, "logged out")] * 2
