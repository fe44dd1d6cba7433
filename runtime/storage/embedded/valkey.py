"""The server that comes with us: a Valkey of our own on a unix socket, its data in the data directory.

    gateway ──pipe──> sh (its own session) ──> valkey-server ──> appendonlydir/
                       └─ reads the pipe; at its end it stops the server

The pipe ends however the gateway ends, so the server never outlives it. The shell, the server and nobody else hold a
lock on `valkey.lock`, so a directory never has two servers. What the server has answered is in its append-only file:
killing any of the three loses nothing; losing power may cost the last second.

The writes reach the disk once a second, by `keep_flushed`. The server could do that itself (`appendfsync everysec`).
But while its own fsync is under way it holds back what it should write, for up to two seconds (`flushAppendOnlyFile` in
Valkey's aof.c), and answers all the same: killed in that moment it has forgotten what it acknowledged, which a busy
disk makes likely. With `appendfsync no` it writes before it answers.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import Process, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from runtime.core.background import beside
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import ConfigError, StorageUnavailable
from runtime.events.happening import Tell, unheard
from runtime.events.service import StorageBack, StorageDoubted, StorageLost
from runtime.storage.embedded.data_directory import prepare, socket_path, try_lock
from runtime.storage.embedded.server_binary import find_server_binary

RESTARTS_PER_MINUTE = 5

_START_LIMIT_S = 60.0
_STOP_LIMIT_S = 2.0
_ANSWER_LIMIT_S = 2.0
_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.1
_LOG_LIMIT_BYTES = 1_000_000
_LEAST_FREE_BYTES = 64 * 1024
_SHOWN_LOG_BYTES = 500

_LOG_GROWTH_PERCENT = 50
"""The growth from which the server rewrites its log, in percent of the data; the server's default is 100."""

_GUARD = """
umask 077
exec 3<&0
"$@" </dev/null 3<&- &
server=$!
{ read -r _ <&3; kill -TERM $server; } 2>/dev/null &
guard=$!
exec 3<&-
wait $server
status=$?
kill -KILL $guard 2>/dev/null
wait $guard 2>/dev/null
exit $status
"""

FLUSH_EVERY_S = 1.0

_Seen = dict[Path, tuple[int, int]]


def server_arguments(data_dir: Path, socket: Path) -> list[str]:
    """Settings for a server that only this user reaches, and that neither loses nor evicts data."""
    settings = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(data_dir),
        "appendonly": "yes",
        "appendfsync": "no",
        "auto-aof-rewrite-percentage": str(_LOG_GROWTH_PERCENT),
        "save": "",
        "maxmemory-policy": "noeviction",
        "databases": "1",
        "loglevel": "warning",
    }
    return [part for name, value in settings.items() for part in (f"--{name}", value)]


class EmbeddedValkey(anyio.AsyncContextManagerMixin):
    """`async with EmbeddedValkey(data_dir) as socket`: a server that answers at `socket`, as long as the block lasts.

    A server that already runs for this directory is used and left alone. One that dies is started again, at most
    `RESTARTS_PER_MINUTE` times; `on_event` hears storage.lost and storage.back. Raises ConfigError when there is
    nothing to start, StorageUnavailable when it does not start or dies too often.
    """

    def __init__(self, data_dir: Path, *, on_event: Tell = unheard) -> None:
        self._data_dir = data_dir
        self._on_event = on_event
        self._clock = SystemClock()
        self._server: _OwnServer | _OtherServer

    @asynccontextmanager
    async def __asynccontextmanager__(self) -> AsyncGenerator[Path]:
        data_dir, socket = prepare(self._data_dir), socket_path(self._data_dir)
        self._server = await _obtain(data_dir, socket)
        try:
            async with beside() as tasks:
                tasks.start_soon(self._supervise, data_dir, socket)
                tasks.start_soon(keep_flushed, data_dir / "appendonlydir", self._clock, self._on_event)
                yield socket
        finally:
            with anyio.CancelScope(shield=True):
                await self._server.stop()

    async def _supervise(self, data_dir: Path, socket: Path) -> None:
        restarts: deque[float] = deque(maxlen=RESTARTS_PER_MINUTE)
        while True:
            why, lost_at = await self._server.ended(), self._clock.monotonic()
            while why:
                self._on_event(StorageLost(why, str(socket)))
                now = self._clock.monotonic()
                if len(restarts) == RESTARTS_PER_MINUTE and now - restarts[0] < 60:
                    raise StorageUnavailable(
                        f"The server of {data_dir} died {RESTARTS_PER_MINUTE + 1} times within a minute ({why}). "
                        f"See {_log_path(data_dir)}.{_log_end(data_dir)}"
                    )
                restarts.append(now)
                try:
                    self._server, why = await _obtain(data_dir, socket), ""
                except _DiedAtStart as error:
                    why = error.why
            self._on_event(StorageBack(self._clock.monotonic() - lost_at, str(socket)))


