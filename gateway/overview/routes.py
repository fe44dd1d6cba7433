"""The routes by which the bus shows the whole gateway."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Route

from gateway.overview.sessions import SessionRoutes
from gateway.overview.sources import Sources
from gateway.overview.status import StatusRoute


def overview_routes(sources: Sources) -> Sequence[BaseRoute]:
    """The routes, to be mounted with those of the bus."""
    status, sessions = StatusRoute(sources), SessionRoutes(sources)
    return [
        Route("/status", status.get, methods=["GET"]),
        Route("/sessions", sessions.list, methods=["GET"]),
        Route("/sessions/{session}", sessions.look, methods=["GET"]),
    ]
