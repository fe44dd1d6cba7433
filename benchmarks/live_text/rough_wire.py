"""A platform in a process of its own, behind a wire with latency, spikes and answers that are lost.

The servers are those of the tests, with their limits on; a proxy before them delays every call, half of it before the
platform sees the call and half after, and turns some answers into 502 though the call was applied. After each call it
notes what people see, by the machine's monotonic clock, which all processes share.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from multiprocessing.connection import Connection

import aiohttp
import anyio
from aiohttp import web
from msgspec import Struct, field

from benchmarks.live_text.measures import Seen
from runtime.core.address import Address
from tests.contract.discord.speaking import private as discord_private
from tests.contract.slack.speaking import thread as slack_thread
from tests.fakes.discord import wire as discord_wire
from tests.fakes.discord.limits import DiscordLimits
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.slack import server as slack_server
from tests.fakes.slack.people import CHANNEL
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.telegram import server as telegram_server
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import GROUP, PERSON, TelegramPlatform

_DROPPED = frozenset({"content-length", "transfer-encoding", "connection", "content-encoding", "date", "server"})


GREETING = "hello"
"""A message that does not count."""


class Wire(Struct, frozen=True):
    """What happens between us and the platform. `lost_answers` and `spikes` are shares of calls."""

    latency_s: tuple[float, float] = (0.06, 0.06)
    lost_answers: float = 0.0
    spikes: float = 0.0
    spike_s: tuple[float, float] = (2.0, 6.0)
    seed: int = 0


class Heard(Struct):
    """What the platform has to say at the end."""

    seen: list[Seen] = field(default_factory=list)
    calls: int = 0
    floods: int = 0
    lost: int = 0


class Stand(Struct, frozen=True):
    """A platform that can be served: where we speak, and what people see there."""

    serving: Callable[[], AbstractAsyncContextManager[str]]
    address: Address
    visible: Callable[[], Sequence[str]]


def telegram(chat: int) -> Stand:
    platform = TelegramPlatform(limits=FloodLimits())
    return Stand(
        lambda: telegram_server.serving(platform),
        Address("telegram", str(chat)),
        lambda: [message.text for message in platform.messages(chat)],
    )


def slack() -> Stand:
    platform = SlackPlatform(limited=True)
    to = slack_thread(platform.mention("go on"))
    return Stand(
        lambda: slack_server.serving(platform),
        to,
        lambda: [message.shown for message in platform.messages(CHANNEL)],
    )


def discord() -> Stand:
    platform = DiscordPlatform(limits=DiscordLimits())
    channel = platform.world.private()
    return Stand(
        lambda: discord_wire.serving(platform),
        discord_private(platform),
        lambda: [message.text for message in platform.world.messages(channel)],
    )


STANDS: dict[str, Callable[[], Stand]] = {
    "Telegram private": lambda: telegram(PERSON),
    "Telegram group": lambda: telegram(GROUP),
    "Slack thread": slack,
    "Discord private": discord,
}


def serve(name: str, wire: Wire, pipe: Connection) -> None:
    """The child process: says where it is, serves until it is told to stop, then says what it heard."""
    anyio.run(_serve, name, wire, pipe)


async def _serve(name: str, wire: Wire, pipe: Connection) -> None:
    stand = STANDS[name]()
    heard = Heard()
    async with stand.serving() as behind, _proxy(behind, stand, wire, heard) as before:
        pipe.send((before, stand.address))
        await anyio.to_thread.run_sync(pipe.recv)
    pipe.send(heard)


@asynccontextmanager
async def _proxy(behind: str, stand: Stand, wire: Wire, heard: Heard) -> AsyncIterator[str]:
    source = random.Random(wire.seed)
    async with aiohttp.ClientSession(auto_decompress=False) as session:

        async def pass_on(request: web.Request) -> web.Response:
            spiked, lost = source.random() < wire.spikes, source.random() < wire.lost_answers
            half_s = source.uniform(*(wire.spike_s if spiked else wire.latency_s)) / 2
            body = await request.read()
            await anyio.sleep(half_s)
            headers = {key: value for key, value in request.headers.items() if key.lower() not in _DROPPED}
            async with session.request(request.method, behind + request.raw_path, data=body, headers=headers) as answer:
                data = await answer.read()
            heard.calls += 1
            heard.floods += answer.status == 429
            heard.seen.append(Seen(time.monotonic(), tuple(text for text in stand.visible() if text != GREETING)))
            await anyio.sleep(half_s)
            if lost and answer.status < 300:
                heard.lost += 1
                return web.Response(status=502, text="<html>502 Bad Gateway</html>")
            kept = {key: value for key, value in answer.headers.items() if key.lower() not in _DROPPED}
            return web.Response(status=answer.status, body=data, headers=kept)

        application = web.Application(client_max_size=2**24)
        application.router.add_route("*", "/{path:.*}", pass_on)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            host, port = runner.addresses[0][:2]
            yield f"http://{host}:{port}"
        finally:
            await runner.cleanup()
