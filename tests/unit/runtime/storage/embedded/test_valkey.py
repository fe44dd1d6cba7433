"""The embedded server, with real processes."""

import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from runtime.core.errors import ConfigError, StorageUnavailable
from runtime.events.happening import Happening
from runtime.storage.embedded import server_binary, valkey
from runtime.storage.embedded.data_directory import SOCKET_PATH_LIMIT, exclusive_use, node_id, note_address, socket_path
from runtime.storage.embedded.server_binary import find_server_binary
from runtime.storage.embedded.valkey import RESTARTS_PER_MINUTE, EmbeddedValkey, server_arguments

ONCE = Retry(NoBackoff(), 0)

OWNER = """
import sys, anyio
from pathlib import Path
from runtime.storage.embedded.valkey import EmbeddedValkey

async def main():
    async with EmbeddedValkey(Path(sys.argv[1])) as socket:
        print(socket, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def ask(socket: Path, *command: str) -> Any:
    """A server's answer to one command."""
    with redis.Redis(unix_socket_path=str(socket), decode_responses=True, retry=ONCE) as client:
        return client.execute_command(*command)


def server_pid(socket: Path) -> int:
    return int(ask(socket, "INFO", "server")["process_id"])


def server_pid_or_none(socket: Path) -> int | None:
    try:
        return server_pid(socket)
    except redis.RedisError:
        return None


def wait_until_nobody_serves(data_dir: Path) -> None:
    """The server's lock is free only when no process of its has it open."""
    with (data_dir / "valkey.lock").open() as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)


