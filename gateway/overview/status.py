"""`GET /bus/v1/status`: the gateway at one glance; which of its nodes are to be empty; and the platforms as each
process has seen them since it began: connected since when, and what came and went last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import anyio
from msgspec import Struct
from msgspec.structs import asdict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.access.people import KnownPeople
from gateway.clients.requests import BusClient, answer
from gateway.clients.views import GatewayView, acts, looks
from gateway.cluster.roster import NodeDrains
from gateway.overview.tallies import SharedView
from gateway.version import VERSION
from runtime.bus import Bus
from runtime.core.address import platform_in
from runtime.core.clock import Clock
from runtime.events.talk import AdapterConnected, AdapterFailed, AdapterRateLimited, MessageAdmitted, PageSent
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import DeadLetters
from runtime.stores.sessions import SHARDS, LivingNodes, NodeStore

MOST_LETTERS = 1_000
"""The dead letters that are counted."""

StatusOf = Callable[[], Awaitable[Mapping[str, Mapping[str, Any]]]]
"""What features show of the whole gateway, by section."""

PLATFORMS_TABLE = "nodes:platforms"
"""What each process has seen, by its node, JSON."""


class SeenPlatform(Struct):
    """One platform. Times are UTC, None for what has not happened yet; `trouble` says why it is off."""

    connected_at: datetime | None = None
    last_in_at: datetime | None = None
    last_out_at: datetime | None = None
    paused_at: datetime | None = None
    pauses: int = 0
    trouble: str | None = None

    def data(self, name: str) -> dict[str, Any]:
        found = {"name": name, **asdict(self)}
        return {key: one.isoformat() if isinstance(one, datetime) else one for key, one in found.items()}


class SeenPlatforms:
    def __init__(self, bus: Bus) -> None:
        self._seen: dict[str, SeenPlatform] = {}
        self.changed = anyio.Event()
        """Set once something is new; another one is there from then on."""
        bus.hear(AdapterConnected, self._connected)
        bus.hear(AdapterFailed, self._failed)
        bus.hear(MessageAdmitted, self._admitted)
        bus.hear(PageSent, self._sent)
        bus.hear(AdapterRateLimited, self._paused)

    def data(self) -> list[dict[str, Any]]:
        return [seen.data(name) for name, seen in self._seen.items()]

    def _of(self, name: str) -> SeenPlatform:
        self.changed.set()
        self.changed = anyio.Event()
        return self._seen.setdefault(name, SeenPlatform())

    def _connected(self, what: AdapterConnected, at: datetime) -> None:
        seen = self._of(what.platform)
        seen.connected_at, seen.trouble = at, None

    def _failed(self, what: AdapterFailed, _: datetime) -> None:
        seen = self._of(what.platform)
        seen.connected_at, seen.trouble = None, what.error

    def _admitted(self, what: MessageAdmitted, at: datetime) -> None:
        self._of(what.platform).last_in_at = at

    def _sent(self, what: PageSent, at: datetime) -> None:
        self._of(what.platform).last_out_at = at

    def _paused(self, what: AdapterRateLimited, at: datetime) -> None:
        seen = self._of(platform_in(what.conversation))
        seen.paused_at, seen.pauses = at, seen.pauses + 1


class SharedPlatforms(SharedView[SeenPlatforms]):
    """Observations of the process of `node`, written down for the others, and those of the others."""

    name = "platforms"

    async def data(self, living: Collection[str]) -> list[dict[str, Any]]:
        """Each platform once, as this process and those of the `living` nodes have seen it. Raises StorageError."""
        by_name: dict[str, list[Mapping[str, Any]]] = {}
        for one in (row for rows in [self._here.data(), *await self.others(living)] for row in rows):
            by_name.setdefault(one["name"], []).append(one)
        return [_together(name, rows) for name, rows in sorted(by_name.items())]


def _together(name: str, rows: Collection[Mapping[str, Any]]) -> dict[str, Any]:
    """A platform of several processes. What is wrong at one of them counts where no other is connected."""
    connected = _latest(row["connected_at"] for row in rows)
    return {
        "name": name,
        "connected_at": connected,
        **{key: _latest(row[key] for row in rows) for key in ("last_in_at", "last_out_at", "paused_at")},
        "pauses": sum(row["pauses"] for row in rows),
        "trouble": None if connected else next((row["trouble"] for row in rows if row["trouble"]), None),
    }


def _latest(times: Iterable[str | None]) -> str | None:
    return max((one for one in times if one is not None), default=None)


class NodeRoutes(GatewayView, frozen=True):
    """The requests about nodes. `tell` has the nodes look at what is marked."""

    drains: NodeDrains
    living: Callable[[], Awaitable[LivingNodes]]
    tell: Callable[[], Awaitable[None]]

    @acts("/nodes/{node}/drain")
    async def drain(self, request: Request, client: BusClient) -> Response:
        """Have a node give its shards and bots to the others, one by one, and take no new ones."""
        node = await self._node(request)
        others = (await self.living()).nodes.keys() - {node} - set(await self.drains.marked())
        if not others:
            raise HTTPException(409, "No other node could take over what this one serves.")
        await self.drains.mark(node, client.shown or client.name)
        await self.tell()
        return answer({"node": node, "draining": True})

    @acts("/nodes/{node}/undrain")
    async def undrain(self, request: Request, _: BusClient) -> Response:
        """Have a node serve again."""
        node = await self._node(request)
        await self.drains.forget(node)
        await self.tell()
        return answer({"node": node, "draining": False})

    async def _node(self, request: Request) -> str:
        node = str(request.path_params["node"])
        if node not in (await self.living()).nodes:
            raise HTTPException(404, "There is no such node.")
        return node


class GatewayShards(Struct, frozen=True):
    """The nodes, who holds which shard, how many sessions are at work, and how many events and pages wait in shards."""

    nodes: NodeStore
    fronts: NodeStore
    holders: Callable[[], Awaitable[Mapping[int, str]]]
    awake: Callable[[], Awaitable[int]]
    waiting: Callable[[Collection[int]], Awaitable[tuple[int, int]]]

    async def processes(self) -> frozenset[str]:
        """The nodes and fronts that live. Raises StorageError."""
        living, fronts = await self.nodes.living(), await self.fronts.living()
        return frozenset((*living.nodes, *fronts.nodes))


class StatusRoute(GatewayView, frozen=True):
    shards: GatewayShards
    platforms: Callable[[Collection[str]], Awaitable[Sequence[Mapping[str, Any]]]]
    catalog: SessionCatalog
    letters: DeadLetters
    people: KnownPeople
    drains: NodeDrains
    of_features: StatusOf
    clock: Clock

    @looks("/status")
    async def get(self, _request: Request, _: BusClient) -> Response:
        """Platforms, nodes and their shards, sessions, what waits, what was spent today, and what is to be decided."""
        held = await self.shards.holders()
        of_node = Counter(held.values())
        events, pages = await self.shards.waiting(range(SHARDS))
        letters = await self.letters.page(limit=MOST_LETTERS)
        drained = frozenset(await self.drains.marked())
        told = await self.of_features()
        living, fronts = await self.shards.nodes.living(), await self.shards.fronts.living()
        return answer(
            {
                **told,
                "at": self.clock.now().isoformat(),
                "version": VERSION,
                "platforms": list(await self.platforms({*living.nodes, *fronts.nodes})),
                "nodes": _nodes(living, of_node, drained),
                "fronts": _nodes(fronts, None),
                "shards": {"all": SHARDS, "held": len(held)},
                "sessions": {"all": await self.catalog.count(), "at_work": await self.shards.awake()},
                "waiting": {"events": events, "pages": pages},
                "dead_letters": len(letters),
                "decisions": {
                    "requests": len(await self.people.requests()),
                    **told.get("decisions", {}),
                },
            }
        )


def _nodes(
    living: LivingNodes, shards: Counter[str] | None, drained: frozenset[str] = frozenset()
) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "alive_for_s": round(left_s, 3),
            **({} if shards is None else {"shards": shards[name], "draining": name in drained}),
        }
        for name, left_s in sorted(living.nodes.items())
    ]
