"""The progress of a growing text, and how much of it people see."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.pacing.constants import (
    ACTIVE_S,
    ELAPSED_MIN_S,
    QUIET_MIN_S,
    QUIET_SPACINGS,
    SPACING_MAX_S,
    SPACING_START_S,
    SPACING_WEIGHT,
)


@dataclass(slots=True)
class Progress:
    """Times are `Clock.monotonic`, lengths characters.

    `area` is the sum over unshown characters of their age, in character seconds, at `area_at`. `spacing_s` is the usual
    time between chunks.
    """

    first_at: float
    newest_at: float
    oldest_at: float | None = None
    area_at: float = 0.0
    area: float = 0.0
    spacing_s: float = SPACING_START_S
    produced: int = 0
    covered: int = 0
    visible: bool = False

    def said(self, length: int, now: float) -> None:
        """The text is now `length` characters long."""
        spacing_s = min(SPACING_MAX_S, now - self.newest_at)
        if self.produced:
            self.spacing_s += SPACING_WEIGHT * (spacing_s - self.spacing_s)
        self._age(now)
        self.newest_at = now
        self.produced = length
        if self.oldest_at is None:
            self.oldest_at = now

    def sending(self, covers: int, now: float) -> None:
        """A frame with the first `covers` characters leaves. The rest counts as old as usual speed makes it."""
        self._age(now)
        self.covered = covers
        if covers >= self.produced:
            self.area, self.oldest_at = 0.0, None
            return
        age_s = min(self.age(now), self.unshown * max(ELAPSED_MIN_S, self.elapsed(now)) / self.produced)
        self.area, self.oldest_at = self.unshown * age_s / 2, now - age_s

    def failed(self, visible: int, now: float) -> None:
        """The frame did not land: people still see only `visible` characters."""
        self._age(now)
        self.covered = visible
        if self.oldest_at is None:
            self.oldest_at = now

    def area_now(self, now: float) -> float:
        return self.area + self.unshown * (now - self.area_at)

    def age(self, now: float) -> float:
        """Seconds since the oldest unshown character was produced."""
        return 0.0 if self.oldest_at is None else now - self.oldest_at

    def elapsed(self, now: float) -> float:
        return now - self.first_at

    def active(self, now: float) -> bool:
        """Whether it will probably need calls soon."""
        return self.oldest_at is not None or now - self.newest_at < ACTIVE_S

    @property
    def unshown(self) -> int:
        return max(0, self.produced - self.covered)

    @property
    def quiet_at(self) -> float:
        """The time when the source counts as quiet unless another chunk comes."""
        return self.newest_at + max(QUIET_MIN_S, QUIET_SPACINGS * self.spacing_s)

    def _age(self, now: float) -> None:
        self.area = self.area_now(now)
        self.area_at = now