def start_owner(data_dir: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process that has the server of `data_dir`."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(data_dir)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    return owner, Path(owner.stdout.readline().strip())


def end_owner(owner: subprocess.Popen[str], how: signal.Signals) -> None:
    owner.send_signal(how)
    owner.wait()
    assert owner.stdout is not None
    owner.stdout.close()


async def test_it_answers_on_a_private_socket_and_forgets_nothing(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with EmbeddedValkey(data_dir) as socket:
        assert ask(socket, "SET", "k", "v")
        assert socket.stat().st_mode & 0o777 == 0o700
        assert data_dir.stat().st_mode & 0o777 == 0o700
        for name, value in {
            "port": "0",
            "appendonly": "yes",
            "appendfsync": "no",
            "save": "",
            "maxmemory-policy": "noeviction",
        }.items():
            assert ask(socket, "CONFIG", "GET", name) == {name: value}
    assert not socket.exists()
    async with EmbeddedValkey(data_dir) as socket:
        assert ask(socket, "GET", "k") == "v"


async def test_nobody_else_can_read_what_it_writes_nor_what_was_written_before(tmp_path: Path) -> None:
    async with EmbeddedValkey(tmp_path) as socket:
        await anyio.to_thread.run_sync(ask, socket, "SET", "a", "b")
    folder = tmp_path / "appendonlydir"
    for path in folder.iterdir():
        path.chmod(0o644)
    folder.chmod(0o755)
    before = os.umask(0o022)
    try:
        async with EmbeddedValkey(tmp_path) as socket:
            await anyio.to_thread.run_sync(ask, socket, "SET", "a", "c")
            await anyio.to_thread.run_sync(ask, socket, "BGREWRITEAOF")
            while (await anyio.to_thread.run_sync(ask, socket, "INFO", "persistence"))["aof_rewrite_in_progress"]:
                await anyio.lowlevel.checkpoint()
            modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
            growth = await anyio.to_thread.run_sync(ask, socket, "CONFIG", "GET", "auto-aof-rewrite-percentage")
    finally:
        os.umask(before)
    assert (stat.S_IMODE(folder.stat().st_mode), modes) == (0o700, {0o600})
    assert "50" in str(growth)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads Linux's table of sockets")
async def test_it_has_no_tcp_port(tmp_path: Path) -> None:
    async with EmbeddedValkey(tmp_path) as socket:
        process = Path(f"/proc/{server_pid(socket)}")
        opened = {link.readlink().name for link in (process / "fd").iterdir() if link.is_symlink()}
        tables = [process / "net" / name for name in ("tcp", "tcp6", "udp", "udp6")]
        listening = {
            f"socket:[{line.split()[9]}]"
            for table in tables
            if table.exists()
            for line in table.read_text().splitlines()[1:]
        }
        assert any(name.startswith("socket:") for name in opened)
        assert not opened & listening


async def test_nothing_is_left_behind_after_the_block(tmp_path: Path) -> None:
    async with EmbeddedValkey(tmp_path) as socket:
        pid = server_pid(socket)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_server_is_in_a_session_of_its_own(tmp_path: Path) -> None:
    async with EmbeddedValkey(tmp_path) as socket:
        assert os.getsid(server_pid(socket)) != os.getsid(0)
        assert os.getpgid(server_pid(socket)) != os.getpgid(0)


async def test_killing_its_owner_leaves_no_orphan_and_loses_nothing(tmp_path: Path) -> None:
    owner, socket = start_owner(tmp_path)
    process = os.pidfd_open(server_pid(socket))
    for number in range(200):
        ask(socket, "RPUSH", "list", str(number))
    end_owner(owner, signal.SIGKILL)
    with anyio.fail_after(60):
        await anyio.wait_readable(process)
    os.close(process)
    wait_until_nobody_serves(tmp_path)
    async with EmbeddedValkey(tmp_path) as again:
        assert ask(again, "LRANGE", "list", "0", "-1") == [str(number) for number in range(200)]


async def test_a_successor_waits_for_a_server_that_is_ending(tmp_path: Path) -> None:
    owner, socket = start_owner(tmp_path)
    ask(socket, "SET", "k", "v")
    ending = server_pid(socket)
    os.kill(ending, signal.SIGSTOP)
    end_owner(owner, signal.SIGKILL)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, os.kill, ending, signal.SIGCONT)
        async with EmbeddedValkey(tmp_path) as again:
            with anyio.fail_after(30):
                while server_pid_or_none(again) in (None, ending):
                    await anyio.lowlevel.checkpoint()
            assert ask(again, "GET", "k") == "v"


async def test_a_living_server_of_the_same_directory_is_used_and_left_alone(tmp_path: Path) -> None:
    async with EmbeddedValkey(tmp_path) as first:
        pid = server_pid(first)
        async with EmbeddedValkey(tmp_path) as second:
            assert second == first
            assert server_pid(second) == pid
        assert server_pid(first) == pid


async def test_a_user_of_anothers_server_starts_its_own_when_that_one_goes(tmp_path: Path) -> None:
    owner, socket = start_owner(tmp_path)
    ask(socket, "SET", "k", "v")
    pid = server_pid(socket)
    events: list[str] = []
    back = anyio.Event()

    def heard(what: Happening) -> None:
        events.append(what.name)
        if what.name == "storage.back":
            back.set()

    async with EmbeddedValkey(tmp_path, on_event=heard) as mine:
        end_owner(owner, signal.SIGKILL)
        await back.wait()
        assert ask(mine, "GET", "k") == "v"
        assert server_pid(mine) != pid
    assert events == ["storage.lost", "storage.back"]


async def test_directories_have_servers_of_their_own(tmp_path: Path) -> None:
    async with EmbeddedValkey(tmp_path / "a") as one, EmbeddedValkey(tmp_path / "b") as other:
        ask(one, "SET", "k", "v")
        assert ask(other, "GET", "k") is None


async def test_a_killed_server_is_started_again_with_its_data(tmp_path: Path) -> None:
    events: list[str] = []
    back = anyio.Event()

    def heard(what: Happening) -> None:
        events.append(what.name)
        if what.name == "storage.back":
            back.set()

    async with EmbeddedValkey(tmp_path, on_event=heard) as socket:
        ask(socket, "SET", "k", "v")
        os.kill(server_pid(socket), signal.SIGKILL)
        await back.wait()
        assert ask(socket, "GET", "k") == "v"
    assert events == ["storage.lost", "storage.back"]


async def test_a_server_that_dies_again_while_it_starts_is_started_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    back = anyio.Event()

    def heard(what: Happening) -> None:
        events.append(what.name)
        if what.name == "storage.back":
            back.set()

    def arguments(data_dir: Path, socket: Path) -> list[str]:
        return ["--no-such-setting", "1"] if events == ["storage.lost"] else server_arguments(data_dir, socket)

    monkeypatch.setattr(valkey, "server_arguments", arguments)
    async with EmbeddedValkey(tmp_path, on_event=heard) as socket:
        ask(socket, "SET", "k", "v")
        os.kill(server_pid(socket), signal.SIGKILL)
        await back.wait()
        assert ask(socket, "GET", "k") == "v"
    assert events == ["storage.lost", "storage.lost", "storage.back"]


async def test_a_server_that_keeps_dying_is_given_up(tmp_path: Path) -> None:
    backs = 0

    def heard(what: Happening) -> None:
        nonlocal backs
        if what.name == "storage.back":
            backs += 1
            os.kill(server_pid(socket_path(tmp_path)), signal.SIGKILL)

    with pytest.RaisesGroup(pytest.RaisesExc(StorageUnavailable, match="died")):
        async with EmbeddedValkey(tmp_path, on_event=heard) as socket:
            os.kill(server_pid(socket), signal.SIGKILL)
            await anyio.sleep_forever()
    assert backs == RESTARTS_PER_MINUTE


async def test_an_error_in_the_block_comes_out_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with EmbeddedValkey(tmp_path):
            raise ZeroDivisionError
    wait_until_nobody_serves(tmp_path)


async def test_a_server_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valkey, "server_arguments", lambda *_: ["--no-such-setting", "1"])
    with pytest.raises(StorageUnavailable, match="no-such-setting"):
        async with EmbeddedValkey(tmp_path):
            pass


