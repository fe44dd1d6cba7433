"""Models that have failed and are not asked for a while, known to all nodes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from dataclasses import asdict, dataclass
from typing import Protocol

import anyio

from runtime.core.clock import Clock
from runtime.core.errors import (
    LLMError,
    LLMKeyRefused,
    LLMNotOffered,
    LLMQuotaSpent,
    LLMRateLimited,
    LLMTimeout,
    StorageUnavailable,
)

LONGEST_S = 600.0
_SHORTEST_S = 20.0
_AFTER_TIMEOUT_S = 60.0
_STORE_LIMIT_S = 1.0
"""Nobody waits longer for what other nodes know: a model that fails shows it by itself."""


class SharedRecords(Protocol):
    """A durable table of texts that all nodes share. Raises StorageUnavailable."""

    async def all(self) -> Mapping[str, str]: ...

    async def put(self, name: str, value: str, /) -> None: ...

    async def remove(self, name: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Cooldown:
    """A model is not asked before `until_s` (since the epoch). It has failed `times` in a row; `why` is the name of the
    last error."""

    until_s: float
    times: int
    why: str


class Cooldowns:
    """The models that cool down, by their names in the settings. Without `keep_in` only this process knows of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, Cooldown] = {}
        self._records: SharedRecords | None = None

    def keep_in(self, records: SharedRecords) -> None:
        """From now on other nodes know too."""
        self._records = records

    async def current(self) -> Mapping[str, Cooldown]:
        """Those that cool down now."""
        await self._read()
        now_s = self._clock.now().timestamp()
        return {name: one for name, one in self._known.items() if one.until_s > now_s}

    async def begin(self, name: str, error: LLMError) -> Cooldown:
        """A model has failed. Each failure after a cool-down doubles the next one, up to LONGEST_S."""
        now_s, last = self._clock.now().timestamp(), self._known.get(name)
        if last is not None and last.until_s > now_s:  # another request has found out meanwhile
            return last
        times = 1 if last is None else last.times + 1
        begun = Cooldown(now_s + _seconds(error, times), times, type(error).__name__)
        self._known[name] = begun
        if self._records is not None:
            with anyio.move_on_after(_STORE_LIMIT_S):
                await _unless_away(self._records.put(name, json.dumps(asdict(begun))))
        return begun

    async def end(self, name: str) -> None:
        """A model has answered."""
        if self._known.pop(name, None) is not None and self._records is not None:
            with anyio.move_on_after(_STORE_LIMIT_S):
                await _unless_away(self._records.remove(name))

    async def _read(self) -> None:
        if self._records is None:
            return
        with anyio.move_on_after(_STORE_LIMIT_S):
            try:
                kept = await self._records.all()
            except StorageUnavailable:
                return
            self._known = {name: Cooldown(**json.loads(text)) for name, text in kept.items()}


def _seconds(error: LLMError, times: int) -> float:
    if isinstance(error, LLMKeyRefused | LLMNotOffered | LLMQuotaSpent):
        return LONGEST_S
    first_s = _AFTER_TIMEOUT_S if isinstance(error, LLMTimeout) else _SHORTEST_S
    if isinstance(error, LLMRateLimited) and error.retry_after_s is not None:
        first_s = error.retry_after_s
    return min(LONGEST_S, first_s * 2.0 ** min(times - 1, 10))


async def _unless_away(write: Awaitable[None]) -> None:
    try:
        await write
    except StorageUnavailable:
        return
