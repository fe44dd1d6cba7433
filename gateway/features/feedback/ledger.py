"""The ratings that stand: one for each person and message, and their sums by program, step and model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from operator import attrgetter
from typing import Any, Final, Literal

from msgspec import Struct

from adapters.records import Records, what_can_be_read
from gateway.feature import FeatureGround, ServingGround
from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.core.errors import StorageUnavailable
from runtime.events.talk import AnswerRated
from runtime.sessions.features import InSessions, NodePart, SessionPart, SessionParts
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.records import RedisRecords
from runtime.tape.facts.people import FeedbackGiven
from runtime.tape.facts.registry import hears

FEEDBACK_TABLE: Final = "feedback"
KEPT_DAYS: Final = 92
_UNHEARD: Final = 10_000
_SHOWN_DAYS: Final = 30
_MOST_STEPS: Final = 50

By = Literal["day", "program", "step", "model"]


class Rated(Struct, frozen=True):
    day: date
    program: str
    step: str
    model: str
    rating: str


class Feedback(Struct, frozen=True):
    """Keeps the ratings of `KEPT_DAYS`. A later one by the same person of the same message takes the place of the
    earlier one, and one that was taken back is gone. What a node has not kept when it dies is on the tape alone.
    """

    _records: Records
    _clock: Clock

    async def follow(self, bus: Bus) -> None:
        async with bus.events(AnswerRated.name, capacity=_UNHEARD) as ratings:
            async for rating in ratings:
                if isinstance(rating.what, AnswerRated):
                    await self.keep(rating.what)

    async def keep(self, given: AnswerRated) -> None:
        name = f"{given.session_id} {given.message_id} {given.participant_id}"
        kept = [self._today().isoformat(), given.program, given.step, given.model, given.rating]
        try:
            if given.rating == "none":
                await self._records.remove(name)
            else:
                await self._records.put(name, json.dumps(kept, ensure_ascii=False))
        except StorageUnavailable:
            return

    async def rows(self, days: int) -> Sequence[Rated]:
        """The ratings of the last days, today's among them; those that are too old are forgotten. Raises
        StorageUnavailable."""
        found = []
        for name, rated in what_can_be_read(await self._records.all(), _read).items():
            if rated.day <= self._today() - timedelta(days=KEPT_DAYS):
                await self._records.remove(name)
            elif rated.day > self._today() - timedelta(days=days):
                found.append(rated)
        return found

    async def of_program(self, program: str) -> list[dict[str, Any]]:
        """What people think lately of what a program says, step by step. Raises StorageUnavailable."""
        rows = [row for row in await self.rows(_SHOWN_DAYS) if row.program == program]
        return [{"step": step, "up": up, "down": down} for step, up, down in grouped(rows, "step")[:_MOST_STEPS]]

    def _today(self) -> date:
        return self._clock.now().date()


def _read(text: str) -> Rated:
    day, *rest = json.loads(text)
    return Rated(date.fromisoformat(day), *rest)


def feedback_in(connection: RedisConnection, clock: Clock) -> Feedback:
    return Feedback(RedisRecords(connection, FEEDBACK_TABLE), clock)


def grouped(rows: Sequence[Rated], by: By) -> list[tuple[str, int, int]]:
    """How many thumbs up and down there are by one of the names: those with most down first; days in order."""
    name: Callable[[Rated], object] = attrgetter(by)
    found: dict[str, list[int]] = {}
    for row in rows:
        sums = found.setdefault(str(name(row)), [0, 0])
        sums[row.rating == "down"] += 1
    sums_by_name = [(key, up, down) for key, (up, down) in found.items()]
    if by == "day":
        return sorted(sums_by_name)
    return sorted(sums_by_name, key=lambda one: (-one[2], -one[1], one[0]))


class SessionRatings(SessionPart):
    def __init__(self, parts: SessionParts, bus: Bus) -> None:
        self._where = (parts.record.id, parts.record.address.key, parts.record.program)
        self._bus = bus
        self.listeners = (self.noted,)

    @hears(FeedbackGiven)
    def noted(self, fact: FeedbackGiven) -> None:
        about = (fact.platform_id, fact.person, fact.rating, fact.step, fact.model)
        self._bus.publish(AnswerRated(*self._where, *about))


async def practice(ground: FeatureGround, program: str) -> Mapping[str, Any]:
    return {"ratings": await feedback_in(ground.connection, ground.clock).of_program(program)}


def open_node(ground: FeatureGround, serving: ServingGround) -> NodePart | None:
    if not ground.settings.feedback:
        return None
    serving.tasks.start_soon(feedback_in(ground.connection, ground.clock).follow, ground.bus)
    return InSessions(partial(SessionRatings, bus=ground.bus))
