"""Real servers that depend on each other: a Cluster, and a primary that three Sentinels watch.

Every server listens on a free port of the loopback, writes an append-only file, and ends with the test run,
however that ends.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry

from runtime.storage.embedded.server_binary import find_server_binary
from tests.fakes.servers.ports import free_port

READY_LIMIT_S = 90.0
MASTER = "parley"
"""What the Sentinels call the primary."""

_SLOTS = 16384
_PAUSE_S = 0.01
_GUARD = '"$@" </dev/null & read -r _; kill -KILL $!'


def wait_until(true: Callable[[], bool], what: str) -> None:
    """Return when `true` says so; an answer that fails counts as no."""
    deadline = time.monotonic() + READY_LIMIT_S
    while True:
        try:
            if true():
                return
        except redis.RedisError:
            pass
        assert time.monotonic() < deadline, what
        time.sleep(_PAUSE_S)


class Asking:
    """Asks for something that is given up after some seconds when the machine stalls, and then nobody tries again."""

    _GIVEN_UP_AFTER_S = 10.0

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask
        self._next_at_s = 0.0

    def again(self) -> bool:
        """Ask if the last time is long enough ago; False, for `wait_until`."""
        if time.monotonic() >= self._next_at_s:
            self._next_at_s = time.monotonic() + self._GIVEN_UP_AFTER_S
            self._ask()
        return False


class PortServer:
    """A server on the loopback. `settings` are those of its configuration file."""

    def __init__(self, directory: Path, settings: Mapping[str, str], *, sentinel: bool = False) -> None:
        self.directory = directory
        self.port = free_port()
        self.settings = dict(settings)
        self._sentinel = sentinel
        self._process: subprocess.Popen[bytes] | None = None
        self._client: redis.Redis | None = None
        directory.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Let it run, on the data that it left; returns when it listens."""
        path = self.directory / "server.conf"
        if not path.exists():
            own = {"port": str(self.port), "bind": "127.0.0.1", "dir": str(self.directory), "logfile": "server.log"}
            path.write_text("".join(f"{name} {value}\n" for name, value in (own | self.settings).items()))
        command = [str(find_server_binary()), str(path), *(["--sentinel"] if self._sentinel else [])]
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "guard", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_until(self._answers, f"the server of {self.directory} did not start")

    def kill(self) -> None:
        """End it at once, without a chance to write anything more."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._process = None
        if self._client is not None:
            self._client.close()
            self._client = None

    def freeze(self) -> None:
        """Let it neither answer nor notice anything, with all its connections open."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen one go on."""
        self._signal(signal.SIGCONT)

    def ask(self, *command: str | int) -> Any:
        """The server's answer, not parsed."""
        if self._client is None:
            self._client = redis.Redis(
                port=self.port,
                password=self.settings.get("requirepass"),
                retry=Retry(NoBackoff(), 0),
                socket_timeout=20,
                protocol=2,
                decode_responses=True,
            )
            self._client.response_callbacks.clear()
        send: Callable[..., Any] = self._client.execute_command
        return send(*command)

    def info(self, section: str) -> Mapping[str, str]:
        """A section of what the server tells of itself."""
        return dict(line.split(":", 1) for line in self.ask("INFO", section).split("\r\n") if ":" in line)

    @property
    def is_primary(self) -> bool:
        """Whether it takes writes."""
        return self.info("replication")["role"] == "master"

    @property
    def runs(self) -> bool:
        """Whether it was started and not killed since."""
        return self._process is not None

    def _answers(self) -> bool:
        """Whether it has read its data, and it is this one that answers, and nobody else at its port."""
        itself = self.info("server")["config_file"] == str(self.directory / "server.conf")
        return itself and self.ask("PING") == "PONG"

    def _signal(self, number: int) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, number)


def durable() -> dict[str, str]:
    """Settings with which a killed server loses nothing. Why not `everysec`: runtime/storage/embedded/valkey.py."""
    return {"appendonly": "yes", "appendfsync": "no", "save": '""', "repl-diskless-sync-delay": "0"}


