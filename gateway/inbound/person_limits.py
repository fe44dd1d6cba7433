"""Limits of single people, which owners set: in place of those that the settings have for a person."""

from __future__ import annotations

import json
from collections.abc import Mapping

from adapters.records import Records, readable, what_can_be_read

PERSON_LIMITS_TABLE = "limits:people"

KINDS = ("messages_per_minute", "messages_per_day", "usd_per_day", "tokens_per_day")
"""What can be limited, as the settings name it behind `person_`. 0 is no limit."""


class PersonLimits:
    """Read for every decision, so that a change holds at once on every node. Raises StorageUnavailable."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def of(self, person: str) -> Mapping[str, float]:
        """The limits of a person, by their kinds; what is not in it is as the settings have it."""
        return readable(person, await self._records.get(person), _read) or {}

    async def all(self) -> Mapping[str, Mapping[str, float]]:
        """Everybody's, by their ids."""
        return what_can_be_read(await self._records.all(), _read)

    async def set(self, person: str, limits: Mapping[str, float]) -> None:
        """Give a person exactly these limits of their own; with none, the settings decide again."""
        if limits:
            await self._records.put(person, json.dumps(dict(limits)))
        else:
            await self._records.remove(person)


def _read(text: str) -> Mapping[str, float]:
    data = json.loads(text)
    return {kind: float(value) for kind, value in data.items() if kind in KINDS}
