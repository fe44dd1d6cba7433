"""Messages, answers, failures, waits for a first text, and costs, counted by the hour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import anyio

from gateway.feature import FeatureGround, ServingGround
from gateway.observability.watching import FirstTexts
from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.core.errors import StorageUnavailable
from runtime.events.frames import LLMAnswered, LLMAnsweredInPart, LLMFailed
from runtime.events.happening import Happening
from runtime.events.sessions import PlaybookFailed
from runtime.events.talk import MessageReceived, PageSettled
from runtime.storage.redis.client.connection import RedisConnection, load_script

_ADD = load_script("add", "gateway.features.hours")
_KEPT_S = 2 * 86_400

PAUSE_S = 1.0
"""The time between two writes. A gateway that dies loses what it has counted since the last one."""

HOURS: Final = 24

_COUNTED: Final = {
    MessageReceived: "messages",
    PageSettled: "answers",
    PlaybookFailed: "failures",
    LLMFailed: "unanswered",
}


def _key(hour: str) -> str:
    return f"{{parley:hours:{hour}}}"


class HourLedger:
    """Counts what happens in this process, in a hash for each hour, which is named by its beginning, such as
    `2026-01-01T09`, UTC.
    """

    def __init__(self, connection: RedisConnection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._unwritten: dict[str, Counter[str]] = {}
        self._changed = anyio.Event()

    async def follow(self, bus: Bus) -> None:
        """Count what comes, until cancelled; what comes between two writes is written together."""
        with ExitStack() as stack:
            for kind, measure in _COUNTED.items():
                stack.callback(bus.hear(kind, partial(self._one, measure)))
            for answered in (LLMAnswered, LLMAnsweredInPart):
                stack.callback(bus.hear(answered, self._spent))
            stack.callback(FirstTexts(self._waited).attach(bus))
            try:
                while True:
                    await self._changed.wait()
                    await self._write()
                    await self._clock.sleep_until(self._clock.monotonic() + PAUSE_S)
            finally:
                with anyio.move_on_after(PAUSE_S, shield=True):
                    await self._write()

    async def _write(self) -> None:
        self._changed, unwritten, self._unwritten = anyio.Event(), self._unwritten, {}
        for hour, amounts in unwritten.items():
            pairs = [text for name, amount in amounts.items() for text in (name, repr(amount))]
            with suppress(StorageUnavailable):
                await self._connection.run(_ADD, [_key(hour)], [_KEPT_S, *pairs], replicated=False)

    async def last_day(self) -> Sequence[dict[str, Any]]:
        """The last hours, this one last: counts, the mean wait for a first text (seconds), and the known cost. Raises
        StorageUnavailable."""
        now = self._clock.now()
        begins = [_hour(now - timedelta(hours=back)) for back in range(HOURS - 1, -1, -1)]
        found = await self._connection.each([_key(hour) for hour in begins], lambda batch, key: batch.hgetall(key))
        return [
            _shown(hour, {str(name): float(amount) for name, amount in sums.items()})
            for hour, sums in zip(begins, found, strict=True)
        ]

    def _count(self, at: datetime, amounts: dict[str, float]) -> None:
        sums = self._unwritten.setdefault(_hour(at), Counter())
        for name, amount in amounts.items():
            sums[name] += amount  # type: ignore[assignment] # sums of seconds and dollars are no whole numbers
        self._changed.set()

    def _one(self, measure: str, _: Happening, at: datetime) -> None:
        self._count(at, {measure: 1})

    def _spent(self, what: LLMAnswered, at: datetime) -> None:
        self._count(at, {"unpriced": 1} if what.cost_usd is None else {"priced": 1, "usd": what.cost_usd})

    def _waited(self, _conversation: str, seconds: float, at: datetime) -> None:
        self._count(at, {"waits": 1, "waited_s": seconds})


def open_node(ground: FeatureGround, serving: ServingGround) -> None:
    """Counts beside the sessions, and takes no part in them."""
    serving.tasks.start_soon(HourLedger(ground.connection, ground.clock).follow, ground.bus)


async def status(ground: FeatureGround) -> Mapping[str, Mapping[str, Any]]:
    return {"last_day": {"hours": await HourLedger(ground.connection, ground.clock).last_day()}}


def _hour(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H")


def _shown(hour: str, sums: Mapping[str, float]) -> dict[str, Any]:
    waits, unpriced = sums.get("waits", 0), int(sums.get("unpriced", 0))
    return {
        "at": f"{hour}:00:00+00:00",
        **{name: int(sums.get(name, 0)) for name in ("messages", "answers", "failures", "unanswered")},
        "waits": int(waits),
        "first_text_s": round(sums["waited_s"] / waits, 3) if waits else None,
        "usd": None if unpriced and not sums.get("priced") else round(sums.get("usd", 0.0), 6),
        "unpriced": unpriced,
    }
