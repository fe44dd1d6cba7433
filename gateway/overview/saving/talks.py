"""A session as a talk: made by `parley sessions save-test` in a process of its own, which holds the talk once."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from runtime.core.ids import SessionId

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
