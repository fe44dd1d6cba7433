"""`GET /bus/v1/status`: the gateway at one glance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from gateway.clients.requests import answer
from gateway.overview.sources import Sources
from gateway.version import VERSION
from runtime.stores.operation.nodes import Living
from runtime.stores.sessions import SHARDS

MOST_LETTERS = 1_000
"""The dead letters that are counted."""


StatusOf = Callable[[], Awaitable[Mapping[str, Mapping[str, Any]]]]
"""What features show of the whole gateway, by section."""


class StatusRoute:
    """The request for the status."""

    def __init__(self, sources: Sources, of_features: StatusOf) -> None:
        self._sources = sources
        self._of_features = of_features

    async def get(self, request: Request) -> Response:
        """Platforms, nodes and their shards, sessions, what waits, what was spent today, and what is to be decided."""
        own = self._sources
        own.reader(request)
        held = await own.holders()
        of_node = Counter(held.values())
        events, pages = await own.waiting(range(SHARDS))
        letters = await own.letters.page(limit=MOST_LETTERS)
        drained = frozenset(await own.drains.marked())
        told = await self._of_features()
        living, fronts = await own.living(), await own.fronts()
        return answer(
            {
                **told,
                "at": own.clock.now().isoformat(),
                "version": VERSION,
                "platforms": list(await own.platforms({*living.nodes, *fronts.nodes})),
                "nodes": _nodes(living, of_node, drained),
                "fronts": _nodes(fronts, None),
                "shards": {"all": SHARDS, "held": len(held)},
                "sessions": {"all": await own.catalog.count(), "at_work": await own.at_work()},
                "waiting": {"events": events, "pages": pages},
                "dead_letters": len(letters),
                "decisions": {
                    "requests": len(await own.people.requests()),
                    "questions": len(await own.questions.noted()),
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
