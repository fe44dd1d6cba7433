"""The stores and the platforms, each kind in turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from adapters.web.rooms import RoomStore
from runtime.core.clock import SystemClock
from runtime.core.files import FileBounds, FileStore
from runtime.storage.memory.sessions import MemoryLeaseStore
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.inbox import RedisDeadLetters, RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore
from runtime.storage.redis.rooms import RedisRoomStore
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import DeadLetters, Inbox
from runtime.stores.sessions import LeaseStore, NodeStore, SessionStore
from runtime.tape.tape import TapeReader
from tests.contract.setups import ENCRYPTED, SETUPS, location_of, sealing_of
from tests.contract.stands.kinds import STANDS, stand_of
from tests.contract.stands.parts import has_all
from tests.contract.stands.stand import Stand
from tests.fakes.memory.catalog import MemoryDeadLetters, MemorySessionCatalog
from tests.fakes.memory.files import MemoryFileStore
from tests.fakes.memory.nodes import MemoryNodeStore
from tests.fakes.memory.rooms import MemoryRoomStore
from tests.fakes.memory.sessions import OpenInbox, OpenSessionStore

BOUND = 5
"""How much fits in a shard's inbox and in a room."""


FILE_BOUNDS = FileBounds(total_bytes=900_000, person_bytes=300_000, conversation_bytes=600_000)
"""How much all files together may take."""


@dataclass(frozen=True)
class Stores:
    """All the stores of one kind, over the same data."""

    sessions: SessionStore
    inbox: Inbox
    leases: LeaseStore
    rooms: RoomStore
    files: FileStore
    letters: DeadLetters
    catalog: SessionCatalog
    nodes: NodeStore
    fronts: NodeStore
    readers: TapeReader


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what a platform cannot have: see `LACKS`."""
    items[:] = [item for item in items if not isinstance(item, pytest.Function) or _is_possible(item)]


def _is_possible(item: pytest.Function) -> bool:
    platform = item.callspec.params.get("stand") if hasattr(item, "callspec") else None
    return platform not in STANDS or has_all(str(platform), item)  # the fencing model has stands of its own


@pytest.fixture(params=["memory", *SETUPS, ENCRYPTED])
async def stores(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Stores]:
    if request.param == "memory":
        leases = MemoryLeaseStore(SystemClock())
        inbox = OpenInbox(leases, bound=BOUND)
        rooms, files = MemoryRoomStore(bound=BOUND), MemoryFileStore(FILE_BOUNDS)
        sessions = OpenSessionStore(leases, inbox)
        catalog = MemorySessionCatalog(sessions, leases)
        nodes, fronts = MemoryNodeStore(), MemoryNodeStore()
        letters = MemoryDeadLetters(inbox)
        yield Stores(sessions, inbox, leases, rooms, files, letters, catalog, nodes, fronts, sessions)
        return
    location, sealing = location_of(request.param, request), sealing_of(request.param)
    async with open_connection(location, patience_s=20, sealing=sealing) as connection:
        stored = RedisSessionStore(connection)
        yield Stores(
            stored,
            RedisInbox(connection, bound=BOUND),
            RedisLeaseStore(connection),
            RedisRoomStore(connection, bound=BOUND),
            RedisFileStore(connection, FILE_BOUNDS),
            RedisDeadLetters(connection, bound=BOUND),
            RedisSessionCatalog(connection),
            RedisNodeStore(connection),
            RedisNodeStore(connection, fronts=True),
            stored,
        )


@pytest.fixture(params=STANDS)
async def stand(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Stand]:
    async with stand_of(request.param) as made:
        yield made
