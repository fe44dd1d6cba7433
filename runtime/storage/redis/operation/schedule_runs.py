"""The runs of schedules on Redis: a hash for each schedule, which vanishes some time after its last run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from redis.asyncio import Redis

from runtime.storage.redis.client.connection import RedisConnection
from runtime.stores.operation.schedule_runs import KEPT_DAYS, MAX_RUNS, ScheduleRun

_PAUSED = "{parley:runs-paused}"
_KEPT_S = KEPT_DAYS * 86_400


class RedisRuns:
    """Implements `runtime.stores.operation.schedule_runs.RunStore`."""

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

        async def call(client: Redis) -> Any:
            return await client.hvals(key)

        runs = [ScheduleRun(**json.loads(kept)) for kept in await self._connection.retrying(call, key)]
        return sorted(runs, key=lambda run: (run.due_s, run.at_s))

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
