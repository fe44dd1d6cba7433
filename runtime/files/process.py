"""Reads files in worker processes, one for each file, each bounded in memory and time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.abc import Process

from runtime.files.reading import UNKNOWN_TYPE, Reading, ReadLimits, ReadPart, Remark

_ROOT = Path(__file__).parents[2]
_START = "import sys; sys.path.insert(0, sys.argv[1]); from runtime.files.worker.main import main; main()"
"""The command of a worker. `-P` excludes the working directory from imports: it is the user's, with unknown content."""

AT_ONCE: Final = 2
"""The number of simultaneous workers of a node; further files wait."""


MAX_READ_BYTES: Final = 64 * 1024 * 1024
"""What a worker may write; more comes from none of ours."""


class WorkerReader:
    """A `FileReader` whose files are decoded elsewhere: whatever a file does to its worker, the host goes on."""

    def __init__(self, environment: Mapping[str, str], limits: ReadLimits | None = None) -> None:
        """`environment` is everything that workers see of it."""
        self._environment = dict(environment)
        self._limits = limits or ReadLimits()
        self._at_once = anyio.Semaphore(AT_ONCE)
        self.jailed: bool | None = None
        """Whether the last worker had a jail around it; None before the first."""

    async def read(self, data: bytes, media_type: str, /) -> Reading:
        head = {"type": media_type, "limits": asdict(self._limits)}
        given = json.dumps(head).encode() + b"\n" + data
        async with self._at_once:
            written = await self._decoded(given)
        if written is None:
            return _failed()
        try:
            return self._reading(written)
        except (ValueError, LookupError, TypeError):
            return _failed()

    async def _decoded(self, given: bytes) -> bytes | None:
        """A worker's output; None when it broke or took too long. It is gone then, also when this is cancelled."""
        try:
            with anyio.CancelScope(shield=True):
                worker = await anyio.open_process(
                    [sys.executable, "-P", "-c", _START, str(_ROOT)],
                    stderr=subprocess.DEVNULL,
                    env=self._environment,
                    start_new_session=True,
                )
        except OSError:
            return None
        written = bytearray()
        try:
            with anyio.move_on_after(self._limits.whole_s):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_give, worker, given)
                    assert worker.stdout is not None
                    async for piece in worker.stdout:
                        written += piece
                        if len(written) > MAX_READ_BYTES:
                            return None
                await worker.wait()
        finally:
            with anyio.CancelScope(shield=True):
                if worker.returncode is None:
                    worker.kill()
                await worker.wait()
                await worker.aclose()
        return None if worker.returncode else bytes(written)

    def _reading(self, written: bytes) -> Reading:
        line, _, rest = written.partition(b"\n")
        head: Mapping[str, Any] = json.loads(line)
        self.jailed = bool(head["jailed"])
        parts, begin = [], 0
        for kind, page, size in head["parts"]:
            parts.append(ReadPart(kind, rest[begin : begin + size], page))
            begin += size
        remarks = tuple(Remark(key, values) for key, values in head["remarks"])
        return Reading(head["type"], tuple(parts), remarks, head["seconds"])


async def _give(worker: Process, given: bytes) -> None:
    assert worker.stdin is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it has died
        await worker.stdin.send(given)
        await worker.stdin.aclose()


def _failed() -> Reading:
    """The worker took too long, needed too much, or broke."""
    return Reading(UNKNOWN_TYPE, (), (Remark("not_readable"),))
