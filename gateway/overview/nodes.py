"""`POST /bus/v1/nodes/{node}/drain` and `…/undrain`: a node gives everything to the others, or serves again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.requests import answer
from gateway.cluster.roster import Drains
from gateway.feature import FeatureDoor
from runtime.stores.operation.nodes import Living


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
