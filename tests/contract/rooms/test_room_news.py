"""What nodes tell each other about rooms, over a real server that dies and comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskGroup

from runtime.storage.redis.client.connection import RedisConnection, open_connection
from runtime.storage.redis.rooms import RedisRoomNews
from tests.fakes.servers.valkey import RealValkey

pytestmark = pytest.mark.anyio

LIMIT_S = 60


class Listener:
    """What one node hears."""

    def __init__(self, connection: RedisConnection, node: str) -> None:
        self.news = RedisRoomNews(connection, node)
        self.heard: list[str] = []
        self.opened = 0
        self._changed = anyio.Event()

    async def start(self, tasks: TaskGroup) -> None:
        tasks.start_soon(self.news.listen, self._open, self._hear)
        await self.until(opened=1)

    async def until(self, *, heard: int = 0, opened: int = 0) -> None:
        with anyio.fail_after(LIMIT_S):
            while len(self.heard) < heard or self.opened < opened:
                await self._changed.wait()

    async def _open(self) -> None:
        self.opened += 1
        self._note()

    async def _hear(self, text: str) -> None:
        self.heard.append(text)
        self._note()

    def _note(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealValkey]:
    """A server of this test's own."""
    server = RealValkey(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
async def connection(server: RealValkey, anyio_backend: str) -> AsyncIterator[RedisConnection]:
    async with open_connection(server.socket) as connection:
        yield connection


async def test_a_text_reaches_one_node_or_all_in_its_order(connection: RedisConnection) -> None:
    async with anyio.create_task_group() as tasks:
        ada, bob = Listener(connection, "ada"), Listener(connection, "bob")
        await ada.start(tasks)
        await bob.start(tasks)
        for text in ("1", "2", "3"):
            await ada.news.tell(text)
        await bob.news.tell("for ada", to="ada")
        await bob.news.tell("for bob", to="bob")
        await ada.until(heard=4)
        await bob.until(heard=4)
        assert (ada.heard, bob.heard) == (["1", "2", "3", "for ada"], ["1", "2", "3", "for bob"])
        tasks.cancel_scope.cancel()


async def test_a_listener_knows_that_it_missed_something_when_the_server_was_away(
    connection: RedisConnection, server: RealValkey
) -> None:
    async with anyio.create_task_group() as tasks:
        ada = Listener(connection, "ada")
        await ada.start(tasks)
        server.kill()
        server.start()
        await ada.until(opened=2)
        await ada.news.tell("after it")
        await ada.until(heard=1)
        assert ada.heard == ["after it"]
        tasks.cancel_scope.cancel()
