"""`POST /tape/v1/…` about notebooks: append, anchors, compact, fork, roll back, import."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from gateway.clients.journals import ClientJournals, allowed, journal_of, tape_name
from gateway.clients.requests import BusClient, answer, body_of
from gateway.clients.views import ClientView, acts
from gateway.features.notebooks import store
from gateway.features.notebooks.tapes import ANY_ANCHOR, MAX_NUMBER, NotebookTape
from runtime.core.clock import Clock
from runtime.core.cloud_event import MAX_NAME_CHARS
from runtime.core.errors import HeadMoved

LINES_AT_ONCE = 500
BYTES_AT_ONCE = 512 * 1024


_HALF = re.compile(r"[\ud800-\udfff]")
"""Half of a character, which JSON can write and no text has."""

MAX_IMPORT_BYTES = 256 * 1024 * 1024
COMPACTED = "compact"
"""The name of the anchor that a compaction leaves, unless it is given another."""

_TRIES = 3
_ENTRY_KEYS = frozenset({"kind", "payload", "meta", "date"})


class BadLine(ValueError):
    """A line that cannot be kept; the text says which and why."""


@dataclass
class ReadFile:
    """The contents of a file as far as it was read. `unreadable` are the numbers of lines that are no entries; `torn`
    is the number of the last line and the bytes of it that are there, where its end is missing.
    """

    lines: int = 0
    unreadable: list[int] = field(default_factory=list)
    torn: tuple[int, int] | None = None


class Portion(Struct, frozen=True):
    """Some lines. The key follows from all lines up to them: what was taken of a file is known again."""

    drafts: list[store.Draft]
    key: str


async def portions(content: AsyncIterator[bytes], found: ReadFile) -> AsyncIterator[Portion]:
    """The lines of a file in portions, which are the same however the file arrives. Raises BadLine."""
    digest, drafts, size = hashlib.sha256(b"import"), list[store.Draft](), 0
    async for line, whole in _lines(content):
        draft = _draft(line, found, whole=whole)
        if draft is None:
            continue
        if len(drafts) == LINES_AT_ONCE or (drafts and size + len(line) > BYTES_AT_ONCE):
            yield Portion(drafts, digest.hexdigest())
            drafts, size = [], 0
        digest.update(line + b"\n")
        drafts.append(draft)
        size += len(line)
    if drafts:
        yield Portion(drafts, digest.hexdigest())


async def _lines(content: AsyncIterator[bytes]) -> AsyncIterator[tuple[bytes, bool]]:
    """Each line, and whether its end is there. What is longer than an entry comes in pieces."""
    left = b""
    async for chunk in content:
        *lines, left = (left + chunk).split(b"\n")
        for line in lines:
            yield line, True
        if len(left) > store.MAX_ENTRY_BYTES:
            yield left, True
            left = b""
    if left:
        yield left, False


def _draft(line: bytes, found: ReadFile, *, whole: bool) -> store.Draft | None:
    """The entry of a line; None for the beginning of one."""
    found.lines += 1
    if len(line) > store.MAX_ENTRY_BYTES:
        raise BadLine(f"line {found.lines} has more than {store.MAX_ENTRY_BYTES:,} bytes")
    try:
        kind = _kind(line)
    except UnicodeDecodeError as error:
        if not whole:
            kind = None
        else:
            raise BadLine(f"line {found.lines} is not UTF-8") from error
    if kind is None and not whole:
        found.torn = (found.lines, len(line))
        return None
    if kind is None:
        found.unreadable.append(found.lines)
    return store.Draft(kind or store.UNREADABLE_LINE, line.decode(), raw=True)


def _kind(line: bytes) -> str | None:
    try:
        data = json.loads(line.decode())
    except (json.JSONDecodeError, RecursionError):
        return None
    kind = data.get("kind") if isinstance(data, dict) else None
    return kind if isinstance(kind, str) and kind and not _HALF.search(kind) else None


class Body:
    """A JSON object with some of these keys. Raises HTTPException for anything else."""

    def __init__(self, data: Any, *keys: str) -> None:
        if not isinstance(data, Mapping) or not set(data) <= set(keys):
            raise HTTPException(422, f"A request is a JSON object with {', '.join(keys)}.")
        self.data = data

    def text(self, name: str, most: int = MAX_NAME_CHARS) -> str | None:
        """A text of 1 to `most` characters, if there is one."""
        value = self.data.get(name)
        if value is not None and not (isinstance(value, str) and 0 < len(value) <= most):
            raise HTTPException(422, f"{name} is a text of 1 to {most} characters.")
        return value

    def number(self, name: str) -> int | None:
        """A whole number from 0, if there is one."""
        value = self.data.get(name)
        if isinstance(value, float) and value.is_integer():  # 2.0 is 2 in JSON
            value = int(value)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER):
            return value
        raise HTTPException(422, f"{name} is a whole number from 0 to {MAX_NUMBER:,}.")

    def expect(self) -> int | None:
        """The head that is expected; None for any."""
        value = self.data.get("expect", "any")
        if value in ("any", "none"):
            return 0 if value == "none" else None
        if isinstance(value, str):
            raise HTTPException(422, 'expect is the number of the last entry, "any" or "none".')
        return self.number("expect")

    def one_of(self, name: str, *values: str) -> str:
        """One of these words, the first one by default."""
        value = self.data.get(name, values[0])
        if value not in values:
            raise HTTPException(422, f"{name} is one of {', '.join(values)}.")
        return str(value)


class Writers(ClientView, frozen=True):
    notebooks: store.NotebookStore
    journals: ClientJournals
    clock: Clock

    async def notebook(self, client: BusClient, name: str, *, action: str = "write") -> store.Notebook:
        """A notebook that is there. Raises HTTPException."""
        found = await self.notebooks.find(allowed(client, action, name))
        if found is None:
            raise HTTPException(404, f"There is no notebook {name}.")
        return found

    def now(self) -> str:
        return self.clock.now().isoformat()


class WritingRoutes(Writers, frozen=True):
    @acts("/tapes/{tape}/entries")
    async def append(self, request: Request, client: BusClient) -> Response:
        """Append entries: 201, or 200 where the key is known."""
        name = new_name(tape_name(client, "write", request))
        body = Body(await body_of(request), "expect", "key", "entries")
        drafts = self._drafts(body.data.get("entries"))
        done = await self.notebooks.append(name, drafts, expect=body.expect(), key=body.text("key"))
        return answer({"first": done.first, "last": done.last}, 200 if done.known else 201)

    @acts("/tapes/{tape}/compact")
    async def compact(self, request: Request, client: BusClient) -> Response:
        """Leave an anchor with a summary of what is before it; who reads since the anchor has the summary."""
        name = tape_name(client, "write", request)
        _refuse_journal(name, "Sessions are compacted by Parley itself.")
        body = Body(await body_of(request), "summary", "name", "state", "expect", "key")
        summary, state = body.text("summary", store.MAX_ENTRY_BYTES), body.data.get("state", {})
        if summary is None or not isinstance(state, Mapping):
            raise HTTPException(422, "A compaction has a summary, a text; and state, if any, is a JSON object.")
        for tried in range(_TRIES):
            notebook = await self.notebook(client, name)
            last = await NotebookTape(self.notebooks, notebook).since(ANY_ANCHOR, notebook.head)
            covers = [(last or 0) + 1, notebook.head]
            payload = {"name": body.text("name") or COMPACTED, "state": {**state, "summary": summary, "range": covers}}
            draft = store.Draft(store.ANCHOR, _line(store.ANCHOR, payload, {}, self.now()))
            expect = body.expect()
            try:
                guard = notebook.head if expect is None else expect
                done = await self.notebooks.append(name, [draft], expect=guard, key=body.text("key"))
            except HeadMoved:
                if expect is not None or tried == _TRIES - 1:
                    raise
                continue
            break
        return answer({"anchor": done.first, "range": covers}, 200 if done.known else 201)

    @acts("/tapes/{tape}/fork")
    async def fork(self, request: Request, client: BusClient) -> Response:
        name = tape_name(client, "read", request)
        session = journal_of(name)
        data = await body_of(request)
        if session is not None:
            allowed(client, "write", name)
            asked = Body(data, "title", "key")
            return answer(await self.journals.fork(client, session, asked.text("title") or "", asked.text("key")), 202)
        body = Body(data, "name", "at", "branch")
        notebook = await self.notebook(client, name, action="read")
        to = body.text("name")
        if to is None:
            raise HTTPException(422, "A fork needs a name.")
        new_name(allowed(client, "write", to))
        branch, at = body.number("branch"), body.number("at")
        head = NotebookTape(self.notebooks, notebook, branch).head
        new = await self.notebooks.fork(to, notebook, head if at is None else at, branch=branch)
        return answer({"tape": to, "head": head if at is None else at}, 201 if new else 200)

    @acts("/tapes/{tape}/rollback")
    async def rollback(self, request: Request, client: BusClient) -> Response:
        """Move the head back; in a session, undo exchanges."""
        name = tape_name(client, "write", request)
        session = journal_of(name)
        data = await body_of(request)
        if session is not None:
            asked = Body(data, "exchanges", "key")
            exchanges = asked.number("exchanges")
            key = asked.text("key")
            return answer(await self.journals.undo(client, session, 1 if exchanges is None else exchanges, key), 202)
        body = Body(data, "to", "expect")
        to = body.number("to")
        if to is None:
            raise HTTPException(422, "to is the number of the entry that is to be the last one.")
        branch = await self.notebooks.rollback(name, to, expect=body.expect())
        return answer({"head": to, "branch": branch})

    @acts("/import")
    async def load(self, request: Request, client: BusClient) -> Response:
        """Make a notebook of a file of JSON lines. What is sent again goes on where it was cut off."""
        name = new_name(allowed(client, "write", request.query_params.get("tape", "")))
        found, last = ReadFile(), 0
        try:
            async for portion in portions(_bounded(request), found):
                done = await self.notebooks.append(name, portion.drafts, expect=last, key=portion.key)
                last = done.last
        except ClientDisconnect:
            return Response(status_code=400)  # which nobody hears; what was taken is known
        except BadLine as error:
            raise HTTPException(422, f"Not all was taken: {error}. {last} entries are kept.") from error
        torn = None if found.torn is None else {"line": found.torn[0], "bytes": found.torn[1]}
        if not last:
            raise HTTPException(422, "The file has no whole line.")
        return answer({"tape": name, "last": last, "unreadable": found.unreadable, "torn": torn}, 201)

    def _drafts(self, entries: Any) -> Sequence[store.Draft]:
        if not isinstance(entries, list) or not 0 < len(entries) <= store.MAX_ENTRIES_AT_ONCE:
            raise HTTPException(422, f"entries is a list of 1 to {store.MAX_ENTRIES_AT_ONCE:,}.")
        now = self.now()
        return [draft_of(entry, now) for entry in entries]


def draft_of(entry: Any, now: str) -> store.Draft:
    """An entry as a client sends it. Raises HTTPException."""
    if not isinstance(entry, Mapping) or not set(entry) <= _ENTRY_KEYS:
        raise HTTPException(422, f"An entry is a JSON object with {', '.join(sorted(_ENTRY_KEYS))}.")
    kind, meta, date = entry.get("kind"), entry.get("meta", {}), entry.get("date", now)
    if not isinstance(kind, str) or not 0 < len(kind) <= MAX_NAME_CHARS:
        raise HTTPException(422, f"kind is a text of 1 to {MAX_NAME_CHARS} characters.")
    if not isinstance(meta, Mapping) or not isinstance(date, str):
        raise HTTPException(422, "meta is a JSON object, and date a text.")
    return store.Draft(kind, _line(kind, entry.get("payload", {}), meta, date))


def new_name(name: str) -> str:
    """A name that a notebook may have. Raises HTTPException."""
    _refuse_journal(
        name, "A session is not appended to. Send an event to it: POST /bus/v1/events, or a task's messages."
    )
    if not store.NOTEBOOK_NAME.fullmatch(name):
        raise HTTPException(422, "A notebook's name has letters, digits, and . _ - inside; at most 128.")
    return name


def _refuse_journal(name: str, why: str) -> None:
    if journal_of(name) is not None:
        raise HTTPException(409, why)


def _line(kind: str, payload: Any, meta: Any, date: str) -> str:
    line = store.entry_line(kind, payload, meta, date)
    if len(line.encode()) > store.MAX_ENTRY_BYTES:
        raise HTTPException(413, f"An entry has at most {store.MAX_ENTRY_BYTES:,} bytes.")
    return line


async def _bounded(request: Request) -> Any:
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_IMPORT_BYTES:
            raise HTTPException(413, f"A file has at most {MAX_IMPORT_BYTES:,} bytes.")
        yield chunk
