"""Schedules and their runs on Redis: a hash for each conversation, for each shard a sorted set of their times, and a
hash of runs for each schedule, which vanishes some time after its last run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from adapters.records import what_can_be_read
from gateway.features.schedules.store import KEPT_DAYS, MAX_RUNS, KeptSchedule, ScheduleRun
from runtime.core.address import Address
from runtime.core.errors import LeaseLost
from runtime.storage.redis.client.connection import RedisConnection, RedisScript, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.inbox import EventForm
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Lease

_ADD = load_script("add", "gateway.features.schedules")
_REMOVE = load_script("remove", "gateway.features.schedules")
_ZONE = load_script("zone", "gateway.features.schedules")
_PASSED = load_script("passed", "gateway.features.schedules")

_PAUSED = "{parley:runs-paused}"
_KEPT_S = KEPT_DAYS * 86_400


class RedisSchedules:
    """Implements `ScheduleStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._form = EventForm(connection.sealing)

    async def add(self, lease: Lease, event: InboxEvent, due_s: float, /, *, bound: int) -> int | None:
        written, place = self._form.write(event), event.address.key
        outcome, number = await self._write(_ADD, lease, place, event.id, written, repr(due_s), bound, place)
        return int(number) if outcome == "ok" else None

    async def all(self, conversation: Address, /) -> Sequence[KeptSchedule]:
        place = conversation.key
        keys = ShardKeys(shard_of(place))

        kept = await self._connection.read("hgetall", keys.schedules(place))
        numbers = sorted(int(name) for name in kept if name.isdecimal())
        if not numbers:
            return []

        dues = await self._connection.read(
            "zmscore", keys.schedule_times, [_member(number, place) for number in numbers]
        )
        return [
            KeptSchedule(number, self._read(place, number, kept[str(number)]), float(due_s))
            for number, due_s in zip(numbers, dues, strict=True)
            if due_s is not None
        ]

    async def remove(self, lease: Lease, conversation: Address, number: int, /) -> bool:
        _, removed = await self._write(_REMOVE, lease, conversation.key, number, conversation.key)
        return bool(removed)

    async def zone(self, conversation: Address, /) -> str:
        place = conversation.key
        value = await self._connection.ask("HGET", ShardKeys(shard_of(place)).schedules(place), "zone")
        return "" if value is None else str(value)

    async def set_zone(self, lease: Lease, conversation: Address, zone: str, dues: Mapping[int, float], /) -> None:
        place = conversation.key
        times = [part for number, due_s in dues.items() for part in (number, repr(due_s))]
        await self._write(_ZONE, lease, place, zone, place, *times)

    async def first(self, shard: int, /) -> float | None:
        key = ShardKeys(shard).schedule_times

        found = await self._connection.read("zrange", key, 0, 0, withscores=True)
        return float(found[0][1]) if found else None

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[KeptSchedule]:
        keys = ShardKeys(shard)

        found = []
        for member, due_s in await self._connection.read(
            "zrangebyscore", keys.schedule_times, "-inf", until_s, start=0, num=limit, withscores=True
        ):
            number, _, place = str(member).partition(" ")
            written = await self._connection.ask("HGET", keys.schedules(place), number)
            if written is None:  # forgotten with the person who made it
                await self._connection.write("ZREM", keys.schedule_times, member)
            else:
                found.append(KeptSchedule(int(number), self._read(place, int(number), str(written)), float(due_s)))
        return found

    async def passed(self, kept: KeptSchedule, next_s: float | None, /) -> None:
        place = kept.event.address.key
        keys = ShardKeys(shard_of(place))
        following = "" if next_s is None else repr(next_s)
        await self._connection.run(
            _PASSED,
            [keys.schedules(place), keys.schedule_times],
            [kept.number, place, repr(kept.due_s), following],
        )

    async def _write(self, script: RedisScript, lease: Lease, place: str, *arguments: str | int) -> tuple[str, Any]:
        keys = ShardKeys(lease.shard)
        outcome, found = await self._connection.run(
            script, [keys.lease, keys.schedules(place), keys.schedule_times], [lease.token, *arguments]
        )
        if outcome == "lease":
            raise LeaseLost(f"Shard {lease.shard} was taken over: token {found}, ours is {lease.token}.")
        return str(outcome), found

    def _read(self, place: str, number: int, written: str) -> InboxEvent:
        return self._form.read(f"schedule {number} of {place}", {"e": written})


def _member(number: int, conversation: str) -> str:
    return f"{number} {conversation}"


class RedisRuns:
    """Implements `RunStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def begin(self, schedule: str, run: ScheduleRun, /) -> ScheduleRun:
        key = _key(schedule)
        await self._connection.write("HSETNX", key, run.id, _written(run))
        await self._connection.write("EXPIRE", key, _KEPT_S)
        kept = {one.id: one for one in await self.of(schedule)}
        if surplus := list(kept)[: max(0, len(kept) - MAX_RUNS)]:
            await self._connection.write("HDEL", key, *surplus)
        return kept.get(run.id, run)

    async def put(self, schedule: str, run: ScheduleRun, /) -> None:
        key = _key(schedule)
        await self._connection.write("HSET", key, run.id, _written(run))
        await self._connection.write("EXPIRE", key, _KEPT_S)

    async def of(self, schedule: str, /) -> Sequence[ScheduleRun]:
        key = _key(schedule)

        runs = what_can_be_read(
            await self._connection.read("hgetall", key), lambda text: ScheduleRun(**json.loads(text))
        )
        return sorted(runs.values(), key=lambda run: (run.due_s, run.at_s))

    async def pause(self, schedule: str, /, *, paused: bool) -> None:
        if paused:
            await self._connection.write("HSET", _PAUSED, schedule, "1")
        else:
            await self._connection.write("HDEL", _PAUSED, schedule)

    async def is_paused(self, schedule: str, /) -> bool:
        return await self._connection.ask("HGET", _PAUSED, schedule) is not None


def _key(schedule: str) -> str:
    return f"{{parley:runs:{schedule}}}"


def _written(run: ScheduleRun) -> str:
    return json.dumps(asdict(run), ensure_ascii=False)
