"""Use of models, in Redis: a hash for each day, with a field for each sum."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import date

from gateway.features.usage.store import KEPT_DAYS, Used
from gateway.models.answers import Amounts
from runtime.core.json_text import compact_json
from runtime.storage.redis.client.connection import RedisConnection, load_script

MAX_FIELDS = 100_000
"""The most sums of a day. Beyond, new people are counted together, as nobody."""

_ADD = load_script("add", "gateway.features.usage")
_DAY_S = 86_400


class RedisUsage:
    """Implements `UsageStore`. Fields name people, so that deleting a person finds them like every record."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    async def add(self, used: Used, amounts: Amounts, /) -> None:
        rest = (used.program, used.agent, used.model, used.purpose)
        begins = [_field(used.person, *rest), _field("", *rest)]
        pairs = [text for name, amount in asdict(amounts).items() if amount for text in (name, repr(amount))]
        if pairs:
            arguments: list[str | int] = [KEPT_DAYS * _DAY_S, MAX_FIELDS, *begins, *pairs]
            await self._connection.run(_ADD, [_key(used.day)], arguments, replicated=False)

    async def rows(self, days: Sequence[date], /) -> Sequence[tuple[Used, Amounts]]:
        found = await self._connection.each([_key(day) for day in days], lambda batch, key: batch.hgetall(key))
        rows: list[tuple[Used, Amounts]] = []
        for day, sums in zip(days, found, strict=True):
            parts: dict[str, dict[str, float]] = {}
            for field, value in sums.items():
                begins, _, name = str(field).rpartition(" ")
                parts.setdefault(begins, {})[name] = float(value)
            rows += [(Used(day, *json.loads(begins)), _amounts(part)) for begins, part in parts.items()]
        return rows


def _amounts(part: dict[str, float]) -> Amounts:
    whole = {one.name: int(part.get(one.name, 0)) for one in fields(Amounts) if one.name != "cost_usd"}
    return Amounts(**whole, cost_usd=part.get("cost_usd", 0.0))


def _field(*names: str) -> str:
    return compact_json(names) + " "


def _key(day: date) -> str:
    return f"{{parley:usage:{day.isoformat()}}}"
