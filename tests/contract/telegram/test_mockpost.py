"""The adapter against a Bot API server that others wrote: mockpost, in webhook mode.

Collected only where PARLEY_MOCKPOST names its executable (see CONTRIBUTING): it is none of our dependencies.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from msgspec.structs import replace

from adapters.adapter import HttpAnswer, HttpRequest
from adapters.telegram.inbound.intake import SECRET_HEADER, TelegramWebhook
from adapters.telegram.options import TelegramOptions
from tests.contract.telegram.speaking import HOST, ask, new_adapter
from tests.contract.telegram.test_webhook import Relay, web_with

EXECUTABLE = os.environ["PARLEY_MOCKPOST"]
TOKEN = "123456789:AAFakeTokenForMockpost_0123456789abc"

pytestmark = pytest.mark.anyio


class SecretRelay(Relay):
    """Adds the secret, which mockpost neither keeps nor sends."""

    secret = ""

    async def receive(self, request: HttpRequest, /) -> HttpAnswer:
        return await super().receive(replace(request, headers={**request.headers, SECRET_HEADER: self.secret}))


@asynccontextmanager
async def mockpost(directory: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A running mockpost with one app."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {
        "PATH": "/usr/bin:/bin",
        "MOCKPOST_HTTP_PORT": str(port),
        "MOCKPOST_DB_PATH": str(directory / "m.db"),
    }
    environment |= {"MOCKPOST_HOST": "127.0.0.1", "HOME": str(directory)}
    process = await anyio.open_process(
        [EXECUTABLE], cwd=directory, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:
            app = {"name": "bot", "creds": {"telegram_token": TOKEN}}
            with anyio.fail_after(60):
                while not await _registered(http, app):  # noqa: ASYNC110 - another program, which does not say when it is up
                    await anyio.sleep(0.2)
            yield http
    finally:
        process.kill()
        with anyio.CancelScope(shield=True):
            await process.wait()


async def _registered(http: httpx.AsyncClient, app: dict[str, Any]) -> bool:
    try:
        return (await http.post("/api/apps", json=app)).is_success
    except httpx.TransportError:
        return False


async def test_a_message_comes_by_the_webhook_and_the_answer_grows(tmp_path: Path) -> None:
    relay = SecretRelay()
    async with mockpost(tmp_path) as http, web_with(relay) as address:
        hook = f"{address}/hooks/telegram"
        options = TelegramOptions(base_url=f"{http.base_url}/telegram/bot".replace("//telegram", "/telegram"))
        relay.secret = TelegramWebhook.of(hook, TOKEN, None).secret
        async with aclosing(new_adapter(replace(options, webhook_url=hook), token=TOKEN)) as adapter:
            relay.adapter = adapter
            async with adapter.connect() as inbound, anyio.create_task_group() as tasks:
                said = {"chat_id": 42, "text": "hello", "from_user": "al"}
                tasks.start_soon(_inject, http, said)
                with anyio.fail_after(30):
                    heard = await anext(inbound)
                assert (heard.text, heard.private) == ("hello", True)
                tasks.start_soon(ask, inbound)
                message = await adapter.send(heard.address, "gro", speaker=HOST, nonce="n", final=False)
                await adapter.edit(heard.address, message, "growing **text**", speaker=HOST, nonce="n", final=True)
                await adapter.typing(heard.address, HOST)
                await adapter.delete(heard.address, message, speaker=HOST)
                tasks.cancel_scope.cancel()


async def _inject(http: httpx.AsyncClient, said: dict[str, Any]) -> None:
    answer = await http.post("/telegram/client/sendMessage", json=said, headers={"X-MockPost-App": "bot"})
    assert answer.is_success, answer.text
