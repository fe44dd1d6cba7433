"""The roster of nodes on Redis; the server's clock decides who lives."""

from __future__ import annotations

from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import FRONT_NEWS, FRONTS, NODE_NEWS, NODES
from runtime.storage.redis.client.script import load_script
from runtime.stores.operation.nodes import Living
from runtime.stores.sessions import LeaseHolder

_ANNOUNCE = load_script("operation/announce_node")
_TELL = load_script("operation/tell_node")
_READ_AT_ONCE = 100


class RedisNodeStore:
    """Implements `runtime.stores.operation.nodes.NodeStore`, for nodes or for `fronts`."""

    def __init__(self, connection: RedisConnection, *, fronts: bool = False) -> None:
        self._connection = connection
        self._nodes, self._news = (FRONTS, FRONT_NEWS) if fronts else (NODES, NODE_NEWS)

    async def announce(self, holder: LeaseHolder, /) -> Living:
        return await self._living(holder.node, _milliseconds(holder))

    async def living(self) -> Living:
        return await self._living("", 0)

    async def _living(self, node: str, milliseconds: int) -> Living:
        keys = [self._nodes, self._news]
        news, *found = await self._connection.run(_ANNOUNCE, keys, [node, milliseconds], replicated=False)
        lasts = {node: int(left) / 1000 for node, left in zip(found[::2], found[1::2], strict=True)}
        gone = frozenset(node for node, left_s in lasts.items() if left_s <= 0)
        return Living({node: left_s for node, left_s in lasts.items() if node not in gone}, news, gone)

    async def leave(self, holder: LeaseHolder, /) -> None:
        arguments: list[str | int] = [holder.node, _milliseconds(holder)]
        await self._connection.run(_TELL, [self._nodes, self._news], arguments, replicated=False)

    async def tell(self) -> None:
        await self._connection.run(_TELL, [self._nodes, self._news], ["", 0], replicated=False)

    async def news(self, after: str, /, *, wait_s: float) -> str:
        answer = await self._connection.read_streams({self._news: after}, wait_s=wait_s, count=_READ_AT_ONCE)
        return next((entries[-1][0] for _, entries in answer if entries), after)


def _milliseconds(holder: LeaseHolder) -> int:
    return max(1, round(holder.ttl_s * 1000))