class ValkeyCluster:
    """Three primaries, with so many replicas each. A primary that is away for `node_timeout_ms` is replaced."""

    def __init__(self, directory: Path, *, replicas: int = 0, node_timeout_ms: int = 15_000) -> None:
        settings = durable() | {
            "cluster-enabled": "yes",
            "cluster-node-timeout": str(node_timeout_ms),
            "cluster-require-full-coverage": "no",
        }
        count = 3 * (1 + replicas)
        self.servers = [
            PortServer(directory / str(number), settings | {"cluster-port": str(free_port())})
            for number in range(count)
        ]

    @property
    def url(self) -> str:
        """Of any one server that runs."""
        return f"redis://127.0.0.1:{next(server for server in self.servers if server.runs).port}"

    def start(self) -> None:
        """Return when every slot is served and every replica follows its primary."""
        for server in self.servers:
            server.start()
        first, primaries = self.servers[0], self.servers[:3]
        share = _SLOTS // 3 + 1
        for number, server in enumerate(primaries):
            server.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            last = min((number + 1) * share, _SLOTS) - 1
            server.ask("CLUSTER", "ADDSLOTSRANGE", number * share, last)
        for server in self.servers[1:]:
            first.ask("CLUSTER", "MEET", "127.0.0.1", server.port, server.settings["cluster-port"])
        ids = [server.ask("CLUSTER", "MYID") for server in primaries]
        for number, server in enumerate(self.servers[3:]):
            wait_until(partial(_knows, server, ids), "the servers did not meet")
            server.ask("CLUSTER", "REPLICATE", ids[number % 3])
        self.wait_until_whole()

    def kill(self) -> None:
        """End every server at once."""
        for server in self.servers:
            server.kill()

    def restart(self) -> None:
        """Start every server that does not run."""
        for server in self.servers:
            if not server.runs:
                server.start()
        self.wait_until_whole()

    def wait_until_whole(self) -> None:
        """Return when all running servers agree that all slots are served, and all replicas follow."""
        running = [server for server in self.servers if server.runs]

        def whole() -> bool:
            states = [server.ask("CLUSTER", "INFO") for server in running]
            slots = {tuple(sorted(map(_served, server.ask("CLUSTER", "SLOTS")))) for server in running}
            return all("cluster_state:ok" in state for state in states) and len(slots) == 1 and _synced(running)

        wait_until(whole, "the cluster did not become whole")

    def flush(self) -> None:
        """Forget all data."""
        for server in self.servers:
            if server.is_primary:
                server.ask("FLUSHALL")

    def restore_stale(self, key: str, stale: PortServer) -> None:
        """Start a replica that was killed before its primary was, and let it take over with what it has."""
        stale.start()

        def taken_over() -> bool:
            if not stale.is_primary:
                stale.ask("CLUSTER", "FAILOVER", "TAKEOVER")
            return self.primary_of(key) is stale

        wait_until(taken_over, "the replica did not take over")

    def primary_of(self, key: str) -> PortServer:
        """Who serves the key's slot, as the others say."""
        return self._primary_at(key_slot(key.encode()))

    def _primary_at(self, slot: int, asked: PortServer | None = None) -> PortServer:
        asked = asked or next(server for server in self.servers if server.runs)
        for first, last, (_host, port, *_), *_replicas in asked.ask("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(server for server in self.servers if server.port == port)
        raise AssertionError(f"nobody serves slot {slot}")

    def replica_of(self, primary: PortServer) -> PortServer:
        """A running replica of this primary."""
        return next(
            server
            for server in self.servers
            if server.runs
            and server is not primary
            and server.info("replication").get("master_port") == str(primary.port)
        )

    def move(self, slot: int, target: PortServer) -> None:
        """Move a slot to another primary as a whole, and return when all know."""
        target_id = target.ask("CLUSTER", "MYID")
        self._primary_at(slot).ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target_id)
        self._wait_until_moved(slot, target)

    def move_by_key(self, slot: int, target: PortServer) -> None:
        """Move a slot to another primary one key after the other, and return when all know."""
        source = self._primary_at(slot)
        source_id, target_id = source.ask("CLUSTER", "MYID"), target.ask("CLUSTER", "MYID")
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 10):
            source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        for server in (target, source):
            server.ask("CLUSTER", "SETSLOT", slot, "NODE", target_id)
        self._wait_until_moved(slot, target)

    def _wait_until_moved(self, slot: int, target: PortServer) -> None:
        running = [server for server in self.servers if server.runs]
        wait_until(lambda: all(self._primary_at(slot, one) is target for one in running), "the slot did not move")

    def promote(self, key: str) -> None:
        """Let the replica of the key's primary take over in agreement with it, and return when it has."""
        old = self.primary_of(key)
        new = self.replica_of(old)
        ask = Asking(lambda: new.ask("CLUSTER", "FAILOVER"))
        wait_until(lambda: not old.is_primary if new.is_primary else ask.again(), "the replica was not promoted")

    def wait_for_another_primary(self, key: str, than: PortServer) -> PortServer:
        """Return who serves the key's slot as soon as it is not `than`, and takes writes."""

        def taken_over() -> bool:
            found = self.primary_of(key)
            return found is not than and found.runs and found.is_primary

        wait_until(taken_over, "no replica took over")
        return self.primary_of(key)


