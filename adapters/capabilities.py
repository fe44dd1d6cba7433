"""What a platform can do and how much of it, as data with its sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TextUnit = Literal["codepoints", "utf16"]


@dataclass(frozen=True, slots=True)
class Budget:
    """A token bucket: `rate_per_s` tokens a second, at most `burst` at once. One call costs one token."""

    rate_per_s: float
    burst: float


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Limits in the platform's own units; `source` says where each number is from.

    `private_budget` and `group_budget` count sends and edits of one conversation together; `total_budget` counts
    everything of one bot. `max_text` is counted in `text_unit` and leaves room for closing marks.
    """

    max_text: int
    text_unit: TextUnit
    edits: bool
    threads: bool
    custom_identity: bool
    idempotent_send: bool
    typing_lasts_s: float | None
    private_budget: Budget
    group_budget: Budget
    total_budget: Budget
    source: str
