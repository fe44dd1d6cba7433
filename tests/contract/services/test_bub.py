"""Notebooks beside Bub's own tape store: what both can do, both do alike, and files go both ways.

It needs Bub: `python3.12 -m venv bub; bub/bin/pip install bub`, then PARLEY_BUB_PYTHON=bub/bin/python. Bub's query for
what follows an anchor leaves the anchor out; `since` has it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.contract.services.test_tape_doors import World, service

pytestmark = pytest.mark.anyio

PROGRAM = [os.environ.get("PARLEY_BUB_PYTHON", "python"), str(Path(__file__).with_name("bub_store.py"))]
KINDS = ("message", "system", "anchor", "tool_call", "tool_result", "event", "error", "of.our.own")
TEXTS = ("hi", "数据库迁移", 'a "quote" \\ and \n a line', "😀 \u2028", "", "ﬁ\u0301", "x" * 300)


class Bub:
    """Its store, in another process."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, BufferedByteReceiveStream(process.stdout)

    async def ask(self, **asked: Any) -> Any:
        await self._in.send(json.dumps(asked).encode() + b"\n")
        with anyio.fail_after(30):
            return json.loads(await self._out.receive_until(b"\n", 10_000_000))


@asynccontextmanager
async def bub(folder: Path) -> AsyncIterator[Bub]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    async with await anyio.open_process([*PROGRAM, str(folder)], stderr=subprocess.DEVNULL, env=environment) as process:
        yield Bub(process)
        process.kill()


def entry(chance: random.Random) -> dict[str, Any]:
    kind = chance.choice(KINDS)
    payload: dict[str, Any] = {"role": "user", "content": chance.choice(TEXTS), "n": chance.choice([1, 2.5, None, []])}
    if kind == "anchor":
        payload = {"name": chance.choice(["a", "b"]), "state": {"owner": chance.choice(TEXTS)}}
    meta = chance.choice([{}, {"run_id": "9f"}, {"context": False}])
    return {"kind": kind, "payload": payload, "meta": meta, "date": f"2026-11-21T01:{chance.randrange(60):02}:48+00:00"}


async def ours(world: World, tape: str, **params: Any) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = (await world.get(f"/tapes/{tape}/entries", limit=1000, **params))["entries"]
    return entries


@pytest.mark.parametrize("seed", range(3))
async def test_what_both_can_do_both_do_alike_and_files_go_both_ways(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with service() as world, bub(tmp_path / "bub") as theirs:
        files: list[str] = []
        for _ in range(12):
            entries = [entry(chance) for _ in range(chance.randrange(1, 6))]
            await world.post("/tapes/plan/entries", {"entries": entries})
            files = await theirs.ask(tape="plan", append=entries)
            assert await ours(world, "plan") == await theirs.ask(tape="plan")
        for kinds in (["message"], ["anchor", "of.our.own"]):
            assert await ours(world, "plan", kinds=",".join(kinds)) == await theirs.ask(tape="plan", kinds=kinds)
        anchors = {each["payload"]["name"] for each in await ours(world, "plan", kinds="anchor")}
        for name in ("*", *sorted(anchors)):
            assert (await ours(world, "plan", since=name))[1:] == await theirs.ask(tape="plan", after=name)
        assert (await ours(world, "plan"))[:3] == await theirs.ask(tape="plan", limit=3)

        (file,) = files
        loaded = await world.ask("POST", "/import?tape=theirs", content=file.encode())
        assert (loaded.status_code, loaded.json()["unreadable"]) == (201, [])
        exported = await world.ask("GET", "/tapes/theirs/export")
        assert exported.content == file.encode()
        own = (await world.ask("GET", "/tapes/plan/export")).content
    async with bub(tmp_path / "other") as other:
        (tmp_path / "other").mkdir(exist_ok=True)
        (tmp_path / "other" / "plan.jsonl").write_bytes(own)
        assert await other.ask(tape="plan") == await theirs_all(tmp_path)


async def theirs_all(folder: Path) -> Any:
    async with bub(folder / "bub") as again:
        return await again.ask(tape="plan")
