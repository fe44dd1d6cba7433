"""A backup has everything that was acknowledged, and comes back whole or not at all."""

import gzip
import io
import json
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from runtime.core.errors import ConfigError, StorageUnavailable
from runtime.storage.embedded.backup import ARCHIVE, LOG, has_state, restore_backup, write_backup
from runtime.storage.embedded.data_directory import exclusive_use
from runtime.storage.embedded.valkey import EmbeddedValkey
from runtime.storage.redis.client.connection import RedisConnection, open_connection

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNT = "{parley:count}"


async def add(connection: RedisConnection, size: int = 0) -> int:
    """Count one up in a transaction with a second key, which must never differ from the first."""

    async def both(client: object) -> list[int]:
        async with client.pipeline(transaction=True) as pipe:  # type: ignore[attr-defined]
            pipe.incr(COUNT)
            pipe.incr(f"{COUNT}:again")
            if size:
                pipe.rpush(f"{COUNT}:filling", "x" * size)
            done: list[int] = await pipe.execute()
            return done

    return (await connection.retrying(both, COUNT))[0]


async def counted(data_dir: Path) -> tuple[int, int]:
    """The two counts in the database of a directory."""
    async with EmbeddedValkey(data_dir) as socket, open_connection(socket) as connection:
        one, other = [await connection.ask("GET", key) for key in (COUNT, f"{COUNT}:again")]
        return int(one), int(other)


def a_log(data_dir: Path) -> Path:
    """A directory with a log that no server has written."""
    (data_dir / LOG).mkdir(parents=True)
    (data_dir / LOG / "appendonly.aof.1.incr.aof").write_bytes(b"*1\r\n$4\r\nPING\r\n")
    (data_dir / LOG / "appendonly.aof.manifest").write_text("file appendonly.aof.1.incr.aof seq 1 type i\n")
    return data_dir


async def test_what_was_acknowledged_before_is_in_a_backup_that_is_taken_while_others_write(tmp_path: Path) -> None:
    known: list[tuple[int, Path]] = []
    async with EmbeddedValkey(tmp_path / "data") as socket, open_connection(socket) as connection:
        await add(connection)
        async with anyio.create_task_group() as tasks:

            async def write() -> None:
                for number in range(400):
                    await add(connection, 10_000)
                    if number % 100 == 50:  # the log's files are replaced meanwhile
                        await rewrite(connection)

            async def back_up() -> None:
                for number in range(4):
                    least = int(await connection.ask("GET", COUNT))
                    file = tmp_path / f"{number}.backup"
                    await to_thread.run_sync(write_backup, tmp_path / "data", file, NOW)
                    known.append((least, file))

            tasks.start_soon(write)
            tasks.start_soon(back_up)
    for least, file in known:
        restored = tmp_path / f"restored-{file.stem}"
        restore_backup(file, restored, NOW)
        one, other = await counted(restored)
        assert one == other
        assert one >= least


async def rewrite(connection: RedisConnection) -> None:
    """Have the server begin to write its log anew."""

    async def begin(client: object) -> None:
        await client.execute_command("BGREWRITEAOF")  # type: ignore[attr-defined]

    with suppress(StorageUnavailable):  # it is at it already
        await connection.retrying(begin, COUNT)


async def test_the_archive_is_in_the_backup_with_what_its_log_of_writes_has(tmp_path: Path) -> None:
    data = a_log(tmp_path / "data")
    with closing(sqlite3.connect(data / ARCHIVE)) as archive:
        archive.execute("PRAGMA journal_mode=WAL")
        archive.execute("CREATE TABLE sessions (id TEXT)")
        archive.execute("INSERT INTO sessions VALUES ('kept')")
        archive.commit()
        write_backup(data, tmp_path / "b", NOW)
    restore_backup(tmp_path / "b", tmp_path / "new", NOW)
    with closing(sqlite3.connect(tmp_path / "new" / ARCHIVE)) as archive:
        assert archive.execute("SELECT id FROM sessions").fetchall() == [("kept",)]
    assert [path.name for path in data.glob("*.copy")] == []


def test_only_this_user_reads_a_backup(tmp_path: Path) -> None:
    write_backup(a_log(tmp_path / "data"), tmp_path / "b", NOW)
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600
    restore_backup(tmp_path / "b", tmp_path / "new", NOW)
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "new" / LOG).iterdir()} == {0o600}


