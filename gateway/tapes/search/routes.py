"""`GET /tape/v1/search` and `GET /tape/v1/tapes/{tape}/search`."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.clients.admission import Admission, Client
from gateway.clients.requests import answer, whole
from gateway.clients.scopes import JOURNAL
from gateway.tapes.reading import journal_of, may, tape_name
from gateway.tapes.search.index import Filters
from gateway.tapes.search.journals import JournalSearch
from gateway.tapes.search.search import Found, NoIndex, Search, utc_text
from gateway.tapes.tapes import Tapes, fact_data
from runtime.stores.sessions import SessionRecord

MAX_HITS = 100
MAX_SESSIONS = 200
"""Among so many of the sessions that were active last is searched."""

MAX_QUESTION_CHARS = 1_000


class SearchRoutes:
    """The requests that search."""

    def __init__(self, admission: Admission, tapes: Tapes, search: Search) -> None:
        self._admission = admission
        self._tapes = tapes
        self._search = search
        self._journals = JournalSearch(tapes.reader)

    async def in_one(self, request: Request) -> Response:
        """Search one notebook, with what it took over from others; or one session."""
        client = self._admission.client(request)
        name = tape_name(client, "read", request)
        if journal_of(name) is not None:
            record = await self._tapes.record(name)
            if record is None:
                raise HTTPException(404, f"There is no tape {name}.")
            return await self._facts(request, client, [record])
        notebook = await self._tapes.notebooks.find(name)
        if notebook is None:
            raise HTTPException(404, f"There is no tape {name}.")
        asked, filters, limit = _asked(request)
        try:
            return _told(await self._search.in_notebook(notebook, asked, filters, limit))
        except NoIndex as error:
            raise HTTPException(503, str(error)) from error

    async def in_all(self, request: Request) -> Response:
        """Search all notebooks that the client may read, or those whose names fit `scope`; with a scope that begins as
        their names do, the sessions that were active last."""
        client = self._admission.client(request)
        scope = request.query_params.get("scope", "*")
        if scope.startswith(JOURNAL):
            page = await self._tapes.catalog.page(limit=MAX_SESSIONS)
            names = {f"{JOURNAL}{known.record.id}": known.record for known in page.sessions}
            may_read = [
                record for name, record in names.items() if fnmatchcase(name, scope) and may(client, "read", name)
            ]
            return await self._facts(request, client, may_read, more=page.next != "")
        asked, filters, limit = _asked(request)

        def among(name: str) -> bool:
            return fnmatchcase(name, scope) and may(client, "read", name)

        try:
            return _told(await self._search.in_all(among, asked, filters, limit))
        except NoIndex as error:
            raise HTTPException(503, str(error)) from error

    async def _facts(
        self, request: Request, client: Client, records: Sequence[SessionRecord], *, more: bool = False
    ) -> Response:
        if not client.scopes.content:
            raise HTTPException(403, f"{client.name} has no scope content, and so none to search what people say.")
        found = await self._journals.find(records, *_asked(request))
        hits = [
            {"tape": f"{JOURNAL}{record.id}", "entry": fact_data(fact, content=True)} for record, fact in found.facts
        ]
        return answer({"hits": hits, "behind": found.behind or more, "sealed": found.sealed})


def _asked(request: Request) -> tuple[str, Filters, int]:
    params = request.query_params
    asked = params.get("q", "")
    if not 0 < len(asked) <= MAX_QUESTION_CHARS:
        raise HTTPException(422, f"q is a text of 1 to {MAX_QUESTION_CHARS:,} characters.")
    kinds = tuple(filter(None, params.get("kinds", "").split(",")))
    dates = [utc_text(params[name]) if name in params else "" for name in ("from", "until")]
    if any(name in params and not date for name, date in zip(("from", "until"), dates, strict=True)):
        raise HTTPException(422, "from and until are dates such as 2026-11-23T09:00:00Z.")
    return asked, Filters(kinds, *dates), whole(request, "limit", 20, MAX_HITS, least=1)


def _told(found: Found) -> Response:
    hits = [{"tape": hit.tape, "entry": hit.entry.data()} for hit in found.hits]
    return answer({"hits": hits, "behind": found.behind, "sealed": found.sealed})
