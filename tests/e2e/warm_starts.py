"""Processes of Parley that begin with its modules loaded: copies of one that has loaded them and does nothing else.

Most of what a start costs is loading modules, the same ones for every process; a run of these tests starts hundreds.
A copy has its own arguments, environment, folder and pipes, and executes `python -m gateway` from its first line. What
belongs to a process that loads everything itself is tried by the first process of each command, by those whose
environment is not `plain`, and by those which say that they begin fresh.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import re
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import ClassVar, TypeAlias

import anyio
from msgspec import Struct

PRODUCT = (
    "gateway.assembly.app",
    "gateway.assembly.probes",
    "gateway.assembly.standalone",
    "gateway.cli.commands",
    "gateway.dev.folder",
    "gateway.features.usage.ledger",
    "gateway.talks.running",
    "runtime.authoring.program",
    "runtime.sandbox.monty",
    "runtime.storage.embedded.valkey",
    "runtime.storage.memory.sessions",
    "runtime.storage.redis.client.server_check",
    "runtime.storage.redis.mailboxes",
    "runtime.storage.redis.records",
    "runtime.storage.redis.sessions.catalog",
    "anyio._backends._asyncio",
    "httpcore",
    "uvicorn.lifespan.off",
)
"""What gateways and commands need."""

SERVERS = ("anyio._backends._asyncio", "gateway.web.server", "mcp.server.mcpserver", "mcp.server.stdio")
"""What the servers of remote agents need: tests/fakes/protocols/."""

_MOST_BYTES = 200_000
_COMMAND = re.compile(r"[a-z-]+")
_NUMBER = struct.Struct("i")
_ROOT = Path(__file__).parents[2]
_STAND_IN = Path(__file__).with_name("stand_in.py")
_ITS_OWN = ("PATH", "HOME", "COLUMNS")
Asked: TypeAlias = tuple[str, list[str], dict[str, str], str]
"""What a copy is to be: its module, arguments, environment and folder."""

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
    """The process that is copied. In a run of tests there is one for Parley, `running`, and one for `servers`.

    Copies of the process that has begun it may use it too.
    """

    running: ClassVar[WarmStarts | None] = None
    servers: ClassVar[WarmStarts | None] = None

    def __init__(self, home: Path, loaded: Sequence[str] = PRODUCT) -> None:
        self._home = home
        self._place = home / "warm"
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(self._place))
            listener.listen()
            files = [theirs.fileno(), listener.fileno()]
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, *map(str, files), *loaded],
                cwd=_ROOT,
                env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), **_SAME},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=files,
            )

    @classmethod
    @contextlib.contextmanager
    def of(cls, home: Path, loaded: Sequence[str] = PRODUCT) -> Iterator[WarmStarts | None]:
        """One as long as the block lasts: on Linux, where a copy is a whole process."""
        if sys.platform != "linux":
            yield None
            return
        warm = cls(home, loaded)
        yield warm
        warm.end()

    @property
    def process_id(self) -> int:
        """Its own."""
        return self._process.pid

    def has_seen(self, arguments: Sequence[str]) -> bool:
        """Whether any process of the run of tests asked this before about the same command, such as `sessions list`."""
        command = " ".join(takewhile(_COMMAND.fullmatch, arguments[:2]))
        try:
            (self._home / f"seen {command}").touch(exist_ok=False)
        except FileExistsError:
            return True
        return False

    async def begin(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, *, errors_apart: bool = False
    ) -> WarmProcess:
        """Start `python -m gateway ARGUMENTS` in a folder. Errors go where output goes, or to a pipe of their own."""
        stdin, stdout, ended = os.pipe(), os.pipe(), os.pipe()
        stderr = os.pipe() if errors_apart else None
        asked = ["gateway", list(arguments), dict(environment), str(folder)]
        theirs = [stdin[0], stdout[1], stdout[1] if stderr is None else stderr[1], ended[1]]
        socket.send_fds(self._ours, [marshal.dumps(asked)], theirs)
        for end in set(theirs):
            os.close(end)
        pid = _NUMBER.unpack(await _read(ended[0], _NUMBER.size))[0]
        pipes = {"stdout": stdout[0]} | ({} if stderr is None else {"stderr": stderr[0]})
        return WarmProcess(pid, stdin[1], pipes, ended[0])

    def command(self, module: str, *arguments: str) -> list[str]:
        """The command line of a process that stands in for a copy, `python -m MODULE ARGUMENTS`: see `stand_in`."""
        return [sys.executable, "-I", "-S", str(_STAND_IN), str(self._place), module, *arguments]

    def end(self) -> None:
        """End it; the copies are ended by who started them."""
        self._ours.close()
        self._process.wait()


def warm_for(arguments: Sequence[str], environment: Mapping[str, str]) -> WarmStarts | None:
    """What is copied for a process; None if it must load everything itself."""
    if WarmStarts.running is None or not plain(environment):
        return None
    return WarmStarts.running if WarmStarts.running.has_seen(arguments) else None


def parley_command(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The command line of `parley ARGUMENTS` in this environment, for tests that start it themselves."""
    warm = warm_for(arguments, environment)
    return [sys.executable, "-m", "gateway", *arguments] if warm is None else warm.command("gateway", *arguments)


