"""The browser chat of a team, with people who came by links."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import httpx

from gateway.access.people import KnownPeople, Role
from gateway.web.identity import ReservedNames
from gateway.web.logins.team import LoginTeam
from gateway.web.logins.team_logins import TEAM_COOKIE, InvitedLogIn
from runtime.core.clock import SystemClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.pages.web_chat import WebChat, web_chat

ATTEMPT = "5a0c9f0e-7a8f-4a6e-9d1b-0d1a53a6f1c2"


class News:
    """News among the nodes of a test: one told is heard by all who listen."""

    def __init__(self) -> None:
        self._ears: list[Callable[[str], Awaitable[None]]] = []

    async def tell(self, person: str) -> None:
        for ear in self._ears:
            await ear(person)

    async def listen(
        self, on_open: Callable[[], Awaitable[None]], on_news: Callable[[str], Awaitable[None]], /
    ) -> None:
        self._ears.append(on_news)
        await on_open()
        await anyio.sleep_forever()


@dataclass
class TeamChat:
    """A chat of a team, and who decides about people."""

    chat: WebChat
    team: LoginTeam
    people: KnownPeople

    async def follow(self, name: str, role: Role = Role.MEMBER) -> tuple[str, str]:
        """Come in by a new link; the Cookie header and the person's id."""
        link = await self.team.invite(role, "Ada")
        async with client(self.chat) as http:
            answer = await http.post("/join", json={"link": link, "name": name, "attempt": ATTEMPT})
            return f"{TEAM_COOKIE}={http.cookies[TEAM_COOKIE]}", answer.json()["person"]["id"]


@asynccontextmanager
async def team_chat() -> AsyncGenerator[TeamChat]:
    """Serve until the block ends, with nobody in the team."""
    news = News()
    people = KnownPeople(MemoryRecords(), MemoryRecords(), MemoryRecords(), SystemClock(), news.tell)
    team = LoginTeam(MemoryRecords(), people, SystemClock(), ReservedNames(["Guide"]), news=news.tell)
    async with web_chat(log_in=InvitedLogIn(team, SystemClock())) as chat, anyio.create_task_group() as tasks:
        tasks.start_soon(news.listen, chat.pages.check_all, chat.pages.check)
        yield TeamChat(chat, team, people)
        tasks.cancel_scope.cancel()


def client(chat: WebChat, cookie: str | None = None) -> httpx.AsyncClient:
    """A browser that asks over HTTP, logged in by this Cookie header."""
    headers = {} if cookie is None else {"Cookie": cookie}
    return httpx.AsyncClient(base_url=chat.url, headers=headers, trust_env=False, timeout=60)
