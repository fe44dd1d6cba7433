"""The server of gateways that were given a URL: started by the rig, and again whenever it died."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import anyio

from runtime.storage.embedded.server_binary import find_server_binary
from runtime.storage.embedded.valkey import server_arguments

_READY_LIMIT_S = 60.0
_ANSWER_LIMIT_S = 20.0
_PAUSE_S = 0.02


class OutsideServer:
    """A Valkey on the socket `valkey.sock` of its directory, as somebody's service manager would keep it."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self.socket = directory / "valkey.sock"
        self._directory = directory
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = anyio.Lock()

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Return when it answers. There is one, however many faults end at once: two would share its files."""
        async with self._starting:
            if self._process is None:
                await self._start()

    async def _start(self) -> None:
        self._process = subprocess.Popen(  # noqa: ASYNC220 - it starts within a millisecond, and is awaited nowhere
            [str(find_server_binary()), *server_arguments(self._directory, self.socket)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,
        )
        with anyio.fail_after(_READY_LIMIT_S):
            while await ask(self.socket, b"PING") != b"+PONG":  # noqa: ASYNC110 - a server tells nobody that it is up
                await anyio.sleep(_PAUSE_S)

    def kill(self) -> None:
        """Kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


async def ask(path: Path, command: bytes) -> bytes:
    """The first line of a server's answer to a command; empty where there is none."""
    try:
        with anyio.fail_after(_ANSWER_LIMIT_S):
            async with await anyio.connect_unix(path) as stream:
                await stream.send(command + b"\r\n")
                return (await stream.receive()).split(b"\r\n")[0]
    except (OSError, TimeoutError, anyio.EndOfStream, anyio.BrokenResourceError):
        return b""
