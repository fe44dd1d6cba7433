"""Several gateways over one database, each a process of its own, as on several machines."""

from __future__ import annotations

import itertools
import json
import logging
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from tests.e2e.gateway_process import START_LIMIT_S, Gateway, Room
from tests.fakes.servers.valkey import RealValkey

LIMIT_S = 90.0

Record = Callable[[str, object], None]
"""pytest's `record_property`."""


def noted(record: Record, seconds: Mapping[str, float]) -> None:
    """Put times into the report of a run (`--junit-xml`), and into the log of one that fails."""
    for name, value in seconds.items():
        record(name, round(value, 2))
    logging.getLogger(__name__).info("%s", {name: f"{value:.2f}" for name, value in seconds.items()})


@dataclass
class Nodes:
    """Gateways by name, and how others are begun over the same database."""

    directory: Path
    program: Path
    environment: dict[str, str]
    tasks: TaskGroup
    by_name: dict[str, Gateway]

    def __getitem__(self, name: str) -> Gateway:
        return self.by_name[name]

    async def begin(self, *names: str, **more: str) -> None:
        """Start nodes at the same time; returns when all of them serve."""
        for name in names:
            directory = self.directory / name
            directory.mkdir(exist_ok=True)
            self.by_name[name] = Gateway(directory, self.program, {**self.environment, **more}, self.tasks)
        async with anyio.create_task_group() as starting:
            for name in names:
                starting.start_soon(self.by_name[name].start)

    async def balanced(self, *names: str) -> None:
        """Return when these nodes have shared all shards evenly."""
        least, most = 64 // len(names), -(-64 // len(names))
        for name in names:
            await self[name].prints(rf'"shards": ?({least}|{most}), "nodes": ?{len(names)}\b')

    def balances(self, name: str) -> int:
        """How often a node has told how many shards it has."""
        return len(self.logged(name, "node.balanced"))

    async def has(self, name: str, shards: int, *, after: int) -> None:
        """Return when a node has told that it has so many shards, after so many times of telling it."""
        await self.until(lambda: any(one["shards"] == shards for one in self.logged(name, "node.balanced")[after:]))

    def logged(self, name: str, event: str, **data: object) -> list[dict[str, Any]]:
        """What a node has logged under this name, with this data."""
        found = []
        for line in self[name].output.splitlines():
            if line.startswith("{"):
                read: dict[str, Any] = json.loads(line)
                if read.get("event") == event and all(read.get(key) == value for key, value in data.items()):
                    found.append(read)
        return found

    async def until(self, holds: Callable[[], object]) -> None:
        """Return when it holds; it is asked after everything that a node prints."""
        with anyio.fail_after(LIMIT_S):
            while not holds():
                async with anyio.create_task_group() as tasks:
                    for node in self.by_name.values():
                        tasks.start_soon(_one_of, tasks.cancel_scope, node.more_output)

    def listening(self, platform: str) -> list[str]:
        """The nodes that have ever been connected to a platform."""
        return [name for name in self.by_name if self.logged(name, "adapter.connected", platform=platform)]

    async def listener(self, platform: str) -> str:
        """The one node that is connected to a platform, where none has died yet."""
        await self.until(lambda: bool(self.listening(platform)))
        (name,) = self.listening(platform)
        return name

    async def end(self, name: str) -> None:
        """Kill -9."""
        self[name].kill()
        await self[name].gone()


async def _one_of(scope: anyio.CancelScope, wait: Callable[[], Awaitable[None]]) -> None:
    await wait()
    scope.cancel()


@asynccontextmanager
async def one_valkey() -> AsyncIterator[str]:
    """A server of its own; its URL. In a short directory, because a socket's path may not be long."""
    directory = Path(tempfile.mkdtemp(prefix="parley-"))
    server = RealValkey(directory)
    server.start()
    try:
        yield f"unix://{server.socket}"
    finally:
        server.kill()
        shutil.rmtree(directory)


@asynccontextmanager
async def several_nodes(
    directory: Path, program: Path, url: str, names: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[Nodes]:
    """Nodes over the database at `url`; all that still live are killed in the end."""
    settings = {
        "PARLEY_REDIS_URL": url,
        "PARLEY_LOGS__FORMAT": "json",
        "PARLEY_LOGS__LEVEL": "debug",
        **environment,
    }
    async with anyio.create_task_group() as tasks:
        nodes = Nodes(directory, program, settings, tasks, {})
        try:
            with anyio.fail_after(START_LIMIT_S):
                await nodes.begin(*names)
            yield nodes
        finally:
            with anyio.CancelScope(shield=True):
                for node in nodes.by_name.values():
                    node.kill()
                    await node.gone()


async def rooms_of(
    nodes: Nodes, page_of: Gateway, stack: AsyncExitStack, count: int, hello: str
) -> dict[str, list[Room]]:
    """So many rooms and more whose programs run on each node and have said `hello`, seen through pages of one node."""
    found: dict[str, list[Room]] = {name: [] for name in nodes.by_name}
    for name in map("room-{}".format, itertools.count()):
        if min(len(rooms) for rooms in found.values()) >= count:
            break
        room = Room(await stack.enter_async_context(page_of.page()), name)
        await room.open()
        await room.say("hi")
        await room.until(hello)
        await nodes.until(partial(_served, nodes, name))
        (server,) = _served(nodes, name)
        found[server].append(room)
    return found


def _served(nodes: Nodes, room: str) -> list[str]:
    """The nodes where a room's session began."""
    return [name for name in nodes.by_name if nodes.logged(name, "session.started", conversation=f"web:{room}")]
