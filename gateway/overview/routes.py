"""The routes by which the bus shows the whole gateway, and the tape service what went on in a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.routing import BaseRoute, Route

from gateway.overview.decisions import DecisionRoutes
from gateway.overview.nodes import NodeRoutes
from gateway.overview.people import PeopleRoutes
from gateway.overview.programs import ProgramRoutes
from gateway.overview.questions.routes import QuestionRoutes
from gateway.overview.saving.routes import SavingRoutes
from gateway.overview.scratch.routes import ScratchRoutes
from gateway.overview.session_views import SessionViews
from gateway.overview.sessions import SessionRoutes
from gateway.overview.sources import Sources
from gateway.overview.status import StatusOf, StatusRoute
from gateway.overview.work import WorkRoutes
from runtime.language.program import Program


def overview_routes(sources: Sources, programs: Mapping[str, Program], of_features: StatusOf) -> Sequence[BaseRoute]:
    """The routes, to be mounted with those of the bus; the status shows also what features tell."""
    status, sessions, served = (
        StatusRoute(sources, of_features),
        SessionRoutes(sources),
        ProgramRoutes(sources, programs),
    )
    decisions, people, work = DecisionRoutes(sources), PeopleRoutes(sources), WorkRoutes(sources)
    inbox, clock = sources.inbox, sources.clock
    questions = QuestionRoutes(sources.questions, inbox, clock, sources.reader, sources.writer, sources.rooms)
    return [
        *questions.routes(),
        *NodeRoutes(sources.drains, sources.living, sources.tell_nodes, sources.writer).routes(),
        *SavingRoutes(sources.catalog, sources.tapes, sources.talks, programs, sources.writer, sources.rooms).routes(),
        *ScratchRoutes(sources.scratch, sources.catalog, sources.writer, sources.rooms).routes(),
        Route("/status", status.get, methods=["GET"]),
        Route("/sessions", sessions.some, methods=["GET"]),
        Route("/sessions/{session}", sessions.look, methods=["GET"]),
        Route("/sessions/{session}", sessions.delete, methods=["DELETE"]),
        Route("/sessions/{session}/stop", sessions.stop, methods=["POST"]),
        Route("/sessions/{session}/meetings/{meeting}/end", sessions.end_meeting, methods=["POST"]),
        Route("/sessions/{session}/export", sessions.export, methods=["GET"]),
        Route("/tasks", work.tasks, methods=["GET"]),
        Route("/tasks/{task}/retry", work.retry, methods=["POST"]),
        Route("/requests", decisions.requests, methods=["GET"]),
        Route("/requests/{code}/approve", decisions.approve, methods=["POST"]),
        Route("/dead-letters", decisions.letters, methods=["GET"]),
        Route("/dead-letters/{letter}/replay", decisions.replay, methods=["POST"]),
        Route("/dead-letters/{letter}", decisions.drop, methods=["DELETE"]),
        Route("/people", people.some, methods=["GET"]),
        Route("/people/{person}/role", people.role, methods=["POST"]),
        Route("/people/{person}/role", people.revoke, methods=["DELETE"]),
        Route("/people/{person}/limit", people.limit, methods=["POST"]),
        Route("/people/{person}/forget", people.forget, methods=["POST"]),
        Route("/programs", served.some, methods=["GET"]),
        Route("/programs/{program}", served.look, methods=["GET"]),
    ]


def session_routes(views: SessionViews) -> Sequence[BaseRoute]:
    """The routes, to be mounted with those of the tape service."""
    return [
        Route("/tapes/{tape}/strip", views.strip, methods=["GET"]),
        Route("/tapes/{tape}/state", views.state, methods=["GET"]),
        Route("/tapes/{tape}/calls", views.calls, methods=["GET"]),
    ]
