"""`/bus/v1/programs`: the programs that are served, with their texts; a program's versions and who is on them, what is
wrong with its files, and how it does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from adapters.records import Records, what_can_be_read
from gateway.clients.requests import BusClient, answer, object_of
from gateway.clients.views import GatewayView, acts, looks
from gateway.programs.versions import NoSuchVersion, VersionPins, taken_up
from runtime.bus import Bus
from runtime.core.errors import ArchiveUnavailable, ContentLocked, TapeConflict
from runtime.events.service import ProgramRefused, ProgramReloaded, ProgramRolledBack
from runtime.language.program import Program
from runtime.stores.catalog import KnownSession, SessionCatalog
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ProgramAdopted, SessionBegun
from runtime.tape.tape import TapeReader

_MAX_TEXT_BYTES = 512 * 1024

LOOKED_AT = 1_000
"""The most recently active sessions that are looked at for those of the program."""

_COUNTED = 100
"""The sessions whose versions are asked for."""

_PAGE = 200
_AT_ONCE = 8


def _about(program: Program) -> dict[str, Any]:
    return {
        "program": program.name,
        "digest": program.digest,
        "agents": [
            {
                "class": agent.name,
                "kind": agent.kind.value,
                "file": Path(agent.span.file).name,
                "playbooks": [
                    {
                        "name": playbook.name,
                        "kind": playbook.kind,
                        "public": playbook.public,
                        "file": Path(playbook.span.file).name,
                        "line": playbook.span.line,
                    }
                    for playbook in agent.playbooks
                ],
            }
            for agent in program.agents
        ],
    }


def _file(file: str) -> dict[str, str]:
    return {"name": Path(file).name, "path": str(Path(file).absolute()), "text": _text(file)}


def _text(file: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(_MAX_TEXT_BYTES).decode(errors="replace")
    except OSError:
        return ""


class SeenRefusals:
    """Follows the bus of this process: what was wrong with programs when they were read the last time."""

    def __init__(self, bus: Bus) -> None:
        self.known: dict[str, tuple[datetime, str]] = {}
        bus.hear(ProgramRefused, self._refused)
        bus.hear(ProgramReloaded, self._reloaded)
        bus.hear(ProgramRolledBack, self._reloaded)

    def _refused(self, what: ProgramRefused, at: datetime) -> None:
        self.known[what.program] = at, what.error

    def _reloaded(self, what: ProgramReloaded | ProgramRolledBack, _: datetime) -> None:
        self.known.pop(what.program, None)


class ProgramRoutes(GatewayView, frozen=True):
    """The requests. `versions` are the records of `gateway.programs.versions`; `tell_pins` has all nodes look at
    `pins`.
    """

    catalog: SessionCatalog
    tapes: TapeReader
    programs: Mapping[str, Program]
    refusals: SeenRefusals
    versions: Records
    of_features: Callable[[str], Awaitable[Mapping[str, Any]]]
    ask_for_reload: Callable[[], Awaitable[None]]
    pins: VersionPins
    tell_pins: Callable[[], Awaitable[None]]

    @looks("/programs")
    async def some(self, request: Request, _: BusClient) -> Response:
        """The programs by name, with their agents and playbooks."""
        return answer({"programs": [_about(program) for _, program in sorted(self.programs.items())]})

    @looks("/programs/{program}")
    async def look(self, request: Request, client: BusClient) -> Response:
        """One program, with the texts of its files: an author's words, so `content` is needed."""
        program = self.programs.get(str(request.path_params["program"]))
        if program is None:
            raise HTTPException(404, "There is no such program.")
        if not client.scopes.content:
            raise HTTPException(403, f"{client.name} has no scope content.")
        spans = [span for agent in program.agents for span in (agent.span, *(one.span for one in agent.playbooks))]
        files = dict.fromkeys(span.file for span in spans)
        texts = [await run_sync(_file, file) for file in files]
        return answer({**_about(program), "files": texts})

    @acts("/programs/reload")
    async def reload(self, request: Request, _: BusClient) -> Response:
        """Have all nodes read their programs and settings again. What comes of it shows in what they serve."""
        await self.ask_for_reload()
        return answer({"asked": True}, 202)

    @acts("/programs/{program}/rollback")
    async def roll_back(self, request: Request, client: BusClient) -> Response:
        """Have all nodes serve a version of a program, by {version}, until its files change."""
        name = str(request.path_params["program"])
        version = (await object_of(request)).get("version")
        if not isinstance(version, str) or not version:
            raise HTTPException(422, "version: must be the digest of a version, or its beginning.")
        try:
            digest = await self.pins.roll_back(name, version, client.shown or client.name)
        except NoSuchVersion as error:
            raise HTTPException(404, str(error)) from None
        await self.tell_pins()
        return answer({"program": name, "version": digest})

    @looks("/programs/{program}/practice")
    async def practice(self, request: Request, client: BusClient) -> Response:
        """How one program does."""
        name = str(request.path_params["program"])
        before = self.programs.get(name)
        if before is None:
            raise HTTPException(404, "There is no such program.")
        refused = self.refusals.known.get(name)
        on = await self._on_versions(name)
        taken = what_can_be_read(await self.versions.all(), taken_up)
        dates = {digest: _date(at) for digest, (of, at) in taken.items() if of == name}
        pin = (await self.pins.in_force()).get(name)
        program = self.programs.get(name, before)  # after the versions: one that is being taken up is served now
        known = sorted({program.digest, *dates, *on}, key=lambda digest: dates.get(digest, ""), reverse=True)
        return answer(
            {
                "program": name,
                "refused": refused
                and {"at": refused[0].isoformat(), "error": refused[1] if client.scopes.content else None},
                "rolled_back": pin
                and {"version": pin.version, "instead_of": pin.instead_of, "by": pin.by, "at": _date(pin.at)},
                "versions": [
                    {
                        "digest": digest,
                        "taken_up_at": dates.get(digest),
                        "served": digest == program.digest,
                        "sessions": on[digest],
                    }
                    for digest in known
                ],
                **await self.of_features(name),
            }
        )

    async def _on_versions(self, name: str) -> Counter[str]:
        """How many of its sessions that have not ended are on which version."""
        found: list[KnownSession] = []
        mark = ""
        for _ in range(LOOKED_AT // _PAGE):
            page = await self.catalog.page(mark, limit=_PAGE)
            found += [
                one for one in page.sessions if one.record.program == name and one.state in ("working", "resting")
            ]
            mark = page.next
            if not mark or len(found) >= _COUNTED:
                break
        on: Counter[str] = Counter()
        some = anyio.CapacityLimiter(_AT_ONCE)

        async def count(known: KnownSession) -> None:
            async with some:
                digest = await self._version(known)
            if digest:
                on[digest] += 1

        async with anyio.create_task_group() as tasks:
            for one in found[:_COUNTED]:
                tasks.start_soon(count, one)
        return on

    async def _version(self, known: KnownSession) -> str:
        """The version of a session: the last one that it adopted, else that with which it began."""
        tapes, session = self.tapes, known.record.id
        with suppress(ArchiveUnavailable, ContentLocked, TapeConflict, LookupError):
            for kind in (ProgramAdopted, SessionBegun):
                seq = await tapes.last_anchor(session, kind.kind)
                if seq is not None:
                    async for fact in tapes.read_session(session, after=seq - 1, until=seq):
                        content = read_as(fact, ProgramAdopted) or read_as(fact, SessionBegun)
                        return "" if content is None else content.program
        return ""


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
