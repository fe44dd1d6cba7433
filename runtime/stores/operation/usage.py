"""The port for what models were used: sums by day, person, program, agent, model and purpose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Used:
    """The origin of use: a person's id, "" where nobody is known, names of the program, the agent and the model, and
    the purpose, as in `CompletionRequest`; "" where that was not kept yet.
    """

    day: date
    person: str
    program: str
    agent: str
    model: str
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Amounts:
    """Answers, tokens as providers count them, those from the cache among those in, and the price in US dollars.

    `estimated` of the answers ended before they were counted; their tokens are an estimate by length.
    """

    answers: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    estimated: int = 0

    def plus(self, other: Amounts) -> Amounts:
        """Both together."""
        return Amounts(
            self.answers + other.answers,
            self.tokens_in + other.tokens_in,
            self.tokens_cached + other.tokens_cached,
            self.tokens_out + other.tokens_out,
            self.cost_usd + other.cost_usd,
            self.estimated + other.estimated,
        )


def total(rows: Iterable[tuple[Used, Amounts]]) -> Amounts:
    """All rows together."""
    whole = Amounts()
    for _, amounts in rows:
        whole = whole.plus(amounts)
    return whole


class UsageStore(Protocol):
    """Raises StorageUnavailable, and nothing else."""

    async def add(self, used: Used, amounts: Amounts, /) -> None:
        """Add to the sums of a day. They vanish KEPT_DAYS later."""
        ...

    async def rows(self, days: Sequence[date], /) -> Sequence[tuple[Used, Amounts]]:
        """All sums of these days, in no order."""
        ...


KEPT_DAYS = 92
