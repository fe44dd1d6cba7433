"""The processes of a standby: `parley run` in one role each."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import anyio
from anyio.abc import Process, TaskGroup
from anyio.streams.text import TextReceiveStream

_READY = "Parley is running"
"""The beginning of the line that says that a process serves."""

_LINE_CHARS = 10_000


class RoleProcess:
    """`parley run` as a process with its own session, so that a terminal's Ctrl-C reaches the standby alone.

    Its standard input is a pipe of ours, with whose end it ends. What it prints goes to `show`, line by line; its log
    goes where ours does.
    """

    def __init__(self, process: Process, show: Callable[[str], None], tasks: TaskGroup) -> None:
        self._process = process
        self._show = show
        self.was_ready = False
        tasks.start_soon(self._read)

    @classmethod
    async def start(
        cls, options: Sequence[str], environment: Mapping[str, str], show: Callable[[str], None], tasks: TaskGroup
    ) -> RoleProcess:
        """Start it; what it prints is read in `tasks`."""
        command = [sys.executable, "-m", "gateway", "run", "--with-parent", *options]
        process = await anyio.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            env=environment,
            start_new_session=True,
        )
        return cls(process, show, tasks)

    async def ended(self) -> int:
        """Wait for its end; its exit code, or minus the signal that ended it."""
        return await self._process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        rest = ""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for piece in TextReceiveStream(self._process.stdout, errors="replace"):
                *lines, rest = (rest + piece).split("\n")
                rest = rest[-_LINE_CHARS:]
                for line in lines:
                    self.was_ready = self.was_ready or line.startswith(_READY)
                    self._show(line)
