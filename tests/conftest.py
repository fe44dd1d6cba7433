"""What every test may use."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest
from hypothesis import settings

import gateway.built_in_calls  # noqa: F401 - the facts and calls of features
from gateway.__main__ import collect_rarely
from runtime.execution.frames.loop import FrameLoop
from tests.copies import folders_of
from tests.e2e.warm_starts import SERVERS, WarmStarts
from tests.fakes.servers.valkey import RealValkey
from tests.fakes.servers.valkey_cluster import ValkeyCluster, ValkeySentinel
from tests.selection import Selection

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
"""Property tests try the same examples in every run: a failure is seen by whoever caused it."""


def pytest_configure(config: pytest.Config) -> None:
    """A run that is asked to end takes down what it has started, also where a shell let it ignore Ctrl-C, and with it
    every process that it starts."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    config.pluginmanager.register(Selection())
    gc.disable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin what gateways and servers are copies of, once for all copies of this process; it loads beside this one."""
    if session.config.getoption("copies", 0):
        begun, folders = ExitStack(), folders_of(session)
        WarmStarts.running = begun.enter_context(WarmStarts.of(folders.mktemp("parley")))
        WarmStarts.servers = begun.enter_context(WarmStarts.of(folders.mktemp("servers"), SERVERS))
        session.config.add_cleanup(begun.close)


def pytest_collection_finish() -> None:
    """What is collected stays for the whole run: it is not searched for garbage, neither while it grows nor later.

    What tests make is searched as rarely as in a gateway, which saves a twentieth of all computing.
    """
    gc.freeze()
    collect_rarely()
    gc.enable()


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Everything runs on one loop as long as there is something that tests share, such as a browser.

    It is the gateway's: Python playbooks need the loop that knows when they are quiet.
    """
    return "asyncio", {"loop_factory": FrameLoop}


@pytest.fixture(scope="session")
def warm_starts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One loaded process for the whole run, of which gateways are copies."""
    known = WarmStarts.running
    with nullcontext(known) if known else WarmStarts.of(tmp_path_factory.mktemp("warm")) as WarmStarts.running:
        yield
    WarmStarts.running = None


@pytest.fixture(scope="session")
def warm_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One loaded process for the whole run, of which servers of remote agents are copies."""
    known = WarmStarts.servers
    with nullcontext(known) if known else WarmStarts.of(tmp_path_factory.mktemp("warm"), SERVERS) as WarmStarts.servers:
        yield
    WarmStarts.servers = None


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealValkey]:
    """One real server for the whole run."""
    server = RealValkey(tmp_path_factory.mktemp("valkey"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def valkey_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyCluster]:
    """One Cluster for the whole run, which no test may harm."""
    cluster = ValkeyCluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()


@pytest.fixture(scope="session")
def valkey_sentinel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeySentinel]:
    """One primary with a replica and Sentinels for the whole run, which no test may harm."""
    watched = ValkeySentinel(tmp_path_factory.mktemp("sentinel"))
    try:
        watched.start()
        yield watched
    finally:
        watched.kill()


@pytest.fixture
def valkey_socket(valkey: RealValkey) -> Path:
    """The socket of a real server without data."""
    valkey.flush()
    return valkey.socket
