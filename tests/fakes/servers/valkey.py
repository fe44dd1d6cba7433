"""A real server for tests, that can be killed and started again on the same data."""

import socket
import subprocess
import time
from pathlib import Path

from runtime.storage.embedded.server_binary import find_server_binary
from runtime.storage.embedded.valkey import server_arguments

READY_LIMIT_S = 60.0


class RealValkey:
    """A server on a unix socket in `directory`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.socket = directory / "valkey.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return when the server answers."""
        self._process = subprocess.Popen(
            [str(find_server_binary()), *server_arguments(self.directory, self.socket)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + READY_LIMIT_S
        while not self._answers():
            assert time.monotonic() < deadline, "the server did not start"
            assert self._process.poll() is None, "the server ended"
            time.sleep(0.005)

    def kill(self) -> None:
        """End it at once, without a chance to write anything more."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def flush(self) -> None:
        """Forget all data."""
        assert self._ask(b"FLUSHALL") == b"+OK\r\n"

    def limit_memory(self, most_bytes: int) -> None:
        """Refuse writes that need memory while more than this is used; 0 is no limit."""
        assert self._ask(b"CONFIG SET maxmemory %d" % most_bytes) == b"+OK\r\n"

    def _answers(self) -> bool:
        try:
            return self._ask(b"PING") == b"+PONG\r\n"
        except OSError:
            return False

    def _ask(self, command: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(READY_LIMIT_S)
            connection.connect(str(self.socket))
            connection.sendall(command + b"\r\n")
            return connection.recv(1000)
