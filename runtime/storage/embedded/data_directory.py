"""The directory of one gateway: its user, its name, and its server's socket."""

from __future__ import annotations

import fcntl
import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.core.errors import ConfigError

SOCKET_PATH_LIMIT = 103
"""Bytes. `sun_path` holds 108 with its final zero on Linux (unix(7)) and 104 on macOS (unix(4))."""

_SOCKET_NAME = "valkey.sock"


def prepare(data_dir: Path) -> Path:
    """Make the directory, for this user only, and return its absolute path. Raises ConfigError."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        data_dir.chmod(0o700)
    except OSError as error:
        raise ConfigError(
            f"The data directory {data_dir} cannot be used ({error.strerror}). Choose another with --data-dir or "
            "PARLEY_DATA_DIR."
        ) from error
    return data_dir.resolve()


def try_lock(path: Path) -> int | None:
    """Lock a file, until its handle is closed; None where somebody else has."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


@contextmanager
def exclusive_use(data_dir: Path) -> Iterator[None]:
    """Keep every other gateway out of the directory. Raises ConfigError that names the process using it."""
    path = prepare(data_dir) / "node.lock"
    handle = try_lock(path)
    if handle is None:
        owner, _, url = path.read_text().strip().partition("\n")
        place = f", which runs at {url}" if url else ""
        raise ConfigError(
            f"The data directory {data_dir} is in use by another gateway (process {owner or 'unknown'}){place}. "
            "Stop it, or choose another directory with --data-dir."
        )
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(handle)


def note_address(data_dir: Path, url: str) -> None:
    """Say where the gateway that uses the directory runs, for who starts another one."""
    with (data_dir / "node.lock").open("a") as file:
        file.write(f"{url}\n")


def node_id(data_dir: Path) -> str:
    """The permanent random name of the gateway in this directory."""
    path = prepare(data_dir) / "node-id"
    if not path.exists() or not path.read_text().strip():
        _write(path, f"{uuid.uuid4().hex}\n")
    return path.read_text().strip()


def socket_path(data_dir: Path) -> Path:
    """The socket of this directory's server: in it, or in a short private directory that it remembers."""
    path = prepare(data_dir) / _SOCKET_NAME
    if _fits(path):
        return path
    note = path.parent / "socket-directory"
    directory = Path(note.read_text().strip()) if note.exists() else None
    if directory is None or not _is_private(directory):
        directory = Path(tempfile.mkdtemp(prefix="parley-"))
        _write(note, f"{directory}\n")
    if not _fits(directory / _SOCKET_NAME):
        raise ConfigError(f"The path {directory / _SOCKET_NAME} is too long for a socket. Set TMPDIR to a shorter one.")
    return directory / _SOCKET_NAME


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= SOCKET_PATH_LIMIT


def _is_private(directory: Path) -> bool:
    try:
        status = directory.lstat()
    except OSError:
        return False
    return directory.is_dir() and status.st_uid == os.getuid() and status.st_mode & 0o777 == 0o700


def _write(path: Path, text: str) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(text)
    draft.replace(path)
