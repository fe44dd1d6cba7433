"""Processes of Parley that begin with its modules loaded: copies of one that has loaded them and does nothing else.

Most of what a start costs is loading modules, the same ones for every process; a run of these tests starts hundreds.
A copy has its own arguments, environment, folder and pipes, and executes `python -m gateway` from its first line. What
belongs to a process that loads everything itself is tried by the first process of each command, by those whose
environment is not `plain`, and by those which say that they begin fresh.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import re
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar

import anyio

LOADED = ("gateway.cli.commands", "gateway.assembly.app")
"""What every start needs."""

_MOST_BYTES = 100_000
_COMMAND = re.compile(r"[a-z-]+")
_NUMBER = struct.Struct("i")
_ROOT = Path(__file__).parents[2]
_ITS_OWN = ("PATH", "HOME")
_SAME = {"PYTHONPATH": str(_ROOT)}


def plain(environment: Mapping[str, str]) -> bool:
    """Whether nothing in it is for Python, libraries or what hides keys: these look at it when they are loaded."""
    return all(
        name in _ITS_OWN or _SAME.get(name) == value or (name.startswith("PARLEY_") and not name.endswith("_API_KEY"))
        for name, value in environment.items()
    )


class WarmProcess:
    """A copy that runs, with the names of `anyio.abc.Process` as far as tests need them."""

    def __init__(self, pid: int, stdin: int, pipes: Mapping[str, int], ended: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._pipes = {"stdin": stdin, **pipes}
        self._ended = ended
        self._waiting = anyio.Lock()

    async def output(self, name: str = "stdout") -> AsyncIterator[bytes]:
        """What it writes, until nobody can write there any more."""
        pipe = self._pipes[name]
        while piece := await _read(pipe, 1 << 16):
            yield piece
        self._close(name)

    async def all_output(self) -> tuple[str, str]:
        """Give it no input; what it has written and its errors, once it has ended."""
        self._close("stdin")
        written = {"stdout": b"", "stderr": b""}

        async def read(name: str) -> None:
            async for piece in self.output(name):
                written[name] += piece

        async with anyio.create_task_group() as tasks:
            for name in written:
                tasks.start_soon(read, name)
        await self.wait()
        return written["stdout"].decode(), written["stderr"].decode()

    async def wait(self) -> int:
        """Its exit code, once it has ended."""
        async with self._waiting:
            if self.returncode is None:
                self.returncode = _NUMBER.unpack(await _read(self._ended, _NUMBER.size))[0]
                os.close(self._ended)
                self._close("stdin")
        return self.returncode

    def _close(self, name: str) -> None:
        if name in self._pipes:
            os.close(self._pipes.pop(name))

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill -9."""
        self.send_signal(signal.SIGKILL)


class WarmStarts:
    """The process that is copied. In a run of tests there is one, `running`."""

    running: ClassVar[WarmStarts | None] = None

    def __init__(self, home: Path) -> None:
        self._seen: set[tuple[str, ...]] = set()
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command,
                cwd=_ROOT,
                env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), **_SAME},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    @property
    def process_id(self) -> int:
        """Its own."""
        return self._process.pid

    def has_seen(self, arguments: Sequence[str]) -> bool:
        """Whether it was asked this before about the same command, such as `run` or `sessions list`."""
        command = tuple(takewhile(_COMMAND.fullmatch, arguments[:2]))
        if command in self._seen:
            return True
        self._seen.add(command)
        return False

    async def begin(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, *, errors_apart: bool = False
    ) -> WarmProcess:
        """Start `python -m gateway ARGUMENTS` in a folder. Errors go where output goes, or to a pipe of their own."""
        stdin, stdout, ended = os.pipe(), os.pipe(), os.pipe()
        stderr = os.pipe() if errors_apart else None
        asked = {"arguments": list(arguments), "environment": dict(environment), "folder": str(folder)}
        theirs = [stdin[0], stdout[1], stdout[1] if stderr is None else stderr[1], ended[1]]
        socket.send_fds(self._ours, [json.dumps(asked).encode()], theirs)
        for end in set(theirs):
            os.close(end)
        pid = _NUMBER.unpack(await _read(ended[0], _NUMBER.size))[0]
        pipes = {"stdout": stdout[0]} | ({} if stderr is None else {"stderr": stderr[0]})
        return WarmProcess(pid, stdin[1], pipes, ended[0])

    def end(self) -> None:
        """End it; the copies are ended by who started them."""
        self._ours.close()
        self._process.wait()


def warm_for(arguments: Sequence[str], environment: Mapping[str, str]) -> WarmStarts | None:
    """What is copied for a process; None if it must load everything itself."""
    if WarmStarts.running is None or not plain(environment):
        return None
    return WarmStarts.running if WarmStarts.running.has_seen(arguments) else None


async def _read(pipe: int, most_bytes: int) -> bytes:
    await anyio.wait_readable(pipe)
    return os.read(pipe, most_bytes)


def _serve(control: socket.socket) -> dict[str, Any]:
    """Copy this process at each request. In a copy: return what it is to be. In the original: never return."""
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ)
    copies: dict[int, tuple[int, int]] = {}  # by the handle that tells the end: the process, and where to tell it
    while True:
        for ready, _ in selector.select():
            if ready.fileobj is not control:
                handle = ready.fd
                selector.unregister(handle)
                pid, ended = copies.pop(handle)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                _tell(ended, code)
                os.close(ended)
                os.close(handle)
                continue
            data, given, _, _ = socket.recv_fds(control, _MOST_BYTES, 4)
            if not data:
                os._exit(0)
            *standard, ended = given
            pid = os.fork()
            if not pid:
                selector.close()
                control.close()
                for other, (_, told) in copies.items():
                    os.close(other)
                    os.close(told)
                os.close(ended)
                for number, pipe in enumerate(standard):
                    os.dup2(pipe, number)
                for pipe in standard:
                    os.close(pipe)
                asked: dict[str, Any] = json.loads(data)
                return asked
            for pipe in standard:
                os.close(pipe)
            handle = os.pidfd_open(pid)
            copies[handle] = pid, ended
            selector.register(handle, selectors.EVENT_READ)
            _tell(ended, pid)


def _tell(pipe: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # who asked has given up
        os.write(pipe, _NUMBER.pack(number))


def _become(asked: Mapping[str, Any]) -> None:
    """Be what a fresh `python -m gateway` is after it has loaded these modules."""
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    os.chdir(asked["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["-m", *asked["arguments"]]
    sys.orig_argv = [sys.executable, "-m", "gateway", *asked["arguments"]]
    sys.path[0] = asked["folder"]
    runpy.run_module("gateway", run_name="__main__", alter_sys=True)


def main() -> None:
    """Load everything, then serve the socket whose number is the argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    _become(_serve(control))


if __name__ == "__main__":
    main()
