"""Whether the gateway says that it is ready, and frames that are sent at once over real WebSockets."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect

from gateway.service import GatewayService, ServedPlatform
from gateway.socket_protocol import sender_at_once
from gateway.web.server import serve
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.errors import AuthFailed
from runtime.llm.client import LLMClient
from runtime.llm.models import NoModelClient
from tests.fakes.crashes.world import TurboClock


class Warming:
    """A model that is got ready when the test says so."""

    model = "openai/test"

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.warm = anyio.Event()

    async def warm_up(self) -> None:
        self.asked.set()
        await self.warm.wait()


def service() -> GatewayService:
    unused = cast("Any", None)
    return GatewayService(unused, unused, {}, Bus(SystemClock()), SystemClock())


async def test_it_is_not_ready_before_its_model_is() -> None:
    made, model = service(), Warming()
    before = list(made.not_ready())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.warm_up, cast("LLMClient", model))
        await model.asked.wait()
        assert list(made.not_ready()) == ["the process that asks openai/test is being started", *before]
        model.warm.set()
    assert list(made.not_ready()) == before


async def test_without_a_model_there_is_nothing_to_wait_for() -> None:
    made = service()
    before = list(made.not_ready())
    await made.warm_up(NoModelClient("set one"))
    assert list(made.not_ready()) == before


class Ear:
    """A router that is to fail some times, and then listens."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.listens = anyio.Event()

    async def run(self) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.listens.set()
        await anyio.sleep_forever()


async def test_a_fault_of_one_platform_ends_neither_it_nor_the_others() -> None:
    ears = {"one": Ear(ValueError("badly stored"), KeyError("badly stored")), "two": Ear()}
    off = {"three": Ear(AuthFailed("the token is refused"))}
    clock, unused = TurboClock(), cast("Any", None)
    platforms = {
        name: ServedPlatform(unused, unused, cast("Any", ear), exclusive=False) for name, ear in (ears | off).items()
    }
    told: list[str] = []
    bus = Bus(clock)
    bus.subscribe("adapter.broke", lambda event: told.append(event.data["platform"]))
    made = GatewayService(cast("Any", Member()), unused, platforms, bus, clock)
    async with anyio.create_task_group() as tasks:
        await made.start(tasks, None)
        for ear in ears.values():
            await ear.listens.wait()
        assert list(made.not_ready())[1].startswith("three is off")
        tasks.cancel_scope.cancel()
    assert told == ["one", "one"]


class Member:
    async def run(self, _tasks: TaskGroup) -> None:
        """Nothing is served."""


LIMIT_S = 30.0


@dataclass
class Door:
    """An application that accepts one WebSocket and keeps it open until the other side goes."""

    accepted: anyio.Event = field(default_factory=anyio.Event)
    gone: anyio.Event = field(default_factory=anyio.Event)
    socket: WebSocket | None = None

    async def open(self, socket: WebSocket) -> None:
        await socket.accept()
        self.socket = socket
        self.accepted.set()
        while (await socket.receive())["type"] != "websocket.disconnect":
            pass
        self.gone.set()

    @property
    def send_at_once(self) -> Callable[[str], bool]:
        assert self.socket is not None
        return sender_at_once(self.socket.scope)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Door, ClientConnection]]:
    door = Door()
    async with anyio.create_task_group() as tasks:
        app = Starlette(routes=[WebSocketRoute("/", door.open)])
        port = await tasks.start(serve, app, "127.0.0.1", 0)
        with anyio.fail_after(LIMIT_S):
            async with connect(f"ws://127.0.0.1:{port}/", max_queue=1, close_timeout=0.1, proxy=None) as client:
                await door.accepted.wait()
                yield door, client
        tasks.cancel_scope.cancel()


async def test_a_frame_is_on_its_way_when_the_call_returns() -> None:
    async with connected() as (door, client):
        assert door.send_at_once("Grüße 🎉")
        assert await client.recv() == "Grüße 🎉"


async def test_a_full_connection_takes_nothing_and_loses_nothing_that_it_took() -> None:
    async with connected() as (door, client):
        taken = 0
        while door.send_at_once(f"{taken} " + "x" * 100_000):
            taken += 1
        assert door.socket is not None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(door.socket.send_text, f"{taken} the last")
            seen = [str(await client.recv()).split()[0] for _ in range(taken + 1)]
        assert seen == [str(number) for number in range(taken + 1)]
        assert door.send_at_once("again")
        assert await client.recv() == "again"


async def test_what_is_sent_to_a_side_that_has_gone_is_forgotten() -> None:
    async with connected() as (door, client):
        await client.close()
        await door.gone.wait()
        assert all(door.send_at_once(str(number)) for number in range(20))


def test_another_server_sends_nothing_at_once() -> None:
    assert not sender_at_once({"type": "websocket"})("text")
