"""The port to what starts the processes of tasks."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread
from anyio.abc import Process

from gateway.isolation.handover import HANDOVER, Confinement, Handover

ROOT = Path(__file__).parents[3]
START = "import sys; sys.path.insert(0, sys.argv[1]); from gateway.isolation.agent.main import main; main()"
"""The program of a task's process. `-P` excludes the working directory from imports."""

_STOP_LIMIT_S = 10.0
_TRY_LIMIT_S = 60.0

PYTHON = (sys.executable, "-P", "-c", START, str(ROOT))


class Launched(Protocol):
    """A process that was started."""

    async def ended(self) -> int:
        """Wait for its end; its exit code, or minus the signal that ended it."""
        ...

    async def kill(self) -> None:
        """End it at once; return when it has ended."""
        ...


class Launcher(Protocol):
    """Starts processes of tasks in one way."""

    @property
    def confinement(self) -> Confinement:
        """What each process sets for itself."""
        ...

    async def check(self) -> None:
        """Raise ConfigError where it cannot be had here, with what is missing."""
        ...

    async def start(self, name: str, handover: Handover) -> Launched:
        """Start the process of a task, whose `name` is unique. Raises OSError."""
        ...


async def tried(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Why a command fails, in its last line; None where it does not."""
    try:
        with anyio.fail_after(_TRY_LIMIT_S):
            done = await anyio.run_process(command, stdin=subprocess.DEVNULL, check=False, env=environment)
    except TimeoutError:
        return f"no answer in {_TRY_LIMIT_S:g} s"
    except OSError as error:
        return str(error)
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return None if done.returncode == 0 else said[-1] if said else f"exit code {done.returncode}"


class Started:
    """A process that ends when its standard input does, of which we hold the other end. It works in a folder of its
    own, which is removed when it has ended."""

    def __init__(self, process: Process, folder: Path, stop: Sequence[str]) -> None:
        self._process = process
        self._folder = folder
        self._stop = stop

    @classmethod
    async def of(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        folders: Path,
        handover: Handover,
        *,
        stop: Sequence[str] = (),
    ) -> Started:
        """Start a command in a new folder below `folders`, and hand over. `stop` is another one, which ends what this
        one has started elsewhere. Raises OSError."""
        folder = Path(tempfile.mkdtemp(dir=folders))
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                command,
                stdin=subprocess.PIPE,
                stdout=None,
                stderr=None,
                env={"HOME": str(folder), "TMPDIR": str(folder), **environment},
                cwd=folder,
                start_new_session=True,
            )
        assert process.stdin is not None
        line = json.dumps(HANDOVER.write(handover), ensure_ascii=True) + "\n"
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it has died
            await process.stdin.send(line.encode())
        return cls(process, folder, stop)

    @property
    def process_id(self) -> int:
        """The system's number of the process."""
        return self._process.pid

    async def ended(self) -> int:
        """See `Launched`."""
        return await self._process.wait()

    async def kill(self) -> None:
        """See `Launched`."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()
        await self._process.aclose()
        if self._stop:
            with anyio.move_on_after(_STOP_LIMIT_S), suppress(OSError):
                await anyio.run_process(self._stop, stdin=subprocess.DEVNULL, check=False)
        await anyio.to_thread.run_sync(partial(shutil.rmtree, self._folder, ignore_errors=True))
