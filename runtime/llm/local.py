"""Models on this machine: a GGUF file served from inside this process, and Whisper, which writes down recordings in a
process of its own (extra `voice`). The gateway sees each as an address that OpenAI's protocol is spoken at.

model's process ──http──> socket of ours ──> process that listens
                          there from the start      begun by the first recording
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Self

import anyio
import anyio.to_thread
from anyio.abc import Process

from runtime.core.background import beside
from runtime.core.clock import Clock
from runtime.core.errors import ConfigError, NotInstalled
from runtime.events.happening import Tell, unheard
from runtime.events.service import ModelLost

_CONTEXT_TOKENS = 16_384

PREFIX: Final = "whisper/"
"""What the name of such a model begins with, in the settings."""

_GIB = 1024**3

MEMORY_BYTES: Final[Mapping[str, int]] = {
    "tiny": 2 * _GIB,
    "base": 2 * _GIB,
    "small": 3 * _GIB,
    "medium": 6 * _GIB,
    "large-v3": 10 * _GIB,
    "large-v3-turbo": 6 * _GIB,
}
"""The models by size, as faster-whisper names them, with the most memory that their process may take."""

_FILES = ("model.bin", "config.json", "tokenizer.json")

_ROOT = Path(__file__).parents[2]
_START = "import sys; sys.path.insert(0, sys.argv[1]); from runtime.llm.whisper_server import main; main()"
_BACKLOG = 64
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 30.0
_LONG_LIFE_S: Final = 60.0
_END_LIMIT_S = 5.0


class LocalGGUF:
    """Serves a GGUF file with llama.cpp's server, inside this process, on a free loopback port.

    Entering loads the file (seconds); `base_url` is then for the provider `openai/…`. Raises ConfigError when the
    extra is not installed or the file cannot be loaded.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._server: Any = None

    @property
    def base_url(self) -> str:
        """The server's address, which ends in /v1."""
        return f"{self._server.listening_address}/v1"

    async def __aenter__(self) -> Self:
        if not await anyio.Path(self._file).is_file():
            raise ConfigError(f"The GGUF file {self._file} does not exist.")
        xllamacpp = _import_xllamacpp()
        try:
            self._server = await anyio.to_thread.run_sync(self._load, xllamacpp)
        except (RuntimeError, ValueError, OSError) as error:
            raise ConfigError(f"The GGUF file {self._file} cannot be loaded: {error}") from error
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self._server = None  # the last reference: its destructor stops the server's threads

    def _load(self, xllamacpp: ModuleType) -> Any:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self._file)
        parameters.n_ctx = _CONTEXT_TOKENS
        parameters.n_parallel = 1
        parameters.port = 0
        return xllamacpp.Server(parameters)


def folder_of(data_dir: Path, size: str) -> Path:
    return data_dir / "whisper" / size


def is_there(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _FILES)


def check_size(size: str) -> None:
    if size not in MEMORY_BYTES:
        raise ConfigError(f"There is no Whisper model {size!r}; there are: {', '.join(MEMORY_BYTES)}.")


def check_installed() -> None:
    if find_spec("faster_whisper") is None:
        raise ConfigError("Whisper on this machine needs the extra 'voice': install parley-gateway[voice].")


def check_model(folder: Path, size: str) -> None:
    """Raise ConfigError for a model that cannot be used here."""
    check_size(size)
    check_installed()
    if not is_there(folder):
        raise ConfigError(f"The Whisper model {size} is not in {folder}. Download it once: parley setup voice {size}")


def download(size: str, folder: Path) -> None:
    """Fetch a model from the Hugging Face Hub. Raises ConfigError, also where it cannot be fetched."""
    check_size(size)
    check_installed()
    from faster_whisper import download_model  # noqa: PLC0415 - an extra, used by few

    try:
        folder.mkdir(parents=True, exist_ok=True)
        download_model(size, output_dir=str(folder))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The Whisper model {size} cannot be downloaded: {error}") from error
    if not is_there(folder):
        raise ConfigError(f"The Whisper model {size} was not downloaded to its end; try again.")


class LocalWhisper(anyio.AsyncContextManagerMixin):
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
        self._process: Process | None = None

    @property
    def base_url(self) -> str:
        """The server's address, which ends in /v1."""
        assert self._socket is not None
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    @property
    def process_id(self) -> int | None:
        return None if self._process is None else self._process.pid

    @asynccontextmanager
    async def __asynccontextmanager__(self) -> AsyncGenerator[Self]:
        await anyio.to_thread.run_sync(check_model, self._folder, self._size)
        with socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG) as self._socket:
            self._socket.setblocking(False)
            async with beside() as tasks:
                tasks.start_soon(self._supervise, self._socket)
                yield self

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


def _import_xllamacpp() -> ModuleType:
    try:
        import xllamacpp  # noqa: PLC0415 - an extra, used by few
    except ImportError as error:
        raise NotInstalled(
            "A GGUF file needs the extra 'local': install parley-gateway[local], or choose another model."
        ) from error
    module: ModuleType = xllamacpp
    return module
