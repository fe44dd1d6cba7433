"""What is said to a gateway with keys is nowhere on the disk, and is not lost with a wrong key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from runtime.storage.embedded.data_directory import socket_path
from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway, parley

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

DESK = ROOT / "tests" / "e2e" / "programs" / "desk.pb"
LOCKED = "This conversation is encrypted with a key that is missing now"
SECRET = "wisteria"


async def printed(data_dir: Path, settings: Mapping[str, str], *arguments: str) -> str:
    """What a command prints that must succeed."""
    status, output, errors = await parley(data_dir, *arguments, **settings)
    assert status == 0, output + errors
    return output


async def whole_server(data_dir: Path) -> str:
    """Every key of the database and every value."""
    client: Any = Redis(unix_socket_path=str(socket_path(data_dir)))
    found = []
    async for key in client.scan_iter("*"):
        kind = (await client.type(key)).decode()
        read = {"hash": client.hgetall, "set": client.smembers, "string": client.get, "stream": client.xrange}
        found.append((key, await read[kind](key) if kind in read else await client.zrange(key, 0, -1)))
    await client.aclose()
    return repr(found)


def on_disk(data_dir: Path) -> set[str]:
    """The files in which the secret can be read."""
    files = [path for path in data_dir.rglob("*") if path.is_file()]
    assert any("appendonly" in str(path) for path in files)
    return {path.name for path in files if SECRET.encode() in path.read_bytes()}


async def heard(running: Gateway, room: str, said: str, answer: str) -> None:
    """Say something in a room; return when the answer is there."""
    async with running.page() as page:
        seen = Room(page, room)
        await seen.open()
        await seen.say(said)
        await seen.until_some(answer)


async def test_with_keys_nothing_said_can_be_found_and_a_wrong_key_loses_nothing(tmp_path: Path) -> None:
    keys, other, data_dir = tmp_path / "keys", tmp_path / "other", tmp_path / "data"
    data_dir.mkdir()
    settings = {"PARLEY_ENCRYPTION__KEYS_FILE": str(keys), "PARLEY_RETENTION__ARCHIVE_AFTER_DAYS": "0.000001"}
    for path in (keys, other):
        await printed(data_dir, {}, "setup", "keys", "new", "--file", str(path))
        assert path.stat().st_mode & 0o777 == 0o600
    async with gateway(data_dir, DESK, settings) as running:
        await heard(running, "lobby", "hi", "The desk is open.")
        await heard(running, "lobby", f"{SECRET} one", f"You said: {SECRET} one")
        await heard(running, "hall", "hi", "The desk is open.")
        await heard(running, "hall", f"{SECRET} two", f"You said: {SECRET} two")
        await heard(running, "hall", f"/fork More {SECRET}", "continues in a second place")
        assert SECRET not in await whole_server(data_dir)
        running.kill()
        await running.gone()
        assert on_disk(data_dir) == set()

        right = keys.read_text()
        keys.write_text(other.read_text())
        await running.start()
        await heard(running, "lobby", "again", LOCKED)
        await heard(running, "board", "hi", "The desk is open.")
        async with running.page() as page:
            hall = Room(page, "hall")
            await hall.join()
            assert set(hall.texts()) == {"🔒"}
        assert "content.locked" in running.output
        assert right.partition(":")[0] in running.output
        running.kill()
        await running.gone()

        keys.write_text(other.read_text() + right)
        await running.start()
        (letter,) = (await printed(data_dir, settings, "dlq", "list", "--json")).splitlines()
        await printed(data_dir, settings, "dlq", "replay", json.loads(letter)["letter"])
        async with running.page() as page:
            lobby = Room(page)
            await lobby.join()
            await lobby.until_some("You said: again")
            assert f"You said: {SECRET} one" in lobby.texts()
        told = await printed(data_dir, settings, "setup", "keys", "rotate")
        assert "You can remove the others" not in told
        rows = [
            json.loads(line)
            for line in (await printed(data_dir, settings, "setup", "keys", "list", "--json")).splitlines()
        ]
        assert [row["entries"] > 0 for row in rows[:2]] == [True, False]
        running.kill()
        await running.gone()

        keys.write_text(other.read_text())
        await running.start()
        await heard(running, "hall", f"{SECRET} three", f"You said: {SECRET} three")
        async with running.page() as page:
            hall = Room(page, "hall")
            await hall.join()
            assert f"You said: {SECRET} two" in hall.texts()
        assert await running.stop() == 0
    told = await printed(data_dir, settings, "sessions", "prune", "--apply")
    assert " sessions were archived, 0 deleted" in told, told
    assert on_disk(data_dir) == set()
    assert (data_dir / "archive.sqlite").stat().st_size > 0


async def test_keys_are_made_once_and_a_bad_one_is_told_at_the_start(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    status, output, _ = await parley(tmp_path, "setup", "keys", "new")
    assert (status, len(output.split(":"))) == (0, 2)
    keys.write_text(f"# ours\n{output}")
    settings = {"PARLEY_ENCRYPTION__KEYS_FILE": str(keys)}
    told = await printed(tmp_path, settings, "setup", "keys", "new", "--last")
    assert "behind 1 others" in told
    lines = keys.read_text().splitlines()
    assert lines[:2] == ["# ours", output.strip()]
    assert len(lines) == 3
    keys.write_text(lines[1][:-5])
    status, _, errors = await parley(tmp_path, "run", str(DESK), **settings)
    assert status == 2
    assert "encryption.keys, line 1: this is not a key" in errors
    assert lines[1].partition(":")[2][:-5] not in errors