async def test_a_server_that_cannot_start_says_that_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(valkey, "server_arguments", lambda *_: ["--no-such-setting", "1"])
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=4096))
    with pytest.raises(StorageUnavailable, match=r"is full \(4 KiB free\): free some space"):
        async with EmbeddedValkey(tmp_path):
            pass


async def test_a_data_directory_deep_down_gets_a_short_socket_that_is_remembered(tmp_path: Path) -> None:
    data_dir = tmp_path / ("d" * 90) / ("e" * 90)
    async with EmbeddedValkey(data_dir) as socket:
        assert len(os.fsencode(socket)) <= SOCKET_PATH_LIMIT
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        assert ask(socket, "CONFIG", "GET", "dir") == {"dir": str(data_dir)}
    assert socket_path(data_dir) == socket
    socket.parent.rmdir()
    moved = socket_path(data_dir)
    assert moved != socket
    moved.parent.rmdir()


def test_a_second_gateway_is_refused_with_the_firsts_number(tmp_path: Path) -> None:
    with exclusive_use(tmp_path), pytest.raises(ConfigError, match=f"process {os.getpid()}"), exclusive_use(tmp_path):
        pass
    with exclusive_use(tmp_path):
        pass


def test_a_second_gateway_is_told_where_the_first_runs_until_that_ends(tmp_path: Path) -> None:
    with exclusive_use(tmp_path):
        note_address(tmp_path, "http://127.0.0.1:8420")
        with (
            pytest.raises(ConfigError, match=r"\), which runs at http://127\.0\.0\.1:8420\. Stop it"),
            exclusive_use(tmp_path),
        ):
            pass
    with exclusive_use(tmp_path), pytest.raises(ConfigError) as refused, exclusive_use(tmp_path):
        pass
    assert "runs at" not in str(refused.value)


def test_a_directory_keeps_its_node_id(tmp_path: Path) -> None:
    assert node_id(tmp_path / "a") == node_id(tmp_path / "a")
    assert node_id(tmp_path / "a") != node_id(tmp_path / "b")


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file"):
        node_id(tmp_path / "file")


@pytest.mark.parametrize(("version", "accepted"), [("7.0.15", True), ("6.2.14", False), ("9.1.2", True)])
def test_a_server_on_path_must_be_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, accepted: bool
) -> None:
    binary = tmp_path / "redis-server"
    binary.write_text(f"#!/bin/sh\necho Redis server v={version} sha=0\n")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(server_binary, "_WHEEL", "no_such_package")
    if accepted:
        assert find_server_binary() == binary
    else:
        with pytest.raises(ConfigError, match="PARLEY_REDIS_URL"):
            find_server_binary()
