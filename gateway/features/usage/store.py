"""The port for what models were used: sums by day, person, program, agent, model and purpose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, Protocol

from gateway.models.answers import Amounts

KEPT_DAYS: Final = 92


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
