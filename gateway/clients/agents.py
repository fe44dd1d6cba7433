"""`/bus/v1/agents`: who is at work: nodes, tasks, participants and clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.clients.admission import Admission, Client
from gateway.clients.feed import Feed
from gateway.clients.requests import answer, whole
from gateway.clients.scopes import JOURNAL
from runtime.core.address import session_of
from runtime.stores.catalog import KnownSession, SessionCatalog, among_sessions
from runtime.stores.sessions import Living
from runtime.tape.view import AGENT_SPAWN

_LOOKED_AT = 2_000
"""The other sessions among which one answer looks for tasks; the next answer goes on from there."""

_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Registers:
    """The registers that know who is at work."""

    living: Callable[[], Awaitable[Living]]
    fronts: Callable[[], Awaitable[Living]]
    catalog: SessionCatalog
    participants: Sequence[str]


class AgentRoutes:
    """The request for those at work."""

    def __init__(self, admission: Admission, feed: Feed, registers: Registers) -> None:
        self._admission = admission
        self._feed = feed
        self._registers = registers

    async def at_work(self, request: Request) -> Response:
        """Nodes, fronts, tasks, participants and clients, for a client that may read of agents that begin."""
        client = self._admission.client(request)
        if not client.scopes.may_read(AGENT_SPAWN):
            raise HTTPException(403, f"{client.name} has no scope to read {AGENT_SPAWN}.")
        living, fronts = await self._registers.living(), await self._registers.fronts()
        tasks, next_ = await self._tasks(client, request)
        return answer(
            {
                "nodes": _alive(living),
                "fronts": _alive(fronts),
                "tasks": [_task(known) for known in tasks],
                "next": next_ or None,
                "participants": [{"name": name} for name in self._registers.participants],
                "clients": [
                    {"name": each.name, "connections_here": self._feed.readers(each)}
                    for each in self._admission.clients
                ],
            }
        )

    async def _tasks(self, client: Client, request: Request) -> tuple[list[KnownSession], str]:
        """The tasks that a client may see, and the mark of further ones."""

        async def seen(known: KnownSession) -> KnownSession | None:
            return known if _may_see(client, known) else None

        after, limit = request.query_params.get("after", ""), whole(request, "limit", 500, _MOST, least=1)
        try:
            return await among_sessions(self._registers.catalog, after, limit, seen, _LOOKED_AT)
        except ValueError as error:
            raise HTTPException(422, "after is the `next` of an earlier answer.") from error


def _alive(living: Living) -> list[dict[str, Any]]:
    return [
        {"name": name, "status": "alive", "alive_for_s": round(left_s, 3)}
        for name, left_s in sorted(living.nodes.items())
    ]


def _may_see(client: Client, known: KnownSession) -> bool:
    return session_of(known.record.address) is not None and client.scopes.may_use("read", known.record.program)


def _task(known: KnownSession) -> dict[str, Any]:
    record = known.record
    return {
        "task": record.id,
        "program": record.program,
        "status": "ended" if record.ended else "working",
        "tape": f"{JOURNAL}{record.id}",
        "since": record.started_at.isoformat(),
        "last_heartbeat": known.last_at.isoformat(),
        "node": known.node,
    }
