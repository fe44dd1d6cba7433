"""The browser chat with a push service on this machine."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import httpx

from adapters.web.codec import WebVisitor
from gateway.features.pushes.door import Pusher
from gateway.features.pushes.subscriptions import Subscriptions
from runtime.core.clock import SystemClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.pages.page_socket import GRACE
from tests.fakes.pages.push_service import PushedBrowser, PushService, push_service
from tests.fakes.pages.web_chat import WebChat, web_chat


@dataclass
class Stand:
    """A chat whose people can be notified."""

    chat: WebChat
    service: PushService
    subscriptions: Subscriptions
    out: set[str] = field(default_factory=set)
    """People who are not logged in any more."""

    def client(self, person: WebVisitor = GRACE) -> httpx.AsyncClient:
        """A browser of a person that asks over HTTP."""
        headers = {"Cookie": self.chat.cookie(person)}
        return httpx.AsyncClient(base_url=self.chat.url, headers=headers, trust_env=False, timeout=60)

    async def subscribe(self, name: str, browser: PushedBrowser, person: WebVisitor = GRACE) -> int:
        """Notify a person on a browser too, whose address at the service has this name; the answer's status."""
        form = {"endpoint": self.service.endpoint(name), "p256dh": browser.p256dh, "auth": browser.auth}
        async with self.client(person) as http:
            return (await http.post("/push/subscribe", json=form)).status_code

    async def choose(self, choice: str, room: str = "lobby") -> None:
        """Have Grace choose what a room tells of."""
        async with self.client() as http:
            assert (await http.post("/push/choose", json={"room": room, "choice": choice})).status_code == 204


@asynccontextmanager
async def pushing() -> AsyncGenerator[Stand]:
    """Serve until the block ends."""
    async with push_service() as service:
        subscriptions = Subscriptions(MemoryRecords(), SystemClock(), lambda endpoint: endpoint.startswith(service.url))
        async with web_chat(agents=["Guide"], pushes=subscriptions) as chat, anyio.create_task_group() as tasks:
            stand = Stand(chat, service, subscriptions)

            async def logged_in(person: str, _: str) -> bool:
                return person not in stand.out

            pusher = Pusher(subscriptions, chat.adapter.board, logged_in, SystemClock(), "https://chat.example.org")
            chat.adapter.board.on_said = pusher.said
            tasks.start_soon(pusher.run)
            yield stand
            tasks.cancel_scope.cancel()