class _DiedAtStart(StorageUnavailable):
    """A server has ended before it answered."""

    def __init__(self, data_dir: Path, why: str) -> None:
        super().__init__(f"The server of {data_dir} did not start ({why}).{_log_end(data_dir)}{_full(data_dir)}")
        self.why = why


class _OwnServer:
    """A server that this process started, behind its guard."""

    def __init__(self, guard: Process) -> None:
        self._guard = guard

    @property
    def has_ended(self) -> bool:
        return self._guard.returncode is not None

    async def ended(self) -> str:
        status = await self._guard.wait()
        await self._guard.aclose()
        return f"signal {status - 128}" if status > 128 else f"exit code {status}"

    async def stop(self) -> None:
        """Close the pipe, which makes the guard stop the server. One that does not stop in time is killed."""
        assert self._guard.stdin is not None
        await self._guard.stdin.aclose()
        with anyio.move_on_after(_STOP_LIMIT_S):
            await self._guard.wait()
        if self._guard.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._guard.pid, signal.SIGKILL)
            await self._guard.wait()


class _OtherServer:
    """A server that another process started for the same directory. It ends for us when our connection ends."""

    def __init__(self, connection: SocketStream) -> None:
        self._connection = connection

    async def ended(self) -> str:
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await self._connection.receive()
        await self._connection.aclose()
        return "its owner stopped it"

    async def stop(self) -> None:
        await self._connection.aclose()


async def keep_flushed(folder: Path, clock: Clock, on_event: Tell) -> None:
    """Flush those files of `folder` that have changed, once a second, until cancelled.

    A disk that refuses is told as storage.doubted when it begins to.
    """
    seen: _Seen = {}
    refused = ""
    while True:
        await clock.sleep_until(clock.monotonic() + FLUSH_EVERY_S)
        try:
            seen = await anyio.to_thread.run_sync(_flush, folder, seen, abandon_on_cancel=True)
        except OSError as error:
            reason = f"{folder} cannot be flushed ({error.strerror}): losing power would lose more than a second."
            if reason != refused:
                on_event(StorageDoubted(reason))
            refused = reason
        else:
            refused = ""


async def _obtain(data_dir: Path, socket: Path) -> _OwnServer | _OtherServer:
    """Start a server, or find the one that holds the lock; one that is starting or stopping is waited for."""
    try:
        with anyio.fail_after(_START_LIMIT_S):
            pause_s = _FIRST_PAUSE_S
            while True:
                lock = try_lock(data_dir / "valkey.lock")
                if lock is not None:
                    try:
                        return await _start(data_dir, socket, lock)
                    finally:
                        os.close(lock)
                connection = await _connect(socket, data_dir)
                if connection is not None:
                    return _OtherServer(connection)
                await anyio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    except TimeoutError:
        raise StorageUnavailable(
            f"The server of {data_dir} was not ready within {_START_LIMIT_S:.0f} s. "
            f"See {_log_path(data_dir)}.{_log_end(data_dir)}"
        ) from None


