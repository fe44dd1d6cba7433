"""What commands and scripts ask of a server: one write for many, and to each caller its own answer."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import redis
from redis.asyncio import Redis

import gateway.features
import runtime.storage.redis
from runtime.core.errors import StorageUnavailable
from runtime.core.files import FileBounds
from runtime.storage.redis.client.connection import RedisConnection, RedisScript, open_connection
from runtime.storage.redis.client.location import locate
from runtime.storage.redis.files import RedisFileStore
from runtime.storage.redis.records import RedisRecords

pytestmark = pytest.mark.anyio

MANY = 500
ROUND_TRIPS = 50
MOST_CALLS = 400
"""Calls of functions for one command. It was 484 with the library's own way to a connection, and scopes of anyio."""


async def _reads(connection: RedisConnection) -> int:
    async def call(client: Redis) -> int:
        stats: Any = await client.info("stats")
        return int(stats["total_reads_processed"])

    return await connection.retrying(call, "")


async def test_what_many_callers_ask_at_once_the_server_reads_at_once(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        records, found = RedisRecords(connection, "marks:test"), dict[str, str | None]()

        async def keep(name: str) -> None:
            await records.put(name, f"of {name}")
            found[name] = await records.get(name)

        await keep("before")  # a connection is open from here on
        before = await _reads(connection)
        async with anyio.create_task_group() as tasks:
            for number in range(MANY):
                tasks.start_soon(keep, str(number))
        reads = await _reads(connection) - before
    assert found == {name: f"of {name}" for name in found}
    assert len(found) == MANY + 1
    assert reads < MANY / 10


async def test_a_command_that_is_refused_harms_none_beside_it(valkey_socket: Path) -> None:
    unknown = RedisScript("return ARGV[1] -- a script that no server knows", "0" * 40)
    async with open_connection(valkey_socket, patience_s=20) as connection:
        await connection.write("HSET", "{parley:test}:table", "name", "value")
        answers: dict[str, Any] = {}

        async def ask(what: str) -> None:
            try:
                if what == "script":
                    answers[what] = await connection.run(unknown, ["{parley:test}:any"], ["told"])
                elif what == "refused":
                    answers[what] = await connection.ask("GET", "{parley:test}:table")
                else:
                    answers[what] = await connection.ask("HGET", "{parley:test}:table", "name")
            except StorageUnavailable as error:
                answers[what] = str(error)

        async with anyio.create_task_group() as tasks:
            for what in ("first", "script", "refused", "last"):
                tasks.start_soon(ask, what)
    refusal = answers.pop("refused")
    assert "WRONGTYPE" in refusal or "wrong kind of value" in refusal
    assert answers == {"first": "value", "script": "told", "last": "value"}


async def test_half_a_character_is_stored_as_a_mark_and_harms_no_command_beside_it(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        async with anyio.create_task_group() as tasks:
            for text in ("first", "half \ud800", "last"):
                tasks.start_soon(connection.write, "HSET", "{parley:test}:table", text, text)
        kept = await connection.ask("HVALS", "{parley:test}:table")
    assert kept == ["first", "half \ufffd", "last"]


@pytest.mark.parametrize("turns", range(4))
async def test_who_asks_with_one_that_is_cancelled_has_an_answer(valkey_socket: Path, turns: int) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        await connection.write("HSET", "{parley:test}:table", "name", "value")
        found: list[Any] = []

        async def ask() -> None:
            found.append(await connection.ask("HGET", "{parley:test}:table", "name"))

        async with anyio.create_task_group() as tasks, anyio.create_task_group() as ended:
            ended.start_soon(ask)
            tasks.start_soon(ask)
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            ended.cancel_scope.cancel()
    assert "value" in found


async def test_a_command_calls_few_functions(valkey_socket: Path) -> None:
    calls = 0

    def count(_frame: Any, kind: str, _argument: Any) -> None:
        nonlocal calls
        calls += kind in ("call", "c_call")

    async with open_connection(valkey_socket, patience_s=20) as connection:
        await connection.ask("GET", "{parley:test}:any")
        sys.setprofile(count)
        try:
            for _ in range(ROUND_TRIPS):
                await connection.ask("GET", "{parley:test}:any")
        finally:
            sys.setprofile(None)
    assert calls / ROUND_TRIPS < MOST_CALLS


async def test_who_finds_all_connections_in_use_waits_for_one(valkey_socket: Path) -> None:
    endpoint = (str(valkey_socket), 0)
    pool: Any = locate(valkey_socket).client(endpoint, size=2, connect_s=5, read_s=5).connection_pool
    first, second = await pool.get_connection(), await pool.get_connection()
    had = []

    async def take() -> None:
        had.append(await pool.get_connection())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take)
        await anyio.wait_all_tasks_blocked()
        assert had == []
        await pool.release(first)
    assert had == [first]
    assert first is not second
    await pool.disconnect()


async def test_an_idle_connection_that_the_server_has_closed_is_opened_again(valkey_socket: Path) -> None:
    endpoint = (str(valkey_socket), 0)
    client = locate(valkey_socket).client(endpoint, size=1, connect_s=5, read_s=5)
    first = await client.client_id()
    async with Redis(unix_socket_path=str(valkey_socket)) as other:
        await other.client_kill_filter(_id=str(first))
    assert await client.client_id() != first
    await client.aclose()
    await client.connection_pool.disconnect()


FOLDERS = [Path(str(package.__file__)).parent for package in (runtime.storage.redis, gateway.features)]
SCRIPTS = [path for folder in FOLDERS for path in folder.rglob("*.lua")]
MODULES = [path for folder in FOLDERS for path in folder.rglob("*.py")]
IN_LUA = re.compile(r"redis\.p?call\('(\w+)'")
IN_PYTHON = re.compile(r'\.write\(\s*"(\w+)"')
NEWEST = (7, 0, 0)


def test_no_command_is_newer_than_redis_7_0(valkey_socket: Path) -> None:
    lua = {name for path in SCRIPTS for name in IN_LUA.findall(path.read_text(encoding="utf-8"))}
    python = {name for path in MODULES for name in IN_PYTHON.findall(path.read_text(encoding="utf-8"))}
    assert {"HSET", "XADD"} <= lua
    assert {"HSET", "UNLINK"} <= python
    with redis.Redis(unix_socket_path=str(valkey_socket), protocol=2, decode_responses=True) as client:
        client.response_callbacks.clear()
        answer: Callable[..., Any] = client.execute_command
        since = {name: _since(answer("COMMAND", "DOCS", name)) for name in sorted(lua | python)}
    assert {name: found for name, found in since.items() if found > NEWEST} == {}


def _since(answer: Any) -> tuple[int, ...]:
    _, told = answer if isinstance(answer, list) else next(iter(answer.items()))
    found = told if isinstance(told, dict) else dict(zip(told[::2], told[1::2], strict=True))
    return tuple(map(int, found["since"].split(".")))


def test_no_script_looks_for_keys() -> None:
    for path in SCRIPTS:
        names = set(IN_LUA.findall(path.read_text(encoding="utf-8")))
        assert not names & {"SCAN", "KEYS", "RANDOMKEY", "SELECT"}, path.name


def test_nothing_is_watched_for_changes() -> None:
    for path in MODULES:
        assert not re.search(r"(client|batch|pipe\w*)\.watch\(", path.read_text(encoding="utf-8")), path.name


OWNERSHIP = [f"{{parley:files}}:{name}" for name in ("owners", "owned", "owned-entries")]


async def test_files_of_an_earlier_version_belong_to_their_conversations(valkey_socket: Path) -> None:
    bounds = FileBounds(total_bytes=900_000, person_bytes=300_000, conversation_bytes=600_000)
    async with open_connection(valkey_socket) as connection:
        store = RedisFileStore(connection, bounds)
        lobby = await store.keep(b"a" * 100_000, "text/plain", conversation="web:lobby")
        den = [await store.keep(bytes([n]) * 100_000, "text/plain", conversation="web:den") for n in range(5)]
        await connection.write("DEL", OWNERSHIP[0], *OWNERSHIP[1:])
        eve = [
            await store.keep(bytes([n]) * 100_000, "text/plain", person="eve", conversation=f"web:{n}")
            for n in range(10, 16)
        ]
        kept = [[n for n, id_ in enumerate(ids) if await store.head(id_) is not None] for ids in ([lobby], den, eve)]
        assert kept == [[0], [1, 2, 3, 4], [2, 3, 4, 5]]
