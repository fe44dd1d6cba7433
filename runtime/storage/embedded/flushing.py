"""Flushing: the writes of Parley's own server reach the disk once a second.

The server could do that itself (`appendfsync everysec`). But while its own fsync is under way it holds back what it
should write, for up to two seconds (`flushAppendOnlyFile` in Valkey's aof.c), and answers all the same: killed in that
moment it has forgotten what it acknowledged, which a busy disk makes likely. With `appendfsync no` it writes before it
answers, so a kill loses nothing; this here is for the power.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from runtime.core.clock import Clock
from runtime.events.happening import Tell
from runtime.events.service import StorageDoubted

FLUSH_EVERY_S = 1.0

_Seen = dict[Path, tuple[int, int]]


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
