"""The routes by which the bus shows the whole gateway, and the tape service what went on in a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.routing import BaseRoute, Route

from gateway.overview.programs import ProgramRoutes
from gateway.overview.session_views import SessionViews
from gateway.overview.sessions import SessionRoutes
from gateway.overview.sources import Sources
from gateway.overview.status import StatusRoute
from runtime.language.program import Program


def overview_routes(sources: Sources, programs: Mapping[str, Program]) -> Sequence[BaseRoute]:
    """The routes, to be mounted with those of the bus."""
    status, sessions, served = StatusRoute(sources), SessionRoutes(sources), ProgramRoutes(sources, programs)
    return [
        Route("/status", status.get, methods=["GET"]),
        Route("/sessions", sessions.some, methods=["GET"]),
        Route("/sessions/{session}", sessions.look, methods=["GET"]),
        Route("/programs", served.some, methods=["GET"]),
        Route("/programs/{program}", served.look, methods=["GET"]),
    ]


def session_routes(views: SessionViews) -> Sequence[BaseRoute]:
    """The routes, to be mounted with those of the tape service."""
    return [
        Route("/tapes/{tape}/strip", views.strip, methods=["GET"]),
        Route("/tapes/{tape}/state", views.state, methods=["GET"]),
    ]
