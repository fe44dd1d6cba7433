"""Whisper on this machine, as the gateway sees it: an address that OpenAI's protocol is spoken at.

model's process ──http──> socket of ours ──> process that listens
                          there from the start      begun by the first recording
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.to_thread
from anyio.abc import Process

from runtime.core.background import beside
from runtime.core.clock import Clock
from runtime.events.happening import Tell, unheard
from runtime.events.service import ModelLost
from runtime.llm.whisper.models import MEMORY_BYTES, PREFIX, check_model, folder_of

_ROOT = Path(__file__).parents[3]
_START = "import sys; sys.path.insert(0, sys.argv[1]); from runtime.llm.whisper.server import main; main()"
_BACKLOG = 64
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 30.0
_LONG_LIFE_S: Final = 60.0
_END_LIMIT_S = 5.0


class LocalWhisper:
    """A model of the data directory, served by a process of its own as long as the block lasts.

    The process is begun by the first recording, and again by the next one after it has died; requests wait in the
    socket meanwhile. Raises ConfigError when the extra or the model is not there: nothing is downloaded here.
    """

    def __init__(
        self,
        data_dir: Path,
        size: str,
        limit_s: float,
        clock: Clock,
        on_event: Tell = unheard,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """A recording may take `limit_s`."""
        self._folder = folder_of(data_dir, size)
        self._size = size
        self._limit_s = limit_s
        self._clock = clock
        self._on_event = on_event
        self._environment = {"HF_HUB_OFFLINE": "1", **(environment or {})}
        self._socket: socket.socket | None = None
        self._running = beside()
        self._process: Process | None = None

    @property
    def base_url(self) -> str:
        """The server's address, which ends in /v1."""
        assert self._socket is not None
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    @property
    def process_id(self) -> int | None:
        """The id of the process, while there is one."""
        return None if self._process is None else self._process.pid

    async def __aenter__(self) -> Self:
        await anyio.to_thread.run_sync(check_model, self._folder, self._size)
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self._socket.setblocking(False)
        tasks = await self._running.__aenter__()
        tasks.start_soon(self._supervise, self._socket)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            return await self._running.__aexit__(kind, error, trace)
        finally:
            assert self._socket is not None
            self._socket.close()

    async def _supervise(self, listens: socket.socket) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            await anyio.wait_readable(listens)
            begun_s = self._clock.monotonic()
            why = await self._live(listens)
            self._on_event(ModelLost(f"{PREFIX}{self._size}", why))
            now_s = self._clock.monotonic()
            pause_s = _FIRST_PAUSE_S if now_s - begun_s > _LONG_LIFE_S else min(2 * pause_s, _LONGEST_PAUSE_S)
            await self._clock.sleep_until(now_s + pause_s)

    async def _live(self, listens: socket.socket) -> str:
        """Run the process once, and return the reason for its end."""
        told = {
            "socket": listens.fileno(),
            "parent": os.getpid(),
            "folder": str(self._folder),
            "memory": MEMORY_BYTES[self._size],
            "limit_s": self._limit_s,
        }
        command = [sys.executable, "-P", "-c", _START, str(_ROOT), json.dumps(told)]
        try:
            process = await anyio.open_process(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                start_new_session=True,
                pass_fds=[listens.fileno()],
            )
        except OSError as error:
            return f"it cannot be started: {error.strerror or error}"
        self._process = process
        try:
            status = await process.wait()
        finally:
            self._process = None
            with anyio.CancelScope(shield=True), anyio.move_on_after(_END_LIMIT_S):
                if process.returncode is None:
                    process.kill()
                await process.aclose()
        return f"signal {-status}" if status < 0 else f"exit code {status}"
