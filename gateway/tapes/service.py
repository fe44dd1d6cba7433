"""The tape service for clients: one application with all of its routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from gateway.clients.admission import Admission
from gateway.clients.requests import answer, by_method, refused
from gateway.tapes.journals import Journals
from gateway.tapes.merging import MergeRoute
from gateway.tapes.reading import ReadingRoutes
from gateway.tapes.search.routes import SearchRoutes
from gateway.tapes.search.search import Search
from gateway.tapes.tapes import Tapes
from gateway.tapes.writing import Writers, WritingRoutes
from runtime.core.clock import Clock
from runtime.core.errors import (
    ArchiveUnavailable,
    HeadMoved,
    NotebookExists,
    NotebookFull,
    NotebookGone,
    StorageError,
    StorageUnavailable,
)

PREFIX = "/tape/v1"
"""Where the application is mounted."""

DOCUMENT = Path(__file__).parent / "openapi.json"
"""The description for tools. It holds no secret, so nobody is asked who they are."""

_STATUS: dict[type[StorageError], int] = {
    HeadMoved: 412,
    NotebookFull: 507,
    NotebookExists: 409,
    NotebookGone: 404,
    ArchiveUnavailable: 503,
    StorageUnavailable: 503,
}


@dataclass(frozen=True, slots=True)
class TapeService:
    """The parts that the routes share."""

    admission: Admission
    tapes: Tapes
    journals: Journals
    search: Search
    clock: Clock
    views: Sequence[BaseRoute] = ()
    """Further routes: what went on in a session."""

    def app(self) -> Starlette:
        """The application, to be mounted at `PREFIX`."""
        writers = Writers(self.admission, self.tapes.notebooks, self.journals, self.clock)
        reading, writing = ReadingRoutes(self.admission, self.tapes), WritingRoutes(writers)
        search = SearchRoutes(self.admission, self.tapes, self.search)
        routes = [
            _get("/tapes", reading.list),
            _get("/tapes/{tape}", reading.look),
            by_method("/tapes/{tape}/entries", GET=reading.entries, POST=writing.append),
            _get("/tapes/{tape}/follow", reading.follow),
            _get("/tapes/{tape}/export", reading.export),
            _get("/tapes/{tape}/search", search.in_one),
            _get("/search", search.in_all),
            _get("/manifest", reading.manifest),
            _post("/tapes/{tape}/compact", writing.compact),
            _post("/tapes/{tape}/fork", writing.fork),
            _post("/tapes/{tape}/rollback", writing.rollback),
            _post("/tapes/{tape}/merge", MergeRoute(writers).merge),
            _post("/import", writing.load),
            *self.views,
            _get("/openapi.json", _document),
        ]
        return Starlette(routes=routes, exception_handlers={HTTPException: refused, StorageError: _not_stored})


def _get(path: str, do: Callable[[Request], Awaitable[Response]]) -> Route:
    return Route(path, do, methods=["GET"])


def _post(path: str, do: Callable[[Request], Awaitable[Response]]) -> Route:
    return Route(path, do, methods=["POST"])


async def _document(_: Request) -> Response:
    return FileResponse(DOCUMENT, media_type="application/json")


async def _not_stored(_: Request, error: Exception) -> Response:
    """The answer where the store says no."""
    status = _STATUS.get(type(error)) if isinstance(error, StorageError) else None
    if status is None:
        raise error
    head = {"head": error.head} if isinstance(error, HeadMoved) else {}
    return answer({"error": str(error), **head}, status)
