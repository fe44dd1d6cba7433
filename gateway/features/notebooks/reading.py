"""`GET /tape/v1/…`: which tapes there are, their entries, and what comes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gateway.clients.journals import journal_of, may, tape_name
from gateway.clients.requests import STREAM_HEADERS, BusClient, answer, chosen, whole
from gateway.clients.scopes import JOURNAL
from gateway.clients.views import ClientView, looks
from gateway.features.notebooks.store import MAX_ENTRIES_AT_ONCE, NOTEBOOK_NAME, Notebook
from gateway.features.notebooks.tapes import NamedTapes, NotebookTape, Tape
from runtime.stores.catalog import KnownSession, among_sessions

LOOKED_AT = 10_000
"""The entries that one answer looks at; the next answer goes on from there."""

ANSWER_CHARS = 1024 * 1024
KEEP_ALIVE_S = 15.0
LISTED = 1_000

Names = list[str]

MAX_NUMBER = 2**53
"""The largest number of an entry or a branch that a request may have: every client writes it exactly."""

_FLAGS = ("0", "1", "true", "false")
_JSON = "application/json"


class _Wanted(Struct, frozen=True):
    """The entries that a client asks for."""

    after: int
    until: int
    limit: int
    back: bool
    kinds: frozenset[str]


class ReadingRoutes(ClientView, frozen=True):
    tapes: NamedTapes

    @looks("/tapes")
    async def list(self, request: Request, client: BusClient) -> Response:
        after, limit = request.query_params.get("after", ""), whole(request, "limit", 100, LISTED, least=1)
        if chosen(request, "kind", "notebook", "journal") == "journal":
            names, next_ = await self._journals(client, after, limit)
            return answer({"tapes": names, "next": next_ or None})
        names = await self._readable(client, after)
        return answer({"tapes": names[:limit], "next": names[limit - 1] if len(names) > limit else None})

    @looks("/manifest")
    async def manifest(self, request: Request, client: BusClient) -> Response:
        names = await self._readable(client, request.query_params.get("after", ""))
        found = [await self.tapes.find(name, client.scopes) for name in names[:LISTED]]
        tapes = {tape.name: tape.about() for tape in found if tape is not None}
        for about in tapes.values():
            origin = about["fork_of"]
            if origin is not None and origin["tape"] in tapes:
                tapes[origin["tape"]].setdefault("forks", []).append(about["tape"])
        return answer({"version": 1, "tapes": tapes, "next": names[LISTED - 1] if len(names) > LISTED else None})

    @looks("/tapes/{tape}")
    async def look(self, request: Request, client: BusClient) -> Response:
        tape = await self._found(request, client)
        return answer(tape.about())

    @looks("/tapes/{tape}/entries")
    async def entries(self, request: Request, client: BusClient) -> Response:
        tape = await self._found(request, client)
        wanted = await _wanted(request, tape)
        texts, next_ = await _some(tape, wanted)
        body = f'{{"entries":[{",".join(texts)}],"head":{tape.head},"branch":{tape.branch},"next":{json.dumps(next_)}}}'
        return Response(body, media_type=_JSON, headers={"cache-control": "no-store"})

    @looks("/tapes/{tape}/export")
    async def export(self, request: Request, client: BusClient) -> Response:
        tape = await self._found(request, client)

        async def lines() -> AsyncIterator[bytes]:
            async for line in tape.file_lines():
                yield f"{line}\n".encode()

        return StreamingResponse(lines(), media_type="application/x-ndjson", headers={"cache-control": "no-store"})

    @looks("/tapes/{tape}/follow")
    async def follow(self, request: Request, client: BusClient) -> Response:
        """A stream of entries that does not end, as server-sent events."""
        tape = await self._followed(request, client)
        last = request.headers.get("last-event-id")
        try:
            branch, _, after = (last or f"{tape.branch}.{whole(request, 'after', tape.head, MAX_NUMBER)}").partition(
                "."
            )
            place = int(branch), int(after)
            await tape.shared_with(place[0])
        except (ValueError, LookupError) as error:
            raise HTTPException(422, "Last-Event-ID is the id of an event of this stream.") from error
        return StreamingResponse(
            self._stream(client, tape, place), media_type="text/event-stream", headers=STREAM_HEADERS
        )

    async def _stream(self, client: BusClient, first: Tape, place: tuple[int, int]) -> AsyncIterator[str]:
        branch, seen = place
        begun = first.head > 0
        async with first.following() as following:
            yield f"id: {branch}.{seen}\n\n"
            while (tape := await self.tapes.find(first.name, client.scopes)) is not None or not begun:
                tape, begun = tape or first, tape is not None
                if tape.branch != branch:
                    shared, branch = await tape.shared_with(branch), tape.branch
                    if shared < seen:
                        seen = shared
                        yield f'event: rollback\nid: {branch}.{seen}\ndata: {{"head":{seen},"branch":{branch}}}\n\n'
                async for line in tape.lines(seen, tape.head):
                    seen = line.id
                    yield f"id: {branch}.{seen}\ndata: {line.text()}\n\n"
                while True:
                    with anyio.move_on_after(KEEP_ALIVE_S) as quiet:
                        await following.news()
                    if not quiet.cancelled_caught:
                        break
                    yield ": still here\n\n"

    async def _journals(self, client: BusClient, after: str, limit: int) -> tuple[Names, str]:
        async def readable(known: KnownSession) -> str | None:
            name = f"{JOURNAL}{known.record.id}"
            return name if may(client, "read", name) else None

        try:
            return await among_sessions(self.tapes.catalog, after, limit, readable, LOOKED_AT)
        except ValueError as error:
            raise HTTPException(422, "after is the `next` of an earlier answer.") from error

    async def _readable(self, client: BusClient, after: str) -> Names:
        return [name for name in await self.tapes.notebooks.names() if name > after and may(client, "read", name)]

    async def _followed(self, request: Request, client: BusClient) -> Tape:
        """The tape that is to be followed; an empty one for a notebook that its first entry is yet to begin."""
        name = tape_name(client, "read", request)
        could_begin = (
            NOTEBOOK_NAME.fullmatch(name) and journal_of(name) is None and "branch" not in request.query_params
        )
        if could_begin and await self.tapes.find(name, client.scopes) is None:
            return NotebookTape(self.tapes.notebooks, Notebook(name))
        return await self._found(request, client)

    async def _found(self, request: Request, client: BusClient) -> Tape:
        name = tape_name(client, "read", request)
        branch = whole(request, "branch", -1, MAX_NUMBER)
        tape = await self.tapes.find(name, client.scopes, branch=None if branch < 0 else branch)
        if tape is None:
            raise HTTPException(404, f"There is no tape {name}.")
        return tape


async def _wanted(request: Request, tape: Tape) -> _Wanted:
    until = min(whole(request, "until", tape.head, MAX_NUMBER), tape.head)
    after, anchor = whole(request, "after", 0, MAX_NUMBER), request.query_params.get("since")
    if anchor is not None:
        after = max(after, (await tape.since(anchor, until) or 1) - 1)
    kinds = frozenset(filter(None, request.query_params.get("kinds", "").split(",")))
    back = chosen(request, "reverse", *_FLAGS) in ("1", "true")
    return _Wanted(after, until, whole(request, "limit", 100, MAX_ENTRIES_AT_ONCE, least=1), back, kinds)


async def _some(tape: Tape, wanted: _Wanted) -> tuple[list[str], int | None]:
    """The entries of one answer, and the place where the next one goes on: its `after`, or its `until` in reverse."""
    texts: list[str] = []
    after, until = _span(wanted)
    chars = 0
    async for line in tape.lines(after, until, back=wanted.back):
        if not wanted.kinds or line.kind in wanted.kinds:
            texts.append(line.text())
            chars += len(texts[-1])
        after, until = (after, line.id - 1) if wanted.back else (line.id, until)
        if len(texts) == wanted.limit or chars > ANSWER_CHARS:
            break
    more = until > wanted.after if wanted.back else after < wanted.until
    return texts, (until if wanted.back else after) if more else None


def _span(wanted: _Wanted) -> tuple[int, int]:
    """What one answer looks at: no more entries than `LOOKED_AT`, and without kinds to choose no more than it gives."""
    most = LOOKED_AT if wanted.kinds else wanted.limit
    if wanted.back:
        return max(wanted.after, wanted.until - most), wanted.until
    return wanted.after, min(wanted.until, wanted.after + most)