class ValkeySentinel:
    """A primary and a replica that three Sentinels watch. A primary that is away for `down_after_ms` is replaced."""

    def __init__(self, directory: Path, *, down_after_ms: int = 15_000) -> None:
        self._down_after_ms = down_after_ms
        self._directory = directory
        first = PortServer(directory / "0", durable())
        second = PortServer(directory / "1", durable() | {"replicaof": f"127.0.0.1 {first.port}"})
        self.servers = [first, second]
        self.sentinels: list[PortServer] = []

    @property
    def url(self) -> str:
        """Of any one Sentinel."""
        return f"redis://127.0.0.1:{next(one for one in self.sentinels if one.runs).port}"

    def start(self) -> None:
        """Return when the Sentinels know each other and the replica follows."""
        for server in self.servers:
            server.start()
        wait_until(lambda: _synced(self.servers), "the replica does not follow")
        for number in range(3):
            self.watch(PortServer(self._directory / f"sentinel{number}", {}, sentinel=True))

        def acquainted() -> bool:
            known = [_pairs(one.ask("SENTINEL", "MASTER", MASTER)) for one in self.sentinels]
            return all(one["num-other-sentinels"] == "2" and one["num-slaves"] == "1" for one in known)

        wait_until(acquainted, "the Sentinels did not meet")

    def watch(self, sentinel: PortServer) -> None:
        """Start one more Sentinel."""
        sentinel.start()
        sentinel.ask("SENTINEL", "MONITOR", MASTER, "127.0.0.1", self.primary.port, 2)
        sentinel.ask("SENTINEL", "SET", MASTER, "down-after-milliseconds", self._down_after_ms)
        sentinel.ask("SENTINEL", "SET", MASTER, "failover-timeout", 2 * self._down_after_ms)
        self.sentinels.append(sentinel)

    def kill(self) -> None:
        """End every server at once."""
        for server in (*self.sentinels, *self.servers):
            server.kill()

    def restart(self) -> None:
        """Start every server that does not run, and return when one is the primary and the other follows it.

        Who is started does not wait for the Sentinels to tell it whom to follow, which takes them ten seconds; an old
        primary that has not been told yet is started again.
        """
        if all(one.runs for one in self.sentinels) and self._calm():
            for server in self.servers:
                if server is not self.primary and server.runs and server.is_primary:
                    server.kill()
        ended = [server for server in (*self.servers, *self.sentinels) if not server.runs]
        for server in ended:
            server.start()
        primary = self.primary
        for server in self.servers:
            if server in ended and server is not primary and primary not in ended and server.is_primary:
                server.ask("REPLICAOF", "127.0.0.1", primary.port)

        def whole() -> bool:
            return self.primary.is_primary and not self.replica.is_primary and _synced(self.servers)

        wait_until(whole, "the replica does not follow")

    def _calm(self) -> bool:
        """Whether all Sentinels name one primary, which lives, and none is about to name another."""
        told = [_pairs(one.ask("SENTINEL", "MASTER", MASTER)) for one in self.sentinels]
        return {(one["port"], one["flags"]) for one in told} == {(str(self.primary.port), "master")}

    def restore_stale(self, stale: PortServer) -> None:
        """Start a replica that was killed before its primary was, and let it take over with what it has."""
        stale.start()
        self.wait_for_another_primary(self._other_than(stale))

    def flush(self) -> None:
        """Forget all data."""
        wait_until(lambda: bool(self.primary.ask("FLUSHALL")), "the primary takes no writes")

    @property
    def primary(self) -> PortServer:
        """Who takes writes now, by what the first Sentinel says."""
        if not self.sentinels:
            return self.servers[0]
        asked = next(one for one in self.sentinels if one.runs)
        port = asked.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)[1]
        return next(server for server in self.servers if str(server.port) == port)

    @property
    def replica(self) -> PortServer:
        """The other one."""
        return self._other_than(self.primary)

    def _other_than(self, server: PortServer) -> PortServer:
        return next(one for one in self.servers if one is not server)

    def promote(self) -> None:
        """Have a Sentinel let the replica take over without asking the primary, and return when all name it."""
        old = self.primary
        ask = Asking(lambda: self.sentinels[0].ask("SENTINEL", "FAILOVER", MASTER))
        wait_until(lambda: self.primary is not old or ask.again(), "no Sentinel has named another primary")
        self.wait_for_another_primary(old)

    def wait_for_another_primary(self, than: PortServer) -> PortServer:
        """Return who takes writes as soon as it is not `than` by what all Sentinels say."""

        other = self._other_than(than)

        def taken_over() -> bool:
            named = {one.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)[1] for one in self.sentinels}
            return named == {str(other.port)} and other.is_primary

        wait_until(taken_over, "no replica took over")
        return other


def _knows(server: PortServer, ids: Sequence[str]) -> bool:
    known = server.ask("CLUSTER", "NODES")
    return all(one in known for one in ids)


def _served(slots: Sequence[Any]) -> tuple[Any, ...]:
    first, last, (_host, port, *_), *_replicas = slots
    return first, last, port


def _pairs(flat: Sequence[str]) -> Mapping[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _synced(servers: Sequence[PortServer]) -> bool:
    """Whether every replica has what its primary has."""
    told = [server.info("replication") for server in servers]
    return all(one["role"] == "master" or one.get("master_link_status") == "up" for one in told)
