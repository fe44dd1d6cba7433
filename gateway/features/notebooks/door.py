"""The tape service for clients: one application with all of its routes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anyio.abc import TaskGroup
from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from gateway.clients.journals import TAPES, ClientJournals, journal_of, tape_name
from gateway.clients.requests import BusClient, ClientAdmission, answer, body_of, one_for_each_path, refused
from gateway.clients.views import ClientView, acts
from gateway.feature import TapeGround
from gateway.features.notebooks import store as stored
from gateway.features.notebooks.redis import notebooks_in
from gateway.features.notebooks.search.routes import JournalSearch, SearchRoutes
from gateway.features.notebooks.search.search import NoIndex, NotebookSearch
from gateway.features.notebooks.tapes import NamedTapes, ReadingRoutes
from gateway.features.notebooks.writing import Body, Writers, WritingRoutes
from gateway.web.app import ServiceMount
from runtime.core import errors
from runtime.core.clock import Clock
from runtime.storage.encoding.sealing import PLAIN

DOCUMENT = Path(__file__).parent / "openapi.json"
"""The description for tools. It holds no secret, so nobody is asked who they are."""

_STATUS: dict[type[errors.StorageError], int] = {
    errors.HeadMoved: 412,
    errors.NotebookFull: 507,
    errors.NotebookExists: 409,
    errors.NotebookGone: 404,
    errors.ArchiveUnavailable: 503,
    errors.StorageUnavailable: 503,
    NoIndex: 503,
}


class MergeRoute(Writers, frozen=True):
    """The request to merge. Entries that were merged are not merged again."""

    @acts("/tapes/{tape}/merge")
    async def merge(self, request: Request, client: BusClient) -> Response:
        name = tape_name(client, "write", request)
        if journal_of(name) is not None:
            raise HTTPException(409, "What comes of a fork of a session comes back by /merge in its conversation.")
        body = Body(await body_of(request), "from", "as", "moved", "key")
        other = body.text("from")
        if other is None or journal_of(other) is not None:
            raise HTTPException(422, "from is the name of a notebook.")
        form, moved = body.one_of("as", "result", "entries"), body.one_of("moved", "append", "fail", "rebase")
        key = body.text("key")
        here = await self.notebook(client, name)
        there = await self.notebook(client, other, action="read")
        first, expected = _unmerged(here, there)
        if first > there.head:
            if moved == "rebase":
                await self._rebase(name, there)
            return answer({"merged": 0, "head": here.head})
        if moved == "fail" and here.head != expected:
            raise errors.HeadMoved(f"{name} has moved on since {other} left it, or was merged last.", head=here.head)
        merging = stored.Merging(other, there.branch, there.head, here.merged.get(other))
        done = await self.notebooks.append(
            name,
            await self._drafts(there, first, form),
            expect=expected if moved == "fail" else None,
            key=key,
            merging=merging,
        )
        if moved == "rebase":
            await self._rebase(name, there)
        merged = {"merged": there.head - first + 1, "first": done.first, "last": done.last, "head": done.last}
        return answer(merged, 200 if done.known else 201)

    async def _rebase(self, name: str, there: stored.Notebook) -> None:
        """Have the fork go on from what it was merged into, unless it does."""
        here = await self.notebooks.find(name)
        if here is not None and stored.common(here.view(), there.view()) < max(here.head, there.head):
            await self.notebooks.rebase(there.name, here, expect=there.head)

    async def _drafts(self, there: stored.Notebook, first: int, form: str) -> list[stored.Draft]:
        store, view = self.notebooks, there.view()
        if form == "result":
            last = [entry async for entry in store.read(stored.cut(view, there.head, after=there.head - 1))]
            return [_from(last[0], there.name, {"from_ids": [first, there.head]})]
        if there.head - first >= stored.MAX_ENTRIES_AT_ONCE:
            text = (
                f'{there.name} has more than {stored.MAX_ENTRIES_AT_ONCE:,} entries to merge; merge them as "result".'
            )
            raise HTTPException(422, text)
        entries = [entry async for entry in store.read(stored.cut(view, there.head, after=first - 1))]
        return [_from(entry, there.name, {"from_id": entry.id}) for entry in entries]


def _unmerged(here: stored.Notebook, there: stored.Notebook) -> tuple[int, int]:
    """The first entry that was not merged, and the head that `here` has if nothing came in between.

    Raises HTTPException where merged entries were rolled back there.
    """
    merged, shared = here.merged.get(there.name), stored.common(here.view(), there.view())
    if merged is None or shared >= merged.head:  # or it goes on from what it was merged into
        begun = there.at if there.parent == here.name else shared
        return begun + 1, begun
    if stored.common(there.view(), there.view(merged.branch)) < merged.last:
        raise HTTPException(409, f"{there.name} was rolled back behind what was merged; merge another fork.")
    return merged.last + 1, merged.head


def _from(entry: stored.NotebookEntry, name: str, where: dict[str, Any]) -> stored.Draft:
    data = entry.data()
    meta = data["meta"] if isinstance(data["meta"], dict) else {}
    return stored.Draft(
        entry.kind, stored.entry_line(entry.kind, data["payload"], {**meta, "from_tape": name, **where}, data["date"])
    )


class TapeService(Struct, frozen=True):
    admission: ClientAdmission
    tapes: NamedTapes
    journals: ClientJournals
    search: NotebookSearch
    clock: Clock
    views: Sequence[BaseRoute] = ()
    """Further routes: what went on in a session."""

    def app(self) -> Starlette:
        given = self.admission, self.tapes.notebooks, self.journals, self.clock
        views: list[ClientView] = [
            ReadingRoutes(self.admission, self.tapes),
            WritingRoutes(*given),
            MergeRoute(*given),
            SearchRoutes(self.admission, self.tapes, self.search, JournalSearch(self.tapes.reader)),
        ]
        document = Route("/openapi.json", _document, methods=["GET"])
        routes = one_for_each_path([*(route for view in views for route in view.routes()), *self.views, document])
        return Starlette(
            routes=routes,
            exception_handlers={HTTPException: refused, errors.InboxFull: refused, errors.StorageError: _not_stored},
        )


async def _document(_: Request) -> Response:
    return FileResponse(DOCUMENT, media_type="application/json")


async def _not_stored(_: Request, error: Exception) -> Response:
    status = _STATUS.get(type(error)) if isinstance(error, errors.StorageError) else None
    if status is None:
        raise error
    head = {"head": error.head} if isinstance(error, errors.HeadMoved) else {}
    return answer({"error": str(error), **head}, status)


def open_door(ground: TapeGround, tasks: TaskGroup) -> tuple[Mount]:
    """The tape service, whose index is tidied in `tasks` and closed with them."""
    database, settings, clock = ground.database, ground.database.settings, ground.clock
    inbox, catalog, sealing = database.inbox, database.catalog, database.connection.sealing
    notebooks = notebooks_in(database)
    search = NotebookSearch(notebooks, settings.data_dir / "tapes-index.sqlite", sealed=sealing.shared is not PLAIN)
    tasks.start_soon(search.keep_tidy, clock)
    service = TapeService(
        ground.admission,
        NamedTapes(notebooks, catalog, database.tapes),
        ClientJournals(catalog, inbox, clock),
        search,
        clock,
        ground.views,
    )
    return (ServiceMount(TAPES, service.app()),)