def test_a_directory_with_nothing_cannot_be_backed_up(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to back up"):
        write_backup(tmp_path, tmp_path / "b", NOW)
    assert not (tmp_path / "b").exists()


def test_a_backup_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    data = a_log(tmp_path / "data")
    (tmp_path / "b").write_text("yesterday's")
    (data / LOG / "appendonly.aof.1.incr.aof").unlink()
    with pytest.raises(StorageUnavailable, match="Try again"):
        write_backup(data, tmp_path / "b", NOW)
    assert (tmp_path / "b").read_text() == "yesterday's"
    assert [path.name for path in tmp_path.glob("*.new")] == []


def test_a_target_in_a_folder_that_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written: No such file or directory"):
        write_backup(a_log(tmp_path / "data"), tmp_path / "nowhere" / "b", NOW)


def test_what_is_there_is_not_touched_without_replace(tmp_path: Path) -> None:
    data = a_log(tmp_path / "data")
    write_backup(data, tmp_path / "b", NOW)
    before = {path.name: path.read_bytes() for path in (data / LOG).iterdir()}
    with pytest.raises(ConfigError, match="--replace"):
        restore_backup(tmp_path / "b", data, NOW)
    assert {path.name: path.read_bytes() for path in (data / LOG).iterdir()} == before


def test_replacing_keeps_what_was_there_and_drops_the_index_of_what_was_there(tmp_path: Path) -> None:
    data = a_log(tmp_path / "data")
    write_backup(data, tmp_path / "b", NOW)
    (data / LOG / "appendonly.aof.1.incr.aof").write_bytes(b"later")
    (data / "tapes-index.sqlite").write_bytes(b"")
    restore_backup(tmp_path / "b", data, NOW, replace=True)
    assert (data / LOG / "appendonly.aof.1.incr.aof").read_bytes() == b"*1\r\n$4\r\nPING\r\n"
    assert (data / "before-20260301-120000" / LOG / "appendonly.aof.1.incr.aof").read_bytes() == b"later"
    assert not (data / "tapes-index.sqlite").exists()


def test_nothing_is_restored_below_a_running_gateway(tmp_path: Path) -> None:
    write_backup(a_log(tmp_path / "data"), tmp_path / "b", NOW)
    with exclusive_use(tmp_path / "new"), pytest.raises(ConfigError, match="in use by another gateway"):
        restore_backup(tmp_path / "b", tmp_path / "new", NOW)
    assert not has_state(tmp_path / "new")


async def test_nothing_is_restored_below_a_running_server(tmp_path: Path) -> None:
    write_backup(a_log(tmp_path / "data"), tmp_path / "b", NOW)
    async with EmbeddedValkey(tmp_path / "new"):
        with pytest.raises(ConfigError, match="is in use"):
            restore_backup(tmp_path / "b", tmp_path / "new", NOW, replace=True)


def member(name: str, content: bytes, kind: bytes = tarfile.REGTYPE) -> Callable[[tarfile.TarFile], None]:
    def put(tar: tarfile.TarFile) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.type, entry.linkname = len(content), kind, "/etc/passwd"
        tar.addfile(entry, io.BytesIO(content))

    return put


def packed(*members: Callable[[tarfile.TarFile], None]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for put in members:
            put(tar)
    return out.getvalue()


LIST = json.dumps({"format": 1, "made_at": NOW.isoformat(), "files": {"archive.sqlite": {"bytes": 1, "sha256": "0"}}})


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"", "not a whole backup", id="an empty file"),
        pytest.param(b"hello", "not a whole backup", id="something else"),
        pytest.param(gzip.compress(b"hello"), "not a whole backup", id="something else, compressed"),
        pytest.param(packed(), "it was cut off", id="nothing in it"),
        pytest.param(packed(member(ARCHIVE, b"x")), "it was cut off", id="no list"),
        pytest.param(packed(member("backup.json", b"{")), "not a whole backup", id="a list cut off"),
        pytest.param(packed(member("backup.json", b'{"format": 2}')), "it has format 2, not 1", id="a later format"),
        pytest.param(packed(member(ARCHIVE, b"x"), member("backup.json", LIST.encode())), "is damaged", id="changed"),
        pytest.param(packed(member("../out", b"x")), "contains '../out'", id="a path out of it"),
        pytest.param(packed(member(f"{LOG}/..", b"x")), "contains", id="a folder's parent"),
        pytest.param(packed(member(ARCHIVE, b"", tarfile.SYMTYPE)), "contains", id="a link"),
    ],
)
def test_what_is_no_whole_backup_is_refused_and_leaves_nothing(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "b").write_bytes(content)
    with pytest.raises(ConfigError, match=told):
        restore_backup(tmp_path / "b", tmp_path / "new", NOW)
    assert not has_state(tmp_path / "new")
    assert not (tmp_path / "new" / "restoring").exists()
    assert not (tmp_path / "out").exists()


def test_a_backup_cut_off_at_any_byte_is_refused_or_has_everything(tmp_path: Path) -> None:
    write_backup(a_log(tmp_path / "data"), tmp_path / "whole", NOW)
    whole = (tmp_path / "whole").read_bytes()
    refused = 0
    for length in range(0, len(whole), 5):
        (tmp_path / "b").write_bytes(whole[:length])
        try:
            restore_backup(tmp_path / "b", tmp_path / f"new-{length}", NOW)
        except ConfigError:
            refused += 1
            assert not has_state(tmp_path / f"new-{length}")
        else:
            files = {path.name: path.read_bytes() for path in (tmp_path / f"new-{length}" / LOG).iterdir()}
            assert files == {path.name: path.read_bytes() for path in (tmp_path / "data" / LOG).iterdir()}
    assert refused > (len(whole) - 200) / 5  # the end of a tar file is empty
