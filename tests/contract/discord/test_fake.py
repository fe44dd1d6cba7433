"""The Discord on loopback does what Discord does, where the adapter depends on it; its client is the library itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import discord
import pytest
from aiohttp import ClientSession, ClientWebSocketResponse
from discord.http import HTTPClient, Route

from adapters.discord.adapter import DiscordOptions
from adapters.discord.api.bot import PERMISSIONS
from tests.fakes.clock import HastyClock
from tests.fakes.discord.limits import DiscordLimits
from tests.fakes.discord.wire import TOKEN, DiscordPlatform, serving
from tests.fakes.discord.world import NONCE_LASTS_S

pytestmark = pytest.mark.anyio

ALL = discord.Intents.default().value | discord.Intents(message_content=True).value


@pytest.fixture
async def http(
    options: DiscordOptions, platform: DiscordPlatform, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[HTTPClient]:
    """discord.py's own client, logged in: only the address is another."""
    monkeypatch.setattr(Route, "BASE", options.base_url)
    async with discord.Client(intents=discord.Intents.none()) as client:
        await client.login(TOKEN)
        yield client.http


@asynccontextmanager
async def _socket(platform: DiscordPlatform) -> AsyncIterator[ClientWebSocketResponse]:
    async with ClientSession() as session, session.ws_connect(platform.gateway.address) as socket:
        hello = await socket.receive_json()
        assert hello["op"] == 10
        yield socket


async def _identify(socket: ClientWebSocketResponse, intents: int = ALL, token: str = TOKEN) -> None:
    await socket.send_json({"op": 2, "d": {"token": token, "intents": intents, "properties": {}}})


async def _next(socket: ClientWebSocketResponse, event: str) -> dict[str, Any]:
    while True:
        frame: dict[str, Any] = await socket.receive_json()
        if frame["t"] == event:
            return frame


async def test_the_librarys_own_client_is_served(http: HTTPClient, platform: DiscordPlatform) -> None:
    params = discord.http.handle_message_parameters("hi")
    message = await http.send_message(int(platform.world.general), params=params)
    await http.edit_message(int(platform.world.general), message["id"], params=params)
    assert [posted.text for posted in platform.world.messages(platform.world.general)] == ["hi"]
    assert "guild_id" not in message


async def test_channel_takes_five_messages_in_five_seconds(http: HTTPClient, platform: DiscordPlatform) -> None:
    limits = DiscordLimits()
    verdicts = [limits.ask("send", "1", None, now_s) for now_s in (0, 1, 2, 3, 4, 4.5, 5)]
    assert [verdict.retry_after_s for verdict in verdicts] == [None, None, None, None, None, 0.5, None]
    assert [verdict.headers["X-RateLimit-Remaining"] for verdict in verdicts] == ["4", "3", "2", "1", "0", "0", "4"]


async def test_webhooks_of_a_channel_take_thirty_messages_a_minute(anyio_backend: str) -> None:
    limits = DiscordLimits()
    verdicts = [limits.ask("hook_send", str(n % 3), "7", n / 2) for n in range(31)]
    assert [verdict.retry_after_s for verdict in verdicts] == [None] * 30 + [45.0]


async def test_bot_makes_fifty_calls_a_second(anyio_backend: str) -> None:
    limits = DiscordLimits()
    verdicts = [limits.ask("send", str(n), None, 0.0) for n in range(51)]
    assert [verdict.whole_bot for verdict in verdicts] == [False] * 50 + [True]


async def test_nonce_is_forgotten_after_some_minutes(anyio_backend: str) -> None:
    clock = HastyClock()
    platform = DiscordPlatform(clock=clock)
    async with serving(platform) as address, ClientSession(headers={"Authorization": f"Bot {TOKEN}"}) as session:

        async def post(**more: Any) -> Any:
            url = f"{address}/api/v10/channels/{platform.world.general}/messages"
            async with session.post(url, json={"content": "hi", "nonce": "n"} | more) as response:
                return (await response.json())["id"]

        first = await post(enforce_nonce=True)
        assert await post(enforce_nonce=True) == first
        assert await post() != first
        await clock.sleep_until(NONCE_LASTS_S + 1)
        assert await post(enforce_nonce=True) != first


async def test_history_after_a_message_begins_with_the_oldest(http: HTTPClient, platform: DiscordPlatform) -> None:
    ids = [platform.world.say(str(n)) for n in range(5)]
    found = await http.logs_from(int(platform.world.general), 2, after=int(ids[0]))
    assert [message["id"] for message in found] == [ids[2], ids[1]]


async def test_without_the_intent_only_what_mentions_the_bot_has_a_text(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    async with _socket(platform) as socket:
        await _identify(socket, discord.Intents.default().value)
        await _next(socket, "GUILD_CREATE")
        platform.world.say("secret")
        platform.world.say(f"<@{platform.world.bot}> open")
        texts = [(await _next(socket, "MESSAGE_CREATE"))["d"]["content"] for _ in range(2)]
    assert texts == ["", f"<@{platform.world.bot}> open"]


@pytest.mark.parametrize(("token", "allowed", "code"), [("wrong", True, 4004), (TOKEN, False, 4014)])
async def test_gateway_closes_with_the_reason(
    options: DiscordOptions, platform: DiscordPlatform, token: str, allowed: bool, code: int
) -> None:
    platform.gateway.allows_message_content = allowed
    async with _socket(platform) as socket:
        await _identify(socket, token=token)
        await socket.receive()
        assert socket.close_code == code


async def test_resumed_session_gets_what_it_has_not_seen(options: DiscordOptions, platform: DiscordPlatform) -> None:
    async with _socket(platform) as socket:
        await _identify(socket)
        ready = await _next(socket, "READY")
        last = await _next(socket, "GUILD_CREATE")
    platform.world.say("meanwhile")
    async with _socket(platform) as socket:
        await socket.send_json(
            {"op": 6, "d": {"session_id": ready["d"]["session_id"], "seq": last["s"], "token": TOKEN}}
        )
        frames = [await socket.receive_json() for _ in range(2)]
    assert [(frame["t"], frame["s"]) for frame in frames] == [("MESSAGE_CREATE", 3), ("RESUMED", 4)]


async def test_unknown_session_must_begin_anew(options: DiscordOptions, platform: DiscordPlatform) -> None:
    async with _socket(platform) as socket:
        await socket.send_json({"op": 6, "d": {"session_id": "unknown", "seq": 1, "token": TOKEN}})
        assert (await socket.receive_json())["op"] == 9


async def test_permissions_that_are_asked_for_are_those_the_library_knows(anyio_backend: str) -> None:
    known = discord.Permissions(
        view_channel=True,
        send_messages=True,
        read_message_history=True,
        manage_webhooks=True,
        send_messages_in_threads=True,
        create_public_threads=True,
        add_reactions=True,
        attach_files=True,
    )
    assert sum(permission.bit for permission in PERMISSIONS) == known.value