def server_command(module: str, *arguments: str) -> list[str]:
    """The command line of a server that tests imitate."""
    warm = WarmStarts.servers
    return [sys.executable, "-m", module, *arguments] if warm is None else warm.command(module, *arguments)


async def _read(pipe: int, most_bytes: int) -> bytes:
    await anyio.wait_readable(pipe)
    return os.read(pipe, most_bytes)


class _Copy(Struct, frozen=True):
    """A process, where its end is told, and the stand-in that asked for it."""

    pid: int
    ended: int
    stand_in: socket.socket | None


class _Original:
    """The process that is copied, and what it knows of its copies."""

    def __init__(self, control: socket.socket, listener: socket.socket) -> None:
        self._control, self._listener = control, listener
        self._copies: dict[int, _Copy] = {}  # by the handle that tells its end
        self._selector = selectors.DefaultSelector()
        for one in (control, listener):
            self._selector.register(one, selectors.EVENT_READ)

    def serve(self) -> Asked:
        """Copy this process at each request. In a copy: return what it is to be. In the original: never return."""
        while True:
            for ready, _ in self._selector.select():
                one = ready.fileobj
                if one is self._listener:
                    self._selector.register(self._listener.accept()[0], selectors.EVENT_READ)
                elif not isinstance(one, socket.socket):
                    self._ended(ready.fd)
                elif (asked := self._heard(one)) is not None:
                    return asked

    def _heard(self, asks: socket.socket) -> Asked | None:
        data, given = b"", list[int]()
        with contextlib.suppress(ConnectionError):  # a stand-in was killed before it read what it was told
            data, given, _, _ = socket.recv_fds(asks, _MOST_BYTES, 4)
        if not data:
            self._left(asks)
            return None
        stand_in = None if asks is self._control else asks
        *standard, ended = given if stand_in is None else [*given, os.dup(stand_in.fileno())]
        pid = os.fork()
        if not pid:
            open_files = [known.fd for known in self._selector.get_map().values()]
            self._selector.close()
            for file in open_files:
                os.close(file)
            for copy in self._copies.values():
                os.close(copy.ended)
            os.close(ended)
            for number, pipe in enumerate(standard):
                os.dup2(pipe, number)
            for pipe in standard:
                os.close(pipe)
            asked: Asked = marshal.loads(data)
            return asked
        for pipe in standard:
            os.close(pipe)
        handle = os.pidfd_open(pid)
        self._copies[handle] = _Copy(pid, ended, stand_in)
        self._selector.register(handle, selectors.EVENT_READ)
        _tell(ended, pid)
        return None

    def _ended(self, handle: int) -> None:
        self._selector.unregister(handle)
        copy = self._copies.pop(handle)
        _tell(copy.ended, os.waitstatus_to_exitcode(os.waitpid(copy.pid, 0)[1]))
        os.close(copy.ended)
        os.close(handle)

    def _left(self, asks: socket.socket) -> None:
        """Whoever asked is gone. This process ends with the run of tests, and a copy with its stand-in."""
        if asks is self._control:
            os._exit(0)
        self._selector.unregister(asks)
        asks.close()
        for copy in self._copies.values():
            if copy.stand_in is asks:
                os.kill(copy.pid, signal.SIGKILL)


def _tell(pipe: int, number: int) -> None:
    with contextlib.suppress(ConnectionError):  # who asked has given up
        os.write(pipe, _NUMBER.pack(number))


def _become(asked: Asked) -> None:
    """Be what a fresh `python -m MODULE` is after it has loaded these modules, and end without taking them apart."""
    module, arguments, environment, folder = asked
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["-m", *arguments]
    sys.orig_argv = [sys.executable, "-m", module, *arguments]
    sys.path[0] = folder
    code: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    if not isinstance(code, int | None):
        sys.exit(code)  # type: ignore[arg-type]
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for output in (sys.stdout, sys.stderr):
        output.flush()
    os._exit(code or 0)


def main() -> None:
    """Load what the other arguments name, then serve the sockets whose numbers are the first two."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control, listener = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    for name in sys.argv[3:]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    _become(_Original(control, listener).serve())


if __name__ == "__main__":
    main()
