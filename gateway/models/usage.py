"""Costs of models: counted by day, person, program, agent, model and purpose; told to people and on the console."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, timedelta
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from typing import Literal

from runtime.bus import Bus, EventStream
from runtime.core.clock import Clock
from runtime.core.errors import StorageUnavailable
from runtime.core.texts import Texts
from runtime.events.frames import LLMAnswered
from runtime.stores.operation.usage import KEPT_DAYS, Amounts, UsageStore, Used, total

DAYS = 30
MAX_LINES = 10
"""The number of people, programs, agents or models that are named to owners, the dearest first."""

By = Literal["day", "person", "program", "agent", "model", "purpose"]
GROUPS: tuple[By, ...] = ("person", "program", "agent", "model", "purpose")

_UNHEARD_ANSWERS = 10_000

Row = tuple[Used, Amounts]


ANSWERS = f"{LLMAnswered.name}*"
"""The events of answers, whole and in part."""


def answers_on(bus: Bus) -> AbstractAsyncContextManager[EventStream]:
    """The answers of models from now on."""
    return bus.events(ANSWERS, capacity=_UNHEARD_ANSWERS)


class Ledger:
    """Counts every answer of a model. What a node has not counted when it dies is lost."""

    def __init__(self, store: UsageStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def follow(self, answers: EventStream) -> None:
        """Count what `answers_on` brings until cancelled."""
        async for answer in answers:
            if isinstance(answer.what, LLMAnswered):
                await self.count(answer.what)

    async def count(self, answer: LLMAnswered) -> None:
        """Count one answer, by the day of UTC."""
        day, person = self._clock.now().date(), answer.participant_id or ""
        used = Used(day, person, answer.program, answer.agent, answer.model, answer.purpose)
        try:
            await self._store.add(used, amounts_of(answer))
        except StorageUnavailable:
            return

    async def told(self, person: str | None, texts: Texts) -> str:
        """The use of the last days, for a person about themselves; with None everybody's, for an owner."""
        rows = await self.rows(DAYS)
        if person is not None:
            rows = [row for row in rows if row[0].person == person]
        if not rows:
            return texts("usage.none_mine" if person is not None else "usage.none", days=DAYS)
        today = [row for row in rows if row[0].day == self._clock.now().date()]
        lines = [texts("usage.mine" if person is not None else "usage.all")]
        lines += [
            texts("usage.today", amounts=in_words(total(today), texts)),
            texts("usage.days", days=DAYS, amounts=in_words(total(rows), texts)),
        ]
        if person is None:
            for by in GROUPS:
                lines += ["", texts(f"usage.by_{by}")]
                named = grouped(rows, by)[:MAX_LINES]
                lines += [f"- {name or '?'}: {in_words(amounts, texts)}" for name, amounts in named]
        return "\n".join(lines)

    async def rows(self, days: int) -> Sequence[Row]:
        """The sums of the last days, today's among them."""
        return await self._store.rows(last_days(self._clock.now().date(), days))


def amounts_of(answer: LLMAnswered) -> Amounts:
    """What one answer adds."""
    tokens = (answer.tokens_in, answer.tokens_cached, answer.tokens_out)
    return Amounts(1, *tokens, answer.cost_usd, int(answer.estimated))


def last_days(today: date, days: int) -> list[date]:
    """The last `days` days up to today, as far back as they are kept."""
    return [today - timedelta(days=number) for number in range(min(days, KEPT_DAYS))]


def grouped(rows: Sequence[Row], by: By) -> list[tuple[str, Amounts]]:
    """The sums by one of the names, the dearest first; days in order."""
    name: Callable[[Used], object] = attrgetter(by)
    found: dict[str, Amounts] = {}
    for used, amounts in rows:
        key = str(name(used))
        found[key] = found.get(key, Amounts()).plus(amounts)
    if by == "day":
        return sorted(found.items())
    return sorted(found.items(), key=lambda one: (one[1].cost_usd, one[1].tokens_in), reverse=True)


def in_words(amounts: Amounts, texts: Texts) -> str:
    """Amounts on a line, for people."""
    told = texts(
        "usage.amounts",
        answers=f"{amounts.answers:,}",
        tokens_in=f"{amounts.tokens_in:,}",
        cached=f"{amounts.tokens_cached:,}",
        tokens_out=f"{amounts.tokens_out:,}",
        usd=f"{amounts.cost_usd:,.2f}",
    )
    return texts("usage.estimated", amounts=told, count=f"{amounts.estimated:,}") if amounts.estimated else told


def prices_from() -> str:
    """Where prices come from that the settings do not have."""
    try:
        return f"the list of litellm {version('litellm')}"
    except PackageNotFoundError:
        return "no list: litellm is not installed"
