"""`POST /bus/v1/sessions/{session}/test`: a session as a talk for `parley test`."""

from __future__ import annotations

import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.clients.requests import answer
from gateway.feature import FeatureDoor
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.language.remote import is_tool
from runtime.stores.catalog import SessionCatalog
from runtime.tape.facts.calls import EffectIntended
from runtime.tape.facts.registry import read_as
from runtime.tape.tape import TapeReader

WITHIN_S = 60.0
"""The time limit of making one."""

_PROGRAM = re.compile(r"^program: .*$", re.MULTILINE)
_TALKS = ".test.md"
_ANSWERS = ".recorded.json"


class NotSaved(Exception):
    """No talk could be made; the text says why."""


@dataclass(frozen=True, slots=True)
class SavedTalk:
    """The files of a talk by their names beside the program: the talk, the recorded answers of the model where there
    are any, and the files that people sent."""

    texts: Mapping[str, str]
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class TalkMaker:
    """Makes one talk at a time. `export` gives the lines of a session's file."""

    export: Callable[[SessionId], AsyncIterator[str]]
    _one_at_a_time: anyio.Lock = field(default_factory=anyio.Lock)

    async def make(self, session: SessionId, program: Path) -> SavedTalk:
        """The talk of a session with a program. Raises NotSaved."""
        async with self._one_at_a_time:
            with TemporaryDirectory(prefix="parley-talk-") as folder:
                try:
                    with anyio.fail_after(WITHIN_S):
                        return await self._made(session, program, Path(folder))
                except TimeoutError as error:
                    raise NotSaved(f"The conversation could not be held again in {WITHIN_S:g} seconds.") from error

    async def _made(self, session: SessionId, program: Path, folder: Path) -> SavedTalk:
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
        texts = {talks.name: _PROGRAM.sub(f"program: {program.name}", text, count=1)}
        answers = anyio.Path(talks.with_name(f"{program.stem}{_ANSWERS}"))
        if await answers.exists():
            texts[answers.name] = await answers.read_text(encoding="utf-8")
        sent = sorted([one async for one in anyio.Path(folder).glob("*/*")])
        return SavedTalk(texts, {f"{one.parent.name}/{one.name}": await one.read_bytes() for one in sent})


def _why(output: str) -> str:
    said = [line.strip() for line in output.splitlines() if line.strip()]
    return " ".join(said)[-1_000:] or "The conversation could not be held again."


@dataclass(frozen=True, slots=True)
class SavingRoutes:
    """The request for a talk. The conversation is held again for it, so it needs the scope `gateway:write`."""

    catalog: SessionCatalog
    tapes: TapeReader
    maker: TalkMaker
    programs: Mapping[str, Program]
    door: FeatureDoor

    def routes(self) -> list[BaseRoute]:
        """The route, to be mounted with those of the bus."""
        return [Route("/sessions/{session}/test", self.save, methods=["POST"])]

    async def save(self, request: Request) -> Response:
        """The talk of a session, and the recorded answers of its model. What has used anything else than tools of
        servers is not held again: their results are on the tape."""
        client, session = self.door.writer(request), SessionId(str(request.path_params["session"]))
        known = await self.catalog.find(session)
        if known is None:
            raise HTTPException(404, "There is no such session.")
        await self.door.rooms.check(client, known.record)
        program = self.programs.get(known.record.program)
        if program is None or not program.agents:
            raise HTTPException(409, f"The program {known.record.program} is not served here.")
        async for fact in self.tapes.read_session(session):
            intended = read_as(fact, EffectIntended)
            if intended is not None and not is_tool(program, intended.name):
                raise HTTPException(409, f"It used {intended.name}, which a test of it would use again.")
        try:
            talk = await self.maker.make(session, Path(program.agents[0].span.file))
        except NotSaved as error:
            raise HTTPException(409, str(error)) from error
        texts = [{"name": name, "text": text, "base64": None} for name, text in talk.texts.items()]
        sent = [{"name": name, "text": None, "base64": b64encode(data).decode()} for name, data in talk.files.items()]
        return answer({"files": [*texts, *sent]})
