"""Backups of a data directory: one file, written while its server runs or not, and put back into an empty directory.

The server writes to its append-only file before it answers, so a copy of that file has everything acknowledged. It
has several parts, which a manifest lists; a rewrite replaces parts and manifest while we copy. So all parts are
opened first, which keeps them, and the manifest is read again: if it is the same, what is open belongs together. The
last part may end in the middle of a command. The server cuts that off when it starts (`aof-load-truncated`, on by
default), a transaction as a whole.

The archive is copied after the log. A session leaves the log only when the archive has it, so one of the copies has
it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from msgspec import Struct

from runtime.core.errors import ConfigError, StorageUnavailable
from runtime.storage.embedded.data_directory import exclusive_use, prepare, try_lock

FORMAT = 1
LOG = "appendonlydir"
ARCHIVE = "archive.sqlite"

_MANIFEST = f"{LOG}/appendonly.aof.manifest"
_CONTENTS = "backup.json"
_INDEX = "tapes-index.sqlite"
_TRIES = 50
_PIECE_BYTES = 1 << 20
_PART = re.compile(r"^file (\S+) seq \d+ type [bi]\b", re.MULTILINE)
"""A part that is needed; what has type h is only waiting to be deleted."""


class BackupHead(Struct, frozen=True):
    """The head of a backup file: when it was begun, and its size in bytes before compression."""

    made_at: datetime
    size: int


def has_state(data_dir: Path) -> bool:
    """Whether anything was ever kept in the directory."""
    return any((data_dir / name).exists() for name in (LOG, ARCHIVE))


def write_backup(data_dir: Path, target: Path, now: datetime) -> BackupHead:
    """Write everything that the directory keeps into one file, which only this user can read.

    A file of that name is replaced when the new one is complete. Raises ConfigError where there is nothing to keep or
    the file cannot be written, StorageUnavailable where the log changes too fast to be copied.
    """
    if not (data_dir / _MANIFEST).exists():
        raise ConfigError(f"There is nothing to back up: {data_dir} has no database.")
    draft = target.with_name(target.name + ".new")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with ExitStack() as stack:
            stack.callback(draft.unlink, missing_ok=True)
            plain = stack.enter_context(os.fdopen(handle, "wb"))
            with gzip.GzipFile(fileobj=plain, mode="wb", mtime=0) as packed:
                size = _write(data_dir, packed, now, stack)
            plain.flush()
            os.fsync(plain.fileno())
            draft.replace(target)
    except OSError as error:
        raise ConfigError(f"The backup {target} cannot be written: {error.strerror}.") from error
    return BackupHead(now, size)


def restore_backup(source: Path, data_dir: Path, now: datetime, *, replace: bool = False) -> BackupHead:
    """Put a backup into the directory, whole or not at all; what is in it is checked first.

    With `replace`, what was there moves to a folder of its own in the directory. Raises ConfigError for a file that is
    no whole backup, and for a directory that has state or is in use.
    """
    with exclusive_use(data_dir), _no_server(data_dir):
        data_dir = prepare(data_dir)
        if has_state(data_dir) and not replace:
            raise ConfigError(
                f"{data_dir} has a database already, so nothing was restored. Choose another directory "
                "with --data-dir, or add --replace, which moves the existing state to a separate folder."
            )
        fresh = data_dir / "restoring"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        try:
            backup = _read(source, fresh)
            _move_away(data_dir, f"before-{now:%Y%m%d-%H%M%S}")
            for name in (ARCHIVE, LOG):  # the log last: without it the directory counts as empty
                if (fresh / name).exists():
                    (fresh / name).rename(data_dir / name)
        except OSError as error:
            raise ConfigError(f"The backup {source} cannot be restored: {error.strerror or error}.") from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return backup


def _write(data_dir: Path, packed: gzip.GzipFile, now: datetime, stack: ExitStack) -> int:
    """The members of the file, and last the list of them, without which it is not whole."""
    listed: dict[str, dict[str, object]] = {}
    with tarfile.open(fileobj=packed, mode="w") as tar:

        def add(name: str, content: IO[bytes], size: int) -> None:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = size, 0o600, int(now.timestamp())
            hashed = _Hashed(content, size)
            tar.addfile(entry, hashed)
            listed[name] = {"bytes": size, "sha256": hashed.hash.hexdigest()}

        for name, content, size in _log_parts(data_dir, stack):
            add(name, content, size)
        if (data_dir / ARCHIVE).exists():
            copy = stack.enter_context(_copy_of_archive(data_dir / ARCHIVE))
            add(ARCHIVE, copy, os.fstat(copy.fileno()).st_size)
        total = sum(int(str(each["bytes"])) for each in listed.values())
        contents = {"format": FORMAT, "made_at": now.isoformat(), "files": listed}
        written = json.dumps(contents, indent=1).encode()
        add(_CONTENTS, io.BytesIO(written), len(written))
    return total


def _log_parts(data_dir: Path, stack: ExitStack) -> list[tuple[str, BinaryIO, int]]:
    """The manifest and the parts that it names, opened together: name, content, bytes."""
    for _ in range(_TRIES):
        with ExitStack() as opened:
            manifest = (data_dir / _MANIFEST).read_bytes()
            names = [f"{LOG}/{name}" for name in _PART.findall(manifest.decode())]
            parts = []
            with suppress(FileNotFoundError):  # a rewrite has replaced it: begin again
                for name in names:
                    part = opened.enter_context((data_dir / name).open("rb"))
                    parts.append((name, part, os.fstat(part.fileno()).st_size))
                if (data_dir / _MANIFEST).read_bytes() == manifest:
                    stack.enter_context(opened.pop_all())
                    return [(_MANIFEST, io.BytesIO(manifest), len(manifest)), *parts]
    raise StorageUnavailable(f"The database in {data_dir} changed its files each time they were read. Try again.")


@contextmanager
def _copy_of_archive(path: Path) -> Iterator[BinaryIO]:
    """A copy at one moment, also while a gateway writes."""
    copy = path.with_name(path.name + ".copy")
    copy.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(path)) as archive, closing(sqlite3.connect(copy)) as into:
            archive.backup(into)
        with copy.open("rb") as content:
            yield content
    except sqlite3.Error as error:
        raise StorageUnavailable(f"The archive {path} cannot be copied: {error}.") from error
    finally:
        copy.unlink(missing_ok=True)


def _read(source: Path, into: Path) -> BackupHead:
    """Unpack into an empty folder. Raises ConfigError for what is no whole backup of ours."""
    found: dict[str, dict[str, object]] = {}
    contents: dict[str, object] = {}
    try:
        with tarfile.open(source, "r:gz") as tar:
            for entry in tar:
                content = tar.extractfile(entry) if entry.isreg() and _is_ours(entry.name) else None
                if content is None:
                    raise ConfigError(f"{source} is not a backup of Parley: it contains {entry.name!r}.")
                if entry.name == _CONTENTS:
                    contents = json.load(content)
                    continue
                path = into / entry.name
                path.parent.mkdir(mode=0o700, exist_ok=True)
                hashed = _Hashed(content, entry.size)
                with path.open("wb") as file:
                    shutil.copyfileobj(hashed, file, _PIECE_BYTES)
                    os.fsync(file.fileno())
                path.chmod(0o600)
                found[entry.name] = {"bytes": entry.size, "sha256": hashed.hash.hexdigest()}
    except FileNotFoundError as error:
        raise ConfigError(f"There is no file {source}.") from error
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, ValueError) as error:
        raise ConfigError(f"{source} is not a whole backup of Parley: {error}.") from error
    if contents.get("format") != FORMAT:
        what = "it was cut off" if not contents else f"it has format {contents.get('format')}, not {FORMAT}"
        raise ConfigError(f"{source} is not a backup that this Parley can restore: {what}.")
    if contents["files"] != found:
        raise ConfigError(f"{source} is damaged: its files are not those that it lists.")
    made_at = datetime.fromisoformat(str(contents["made_at"]))
    return BackupHead(made_at, sum(int(str(each["bytes"])) for each in found.values()))


def _is_ours(name: str) -> bool:
    path = PurePosixPath(name)
    return name in (_CONTENTS, ARCHIVE) or (path.parts[:-1] == (LOG,) and path.name not in ("..", "."))


def _move_away(data_dir: Path, name: str) -> None:
    """What is there goes to a folder of its own; the index of tapes goes altogether, since it can be made anew."""
    for index in data_dir.glob(f"{_INDEX}*"):
        index.unlink()
    there = [path for path in (data_dir / LOG, *sorted(data_dir.glob(f"{ARCHIVE}*"))) if path.exists()]
    if there:
        before = data_dir / name
        before.mkdir(mode=0o700, exist_ok=True)
        for path in there:
            path.rename(before / path.name)


@contextmanager
def _no_server(data_dir: Path) -> Iterator[None]:
    """Keep a server of the directory from starting in the block. Raises ConfigError while one runs."""
    handle = try_lock(data_dir / "valkey.lock")
    if handle is None:
        raise ConfigError(f"The database in {data_dir} is in use. Stop the commands that read it first.")
    try:
        yield
    finally:
        os.close(handle)


class _Hashed:
    """The first bytes of a file, counted into a hash while they are read."""

    def __init__(self, content: IO[bytes], size: int) -> None:
        self._read: Callable[[int], bytes] = content.read
        self._left = size
        self.hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self._read(self._left if size < 0 else min(size, self._left))
        self._left -= len(piece)
        self.hash.update(piece)
        return piece
