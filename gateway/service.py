"""The gateway in motion: one task group, from start to stop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec import Struct

from adapters.adapter import Adapter
from adapters.web.codec import WebVisitor
from adapters.web.visit import PageLink
from gateway.access.admission import PlatformAccess
from gateway.cluster.bots import BotLeases
from gateway.cluster.node import ClusterFront, ClusterNode
from gateway.inbound.router import InboundRouter
from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.core.errors import AuthFailed
from runtime.events.service import NodeDrained, NodeDraining
from runtime.events.talk import AdapterBroke, AdapterConnected, AdapterFailed
from runtime.llm.client import LLMClient
from runtime.sessions.registry import ConversationRegistry

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""The pause between two connections to a platform when the first ended by a fault."""


class GatewayReady(Struct, frozen=True):
    """The gateway serves.

    `lines` are facts for people: where to go, model, platforms, pairing codes. Await `drain` before a stop, with the
    time that running work may take (None: as the settings say); see `Service.drain`.
    """

    lines: Sequence[str]
    drain: Callable[[float | None], Awaitable[None]]
    reload: Callable[[], Awaitable[object]] | None = None
    """Reads programs and settings again, where that can be."""
    attend: Callable[[PageLink, WebVisitor], Coroutine[None, None, None]] | None = None
    """Serves a page of the web chat that is no browser's; it ends with the page."""


class ServedPlatform(Struct, frozen=True):
    """A platform that is switched on. An `exclusive` one is listened to by one node at a time."""

    adapter: Adapter
    access: PlatformAccess
    router: InboundRouter
    exclusive: bool


class ServingNode(Struct, frozen=True):
    node: ClusterNode
    registry: ConversationRegistry

    async def run(self, tasks: TaskGroup) -> None:
        await self.node.run(tasks, self.registry)

    async def drain(self, within_s: float) -> None:
        await self.node.drain(within_s)

    def at_work(self) -> int:
        return sum(self.registry.loads().values())


ClusterMember: TypeAlias = ServingNode | ClusterFront
"""This process as a member of the cluster: both run until their tasks are cancelled, and give everything back."""


class GatewayService:
    """Everything that runs while the gateway does. `platforms` are those that this process listens to."""

    def __init__(
        self, member: ClusterMember, bots: BotLeases, platforms: Mapping[str, ServedPlatform], bus: Bus, clock: Clock
    ) -> None:
        self._member = member
        self._clock = clock
        self._bots = bots
        self._platforms = platforms
        self._bus = bus
        self._ears: list[tuple[anyio.CancelScope, anyio.Event]] = []
        self._waiting_for = {name: f"{name} is not connected yet" for name in ("storage", *platforms)}

    def not_ready(self) -> Sequence[str]:
        """The reasons why the gateway is not ready, one line each: what is not connected yet, and which platform
        refuses us.
        """
        return [self._waiting_for[name] for name in sorted(self._waiting_for)]

    async def start(self, tasks: TaskGroup, model: LLMClient | None) -> None:
        """Return when the shards are ours and every platform is connected or known to refuse us; `model` gets ready
        meanwhile.
        """
        if model is not None:
            tasks.start_soon(self.warm_up, model)
        await tasks.start(self._join)
        for name, platform in self._platforms.items():
            tasks.start_soon(self._listen, name, platform)

    async def warm_up(self, model: LLMClient) -> None:
        """Count as not ready until the model is ready."""
        self._waiting_for["model"] = f"the process that asks {model.model} is being started"
        await model.warm_up()
        del self._waiting_for["model"]

    async def drain(self, within_s: float) -> None:
        """Stop serving. Work in progress may finish within this time, and is parked after that.

        This node gives up its bot connections, then each shard as soon as it is idle. Requests are taken to the end:
        the node that serves their shard then answers them.
        """
        self._waiting_for["draining"] = "the gateway is stopping"
        self._bus.publish(NodeDraining(within_s, self._member.at_work()))
        for scope, _ in self._ears:
            scope.cancel()
        await self._member.drain(within_s)
        for _, deaf in self._ears:
            await deaf.wait()
        self._bus.publish(NodeDrained())

    async def _join(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        async with anyio.create_task_group() as tasks:
            await self._member.run(tasks)
            self._waiting_for.pop("storage", None)
            task_status.started()

    async def _listen(self, name: str, platform: ServedPlatform) -> None:
        forget = self._bus.hear(AdapterConnected, self._note_connected)
        try:
            if platform.exclusive:
                await self._listen_alone(name, platform)
            else:
                await self._listen_always(name, platform)
        except AuthFailed as error:
            self._waiting_for[name] = f"{name} is off: {error}"
            self._bus.publish(AdapterFailed(name, str(error)))
        finally:
            forget()

    async def _listen_alone(self, name: str, platform: ServedPlatform) -> None:
        """Listen while no other node does; ends with a drain."""
        scope, deaf = anyio.CancelScope(), anyio.Event()
        self._ears.append((scope, deaf))
        try:
            with scope:
                while True:
                    async with self._bots.hold(name):
                        await self._listen_always(name, platform)
        finally:
            deaf.set()

    async def _listen_always(self, name: str, platform: ServedPlatform) -> None:
        """Listen again and again, also after a fault: it is one platform's, and ends neither it nor the others. Raises
        AuthFailed."""
        pause_s = FIRST_PAUSE_S
        while True:
            began = self._clock.monotonic()
            try:
                await platform.router.run()
                pause_s = FIRST_PAUSE_S
            except AuthFailed:
                raise
            except Exception as error:  # noqa: BLE001 - a fault of one platform must not end the gateway
                lasted_s = self._clock.monotonic() - began
                pause_s = FIRST_PAUSE_S if lasted_s > LONGEST_PAUSE_S else pause_s
                self._waiting_for[name] = f"{name} has failed, and is connected again"
                self._bus.publish(AdapterBroke(name, repr(error), pause_s))
                await self._clock.sleep_until(self._clock.monotonic() + pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _note_connected(self, what: AdapterConnected, _at: datetime) -> None:
        self._waiting_for.pop(what.platform, None)
