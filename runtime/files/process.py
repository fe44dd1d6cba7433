"""Reads files in worker processes, one for each file, each bounded in memory and time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import anyio

from runtime.files.reading import UNKNOWN_TYPE, Reading, ReadLimits, ReadPart, Remark

_ROOT = Path(__file__).parents[2]
_START = "import sys; sys.path.insert(0, sys.argv[1]); from runtime.files.worker.main import main; main()"
"""The command of a worker. `-P` excludes the working directory from imports: it is the user's, with unknown content."""

AT_ONCE: Final = 2
"""The number of simultaneous workers of a node; further files wait."""


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
            try:
                with anyio.fail_after(self._limits.whole_s):
                    done = await anyio.run_process(
                        [sys.executable, "-P", "-c", _START, str(_ROOT)],
                        input=given,
                        stderr=subprocess.DEVNULL,
                        check=False,
                        env=self._environment,
                        start_new_session=True,
                    )
            except (TimeoutError, OSError):
                return _failed()
        return _failed() if done.returncode else self._reading(done.stdout)

    def _reading(self, written: bytes) -> Reading:
        line, _, rest = written.partition(b"\n")
        head: Mapping[str, Any] = json.loads(line)
        self.jailed = bool(head["jailed"])
        parts, begin = [], 0
        for kind, page, size in head["parts"]:
            parts.append(ReadPart(kind, rest[begin : begin + size], page))
            begin += size
        remarks = tuple(Remark(key, values) for key, values in head["remarks"])
        return Reading(head["type"], tuple(parts), remarks)


def _failed() -> Reading:
    """The worker took too long, needed too much, or broke."""
    return Reading(UNKNOWN_TYPE, (), (Remark("not_readable"),))
