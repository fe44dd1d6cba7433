"""`/bus/v1/sessions`: all sessions, the most recently active first, with what was said last in each; and a session as a
talk for `parley test`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from msgspec import Struct, field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gateway.clients.journals import ClientJournals
from gateway.clients.requests import BusClient, answer, known_mark, limit_of
from gateway.clients.views import GatewayView, acts, looks
from gateway.models.answers import ModelAmounts, shown
from runtime.core.errors import ArchiveUnavailable, SessionBusy, TapeConflict
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.language.remote import is_tool
from runtime.stores.catalog import KnownSession, SessionCatalog, among_sessions
from runtime.stores.sessions import LivingNodes, SessionRecord
from runtime.tape.facts.frames import EffectIntended
from runtime.tape.facts.people import MessageHeard, PageFinished
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import MessageQueued
from runtime.tape.tape import TapeReader

LOOKED_AT = 1_000
"""The other sessions that one answer looks at for those that are wanted; the next answer goes on from there."""

_LAST_FACTS = 60
"""The last facts of a session among which its last words are looked for."""

_FIRST_FACTS = 60
"""The first facts of a session among which its first words are looked for."""

_WORDS = 160

GREETING = "Hello!"
"""What the button of an empty room says: `gateway/web/page/chat.js`."""

_LOOKING = "parley-debug"
"""The program that looks into failures: with one node, owners see it where they ask for it."""

_MEASURES = ModelAmounts.__struct_fields__

_WITHIN_S = 60.0
"""The time limit of making a talk."""

_PROGRAM = re.compile(r"^program: .*$", re.MULTILINE)
_TALKS = ".test.md"
_ANSWERS = ".recorded.json"


class _Wanted(Struct, frozen=True):
    state: str
    program: str
    text: str
    inside: bool

    async def fitting(self, known: KnownSession) -> KnownSession | None:
        record = known.record
        if self.state and known.state != self.state:
            return None
        named = self.inside or self.text in (_LOOKING, record.id.lower())
        if record.program != self.program if self.program else record.program == _LOOKING and not named:
            return None
        found = not self.text or self.text in f"{record.address.key} {record.id} {record.program}".lower()
        return known if found else None


class NotSaved(Exception):
    """No talk could be made; the text says why."""


class TalkMaker(Struct, frozen=True):
    """Makes one talk at a time. `export` gives the lines of a session's file."""

    export: Callable[[SessionId], AsyncIterator[str]]
    _one_at_a_time: anyio.Lock = field(default_factory=anyio.Lock)

    async def make(self, session: SessionId, program: Path) -> list[dict[str, str | None]]:
        """The files of a session's talk with a program, by their names beside it: the talk, the recorded answers of the
        model where there are any, and the files that people sent. Raises NotSaved."""
        async with self._one_at_a_time:
            with TemporaryDirectory(prefix="parley-talk-") as folder:
                try:
                    with anyio.fail_after(_WITHIN_S):
                        return await self._made(session, program, Path(folder))
                except TimeoutError as error:
                    raise NotSaved(f"The conversation could not be held again in {_WITHIN_S:g} seconds.") from error

    async def _made(self, session: SessionId, program: Path, folder: Path) -> list[dict[str, str | None]]:
        exported, talks = folder / "session.jsonl", folder / f"{program.stem}{_TALKS}"
        async with await anyio.open_file(exported, "w", encoding="utf-8") as file:
            async for line in self.export(session):
                await file.write(f"{line.rstrip()}\n")
        command = [sys.executable, "-m", "gateway", "sessions", "save-test", str(exported), str(talks)]
        done = await anyio.run_process(
            [*command, "--program", str(program)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            raise NotSaved(_why(done.stdout.decode(errors="replace")))
        text = await anyio.Path(talks).read_text(encoding="utf-8")
        files = [_file(talks.name, text=_PROGRAM.sub(f"program: {program.name}", text, count=1))]
        answers = anyio.Path(talks.with_name(f"{program.stem}{_ANSWERS}"))
        if await answers.exists():
            files.append(_file(answers.name, text=await answers.read_text(encoding="utf-8")))
        for sent in sorted([one async for one in anyio.Path(folder).glob("*/*")]):
            coded = b64encode(await sent.read_bytes()).decode()
            files.append(_file(f"{sent.parent.name}/{sent.name}", base64=coded))
        return files


def _file(name: str, text: str | None = None, base64: str | None = None) -> dict[str, str | None]:
    return {"name": name, "text": text, "base64": base64}


def _why(output: str) -> str:
    said = [line.strip() for line in output.splitlines() if line.strip()]
    return " ".join(said)[-1_000:] or "The conversation could not be held again."


class SessionRoutes(GatewayView, frozen=True):
    """The requests about sessions as a whole; their facts are read from their tapes."""

    catalog: SessionCatalog
    tapes: TapeReader
    journals: ClientJournals
    spent: Callable[[Sequence[SessionRecord], Sequence[str]], Awaitable[Sequence[Mapping[str, float]]]]
    """What models have cost in sessions, by measures."""
    delete_session: Callable[[SessionId], Awaitable[bool]]
    """Takes a session out for good."""
    lines_of: Callable[[SessionId], AsyncIterator[str]]
    """The lines of a session's file."""
    living: Callable[[], Awaitable[LivingNodes]]
    maker: TalkMaker
    programs: Mapping[str, Program]

    @looks("/sessions")
    async def some(self, request: Request, client: BusClient) -> Response:
        """Some sessions after a mark. `words`: with what was said last, for who may read it."""
        query = request.query_params
        several = len((await self.living()).nodes) > 1
        wanted = _Wanted(
            query.get("state", ""), query.get("program", ""), query.get("text", "").strip().lower(), several
        )
        words = client.scopes.content and query.get("words") == "1"
        with known_mark():
            after = query.get("after", "")
            found, next_ = await among_sessions(self.catalog, after, limit_of(request), wanted.fitting, LOOKED_AT)
        rows = await self._shown(found)
        if words:
            async with anyio.create_task_group() as tasks:
                for row, known in zip(rows, found, strict=True):
                    if await self.door.rooms.words(client.scopes, known.record):
                        tasks.start_soon(self._add_words, row, known)
        return answer({"sessions": rows, "next": next_ or None, "all": await self.catalog.count()})

    @looks("/sessions/{session}")
    async def look(self, request: Request, client: BusClient) -> Response:
        """One session. It has its first words for who may read them."""
        known = await self._known(request)
        [row] = await self._shown([known])
        if client.scopes.content and await self.door.rooms.words(client.scopes, known.record):
            row["first"] = await self._first(known)
        return answer(row)

    async def _shown(self, found: Sequence[KnownSession]) -> list[dict[str, Any]]:
        spent = await self.spent([known.record for known in found], _MEASURES)
        amounts = [ModelAmounts(**sums) for sums in spent]  # type: ignore[arg-type] # counts come as floats
        return [{**_session_data(known), "spent": shown(one)} for known, one in zip(found, amounts, strict=True)]

    @acts("/sessions/{session}/stop")
    async def stop(self, request: Request, client: BusClient) -> Response:
        """Stop everything that a session does."""
        return answer(await self.journals.stop(client, _session_in(request)), 202)

    @acts("/sessions/{session}", "DELETE")
    async def delete(self, request: Request, _: BusClient) -> Response:
        """Delete a session for good, which does not work now."""
        try:
            there = await self.delete_session(_session_in(request))
        except SessionBusy as error:
            raise HTTPException(409, "The session is active. Stop it first.") from error
        if not there:
            raise HTTPException(404, "There is no such session.")
        return answer({"session": _session_in(request)})

    @acts("/sessions/{session}/meetings/{meeting}/end")
    async def end_meeting(self, request: Request, client: BusClient) -> Response:
        """End a meeting of a session, once."""
        known = await self._known(request)
        id_ = known.record.id
        meetings = (await self.door.moments.at(id_, known.record.seq)).state.meetings
        meeting = meetings.get(str(request.path_params["meeting"]))
        if meeting is None or meeting.status == "ended":
            raise HTTPException(409, "This meeting is over, or there never was one of this number.")
        return answer(await self.journals.end_meeting(client, id_, meeting.id), 202)

    @looks("/sessions/{session}/export")
    async def export(self, request: Request, client: BusClient) -> Response:
        """A session as a file, which `parley sessions import` takes. It needs the scope `content`."""
        known = await self._known(request)
        await self.door.rooms.check(client, known.record)
        id_ = known.record.id
        headers = {"content-disposition": f'attachment; filename="{id_}.jsonl"', "cache-control": "no-store"}
        return StreamingResponse(self.lines_of(id_), media_type="application/x-ndjson", headers=headers)

    @acts("/sessions/{session}/test")
    async def save(self, request: Request, client: BusClient) -> Response:
        """The talk of a session, and the recorded answers of its model. What has used anything else than tools of
        servers is not held again: their results are on the tape."""
        known = await self._known(request)
        session = known.record.id
        await self.door.rooms.check(client, known.record)
        program = self.programs.get(known.record.program)
        if program is None or not program.agents:
            raise HTTPException(409, f"The program {known.record.program} is not served here.")
        async for fact in self.tapes.read_session(session):
            intended = read_as(fact, EffectIntended)
            if intended is not None and not is_tool(program, intended.name):
                raise HTTPException(409, f"It used {intended.name}, which a test of it would use again.")
        try:
            return answer({"files": await self.maker.make(session, Path(program.agents[0].span.file))})
        except NotSaved as error:
            raise HTTPException(409, str(error)) from error

    async def _known(self, request: Request) -> KnownSession:
        known = await self.catalog.find(_session_in(request))
        if known is None:
            raise HTTPException(404, "There is no such session.")
        return known

    async def _add_words(self, row: dict[str, Any], known: KnownSession) -> None:
        row |= {**await self._last(known), "first": await self._first(known)}

    async def _first(self, known: KnownSession) -> str | None:
        """The first words that a person wrote or chose in a session; those of the page's button where there are no
        others."""
        if known.record.archived:
            return None
        greeting: str | None = None
        with suppress(ArchiveUnavailable, TapeConflict, LookupError):
            async for fact in self.tapes.read_session(known.record.id, until=_FIRST_FACTS):
                heard, queued = read_as(fact, MessageHeard), read_as(fact, MessageQueued)
                chosen = queued.message.content if queued is not None and queued.message.type == "choice" else ""
                text = heard.text if heard is not None else chosen
                if text and text != GREETING:
                    return text[:_WORDS]
                greeting = text or greeting
        return greeting

    async def _last(self, known: KnownSession) -> dict[str, Any]:
        """The last words of a session, who said them, and the people who spoke lately."""
        if known.record.archived:
            return {"last": None, "people": []}
        last: dict[str, Any] | None = None
        people: dict[str, None] = {}
        looked_at = 0
        with suppress(ArchiveUnavailable, TapeConflict, LookupError):
            async for fact in self.tapes.read_back(known.record.id):
                looked_at += 1
                heard = read_as(fact, MessageHeard)
                said = read_as(fact, PageFinished) if last is None else None
                if heard is not None:
                    people[heard.name] = None
                    last = last or {"who": heard.name, "text": heard.text[:_WORDS]}
                elif said is not None and said.text:
                    last = {"who": None, "text": said.text[:_WORDS]}
                if looked_at == _LAST_FACTS or (last is not None and people):
                    break
        return {"last": last, "people": list(people)}


def _session_in(request: Request) -> SessionId:
    return SessionId(str(request.path_params["session"]))


def _session_data(known: KnownSession) -> dict[str, Any]:
    record = known.record
    parent = record.parent
    return {
        "session": record.id,
        "conversation": record.address.key,
        "platform": record.address.platform,
        "program": record.program,
        "state": known.state,
        "started_at": record.started_at.isoformat(),
        "last_at": known.last_at.isoformat(),
        "facts": record.seq,
        "bytes": known.size_bytes,
        "node": known.node,
        "parent": None if parent is None else {"session": parent.session, "seq": parent.seq},
        "replaced_by": record.replaced_by,
    }
