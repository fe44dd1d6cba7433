"""`parley agent`: executes one task for the node that has started it, and knows nothing but what it was handed."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlsplit

from gateway.isolation.agent.living import live
from gateway.isolation.handover import HANDOVER, Confinement, Handover
from gateway.isolation.launch.launcher import ROOT
from gateway.version import VERSION
from gateway.with_parent import end_with_standard_input
from runtime.execution.frames.loop import FrameLoop
from runtime.sandbox.landlock import LIBRARIES, confine

_HANDOVER_BYTES = 64 * 1024 * 1024
_PACKAGES = ("gateway", "runtime", "adapters", "parley", "config")
_SYSTEM = ("/usr/share/zoneinfo", "/etc/localtime", "/bin/sh", "/usr/bin", "/dev/urandom")
"""What Python and the workers of the sandbox need of the system besides its libraries."""


def main() -> None:
    """Execute the task that standard input says, then exit. The working directory is for this task alone."""
    handover = read_handover(_handed())
    folder = tempfile.tempdir = str(Path.cwd())
    _limit(handover.confinement)
    if handover.confinement.jailed:
        assert threading.active_count() == 1  # Landlock holds for the thread that asks for it, and its children
        confine(_readable(handover), [folder, "/dev/null"], _port(handover))
    end_with_standard_input()
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        ended = runner.run(live(handover))
    sys.exit(ended)


def read_handover(line: bytes) -> Handover:
    """What was handed over. Ends the process where its gateway is of another version."""
    handed = json.loads(line)
    if handed.get("version") != VERSION:
        sys.exit(f"parley agent {VERSION}: its gateway is {handed.get('version')}. Both must have the same version.")
    return HANDOVER.read(handed)


def _handed() -> bytes:
    """The first line of standard input, whose end is later that of this process."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 65_536)
        line += piece
        if not piece or len(line) > _HANDOVER_BYTES:
            sys.exit("parley agent: nothing was handed over. A gateway starts it: docs/programs/tasks.md, Isolation.")
    return line


def _limit(confinement: Confinement) -> None:
    """Bound this process, and each that it starts."""
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_NOFILE, confinement.open_files)
    _bound(resource.RLIMIT_DATA, confinement.memory_bytes)
    if confinement.cpu_s:
        _bound(resource.RLIMIT_CPU, confinement.cpu_s)


def _bound(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def _readable(handover: Handover) -> list[str]:
    python = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).resolve().parent)}
    own = [str(ROOT / package) for package in _PACKAGES]
    return [*LIBRARIES, *_SYSTEM, *python, *own, *handover.confinement.readable]


def _port(handover: Handover) -> int:
    return urlsplit(handover.url).port or 80


if __name__ == "__main__":
    main()
