"""`GET /bus/v1/status`: the gateway at one glance; and which of its nodes are to be empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.access.people import People
from gateway.clients.requests import answer
from gateway.cluster.roster import Drains
from gateway.feature import FeatureDoor
from gateway.version import VERSION
from runtime.core.clock import Clock
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import DeadLetters
from runtime.stores.sessions import SHARDS, Living, NodeStore

MOST_LETTERS = 1_000
"""The dead letters that are counted."""

StatusOf = Callable[[], Awaitable[Mapping[str, Mapping[str, Any]]]]
"""What features show of the whole gateway, by section."""


@dataclass(frozen=True, slots=True)
class NodeRoutes:
    """The requests about nodes. `tell` has the nodes look at what is marked."""

    drains: Drains
    living: Callable[[], Awaitable[Living]]
    tell: Callable[[], Awaitable[None]]
    door: FeatureDoor

    def routes(self) -> list[BaseRoute]:
        """The routes, to be mounted with those of the bus."""
        return [
            Route("/nodes/{node}/drain", self.drain, methods=["POST"]),
            Route("/nodes/{node}/undrain", self.undrain, methods=["POST"]),
        ]

    async def drain(self, request: Request) -> Response:
        """Have a node give its shards and bots to the others, one by one, and take no new ones."""
        client, node = self.door.writer(request), await self._node(request)
        others = (await self.living()).nodes.keys() - {node} - set(await self.drains.marked())
        if not others:
            raise HTTPException(409, "No other node could take over what this one serves.")
        await self.drains.mark(node, client.shown or client.name)
        await self.tell()
        return answer({"node": node, "draining": True})

    async def undrain(self, request: Request) -> Response:
        """Have a node serve again."""
        self.door.writer(request)
        node = await self._node(request)
        await self.drains.forget(node)
        await self.tell()
        return answer({"node": node, "draining": False})

    async def _node(self, request: Request) -> str:
        node = str(request.path_params["node"])
        if node not in (await self.living()).nodes:
            raise HTTPException(404, "There is no such node.")
        return node


@dataclass(frozen=True, slots=True)
class GatewayShards:
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


@dataclass(frozen=True, slots=True)
class StatusRoute:
    """The request for the status."""

    door: FeatureDoor
    shards: GatewayShards
    platforms: Callable[[Collection[str]], Awaitable[Sequence[Mapping[str, Any]]]]
    catalog: SessionCatalog
    letters: DeadLetters
    people: People
    drains: Drains
    of_features: StatusOf
    clock: Clock

    def routes(self) -> list[BaseRoute]:
        """The route, to be mounted with those of the bus."""
        return [Route("/status", self.get, methods=["GET"])]

    async def get(self, request: Request) -> Response:
        """Platforms, nodes and their shards, sessions, what waits, what was spent today, and what is to be decided."""
        own = self
        own.door.reader(request)
        held = await own.shards.holders()
        of_node = Counter(held.values())
        events, pages = await own.shards.waiting(range(SHARDS))
        letters = await own.letters.page(limit=MOST_LETTERS)
        drained = frozenset(await own.drains.marked())
        told = await self.of_features()
        living, fronts = await own.shards.nodes.living(), await own.shards.fronts.living()
        return answer(
            {
                **told,
                "at": own.clock.now().isoformat(),
                "version": VERSION,
                "platforms": list(await own.platforms({*living.nodes, *fronts.nodes})),
                "nodes": _nodes(living, of_node, drained),
                "fronts": _nodes(fronts, None),
                "shards": {"all": SHARDS, "held": len(held)},
                "sessions": {"all": await own.catalog.count(), "at_work": await own.shards.awake()},
                "waiting": {"events": events, "pages": pages},
                "dead_letters": len(letters),
                "decisions": {
                    "requests": len(await own.people.requests()),
                    **told.get("decisions", {}),
                },
            }
        )


def _nodes(living: Living, shards: Counter[str] | None, drained: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "alive_for_s": round(left_s, 3),
            **({} if shards is None else {"shards": shards[name], "draining": name in drained}),
        }
        for name, left_s in sorted(living.nodes.items())
    ]
