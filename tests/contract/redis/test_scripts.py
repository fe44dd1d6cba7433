"""What the scripts, and the writes beside them, ask of a server."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

import gateway.features
import runtime.storage.redis

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
