"""Push notifications of A2A reach a real server that refuses them at first, over a kill of the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from a2a.types import SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig
from a2a.utils.constants import TransportProtocol
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.web.server import serve
from tests.e2e.gateway_process import gateway
from tests.e2e.services.test_a2a import PARCELS, again, connected, message, settings
from tests.fakes.protocols.a2a_schema import validate
from tests.fakes.servers.ports import free_port

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


class Receiver:
    """A server that takes notifications, but for the next `refuses`. `refused` and `taken` are in the order in which
    they came."""

    def __init__(self) -> None:
        self.refuses = 0
        self.refused: list[str] = []
        self.taken: list[str] = []
        self._came = anyio.Event()

    async def hear(self, request: Request) -> Response:
        body = await request.json()
        validate("StreamResponse", body)
        assert request.headers["content-type"] == "application/a2a+json"
        assert request.headers["x-a2a-notification-token"] == "mine"
        takes = self.refuses == 0
        self.refuses = max(0, self.refuses - 1)
        (self.taken if takes else self.refused).append(words(body))
        came, self._came = self._came, anyio.Event()
        came.set()
        return Response(status_code=204 if takes else 503)

    async def until(self, refused: int = 0, taken: str = "") -> None:
        """Return when so many were refused, and this was taken."""
        while len(self.refused) < refused or (taken and taken not in self.taken):
            await self._came.wait()

    @asynccontextmanager
    async def listening(self, port: int) -> AsyncIterator[None]:
        app = Starlette(routes=[Route("/parcels", self.hear, methods=["POST"])])
        async with anyio.create_task_group() as tasks:
            await tasks.start(serve, app, "127.0.0.1", port)
            yield
            tasks.cancel_scope.cancel()


def words(body: Any) -> str:
    """A notification in short: what was said, or the state."""
    if "artifactUpdate" in body:
        return "result"
    status = body["statusUpdate"]["status"]
    texts = [part["text"] for part in status.get("message", {}).get("parts", []) if "text" in part]
    return " ".join(texts) or str(status["state"]).removeprefix("TASK_STATE_").lower()


async def test_a_server_that_refuses_hears_everything_in_order_also_after_a_kill(tmp_path: Path) -> None:
    port, hook, came = free_port(), free_port(), set[str]()
    receiver = Receiver()
    url = f"http://127.0.0.1:{hook}/parcels"
    pushes = {"PARLEY_A2A__PUSH_HOSTS": f"127.0.0.1:{hook}", "PARLEY_A2A__PUSH_PRIVATE": "true"}
    config = SendMessageConfiguration(
        return_immediately=True, task_push_notification_config=TaskPushNotificationConfig(url=url, token="mine")
    )
    async with (
        receiver.listening(hook),
        gateway(tmp_path, PARCELS, settings(tmp_path, port, **pushes)) as running,
    ):
        receiver.refuses = 2
        async with connected(port, TransportProtocol.JSONRPC, came, streaming=False) as client:
            request = SendMessageRequest(message=message("1", "Choose", what="it"), configuration=config)
            (ordered,) = [one.task.id async for one in client.send_message(request)]
        with anyio.fail_after(60):
            await receiver.until(refused=2, taken="Where does it go?")
        receiver.refuses = 10**6
        async with connected(port, TransportProtocol.JSONRPC, came, streaming=False) as client:
            answer = SendMessageRequest(message=message("2", text="right", task=ordered))
            assert [one.task.id async for one in client.send_message(answer)] == [ordered]
        with anyio.fail_after(60):
            await receiver.until(refused=3)
        await again(running)
        receiver.refuses = 0
        with anyio.fail_after(120):
            await receiver.until(taken="completed")
    told = [each for number, each in enumerate(receiver.taken) if each not in receiver.taken[:number]]
    assert [each for each in told if each != "working"] == [
        "I have it.",
        "Where does it go?",
        "I go right.",
        "result",
        "completed",
    ]
    assert "SendMessageResponse" in came