async def _start(data_dir: Path, socket: Path, lock: int) -> _OwnServer:
    command = [str(find_server_binary()), *server_arguments(data_dir, socket)]
    _close_to_others(data_dir / "appendonlydir")
    log = _open_log(data_dir)
    try:
        with anyio.CancelScope(shield=True):
            guard = await anyio.open_process(
                ["/bin/sh", "-c", _GUARD, "parley-valkey", *command],
                stdout=log,
                stderr=log,
                env={"LC_ALL": "C"},
                start_new_session=True,
                pass_fds=(lock,),
            )
    except OSError as error:
        raise ConfigError(f"The server {command[0]} cannot be started: {error.strerror}.") from error
    finally:
        os.close(log)
    server = _OwnServer(guard)
    try:
        await _wait_until_ready(server, data_dir, socket)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await server.stop()
        raise
    return server


async def _wait_until_ready(server: _OwnServer, data_dir: Path, socket: Path) -> None:
    pause_s = _FIRST_PAUSE_S
    while (connection := await _connect(socket, data_dir)) is None:
        if server.has_ended:
            raise _DiedAtStart(data_dir, await server.ended())
        await anyio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    await connection.aclose()


async def _connect(socket: Path, data_dir: Path) -> SocketStream | None:
    """A connection to the server of this directory; None while no server has loaded its data."""
    try:
        with anyio.fail_after(_ANSWER_LIMIT_S):
            connection = await anyio.connect_unix(socket)
            try:
                if await _serves(connection, data_dir):
                    return connection
            except BaseException:
                await connection.aclose()
                raise
            await connection.aclose()
    except (OSError, TimeoutError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.IncompleteRead):
        return None
    return None


async def _serves(connection: SocketStream, data_dir: Path) -> bool:
    answer = BufferedByteReceiveStream(connection)
    await connection.send(b"PING\r\nCONFIG GET dir\r\n")
    if await answer.receive_until(b"\r\n", 1000) != b"+PONG":
        return False
    header = [await answer.receive_until(b"\r\n", 1000) for _ in range(4)]
    return header[0] == b"*2" and await answer.receive_until(b"\r\n", 10_000) == os.fsencode(data_dir)


def _close_to_others(folder: Path) -> None:
    """Make files private that a server wrote before it was told to keep them so."""
    if folder.is_dir():
        folder.chmod(0o700)
        for path in folder.iterdir():
            path.chmod(0o600)


def _log_path(data_dir: Path) -> Path:
    return data_dir / "valkey.log"


def _open_log(data_dir: Path) -> int:
    path = _log_path(data_dir)
    fresh = path.exists() and path.stat().st_size > _LOG_LIMIT_BYTES
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_APPEND | (os.O_TRUNC if fresh else 0), 0o600)


def _full(data_dir: Path) -> str:
    """What an error adds where the disk is full: then the server cannot even write its log."""
    try:
        free = shutil.disk_usage(data_dir).free
    except OSError:
        return ""
    return (
        ""
        if free > _LEAST_FREE_BYTES
        else f" The disk of {data_dir} is full ({free // 1024} KiB free): free some space."
    )


def _log_end(data_dir: Path) -> str:
    """The last lines of the server's log, for an error."""
    try:
        text = _log_path(data_dir).read_bytes()[-_SHOWN_LOG_BYTES:].decode(errors="replace").strip()
    except OSError:
        return ""
    return f" Its last words: {text}" if text else ""


def _flush(folder: Path, seen: _Seen) -> _Seen:
    """Flush every file that differs from `seen`; returns the earlier state."""
    found: _Seen = {}
    for path in folder.glob("*.aof"):
        with suppress(FileNotFoundError):  # the server has put another in its place
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                state = os.fstat(handle)
                found[path] = (state.st_size, state.st_mtime_ns)
                if found[path] != seen.get(path):
                    os.fsync(handle)
            finally:
                os.close(handle)
    return found
