"""A text that grows in front of people, how much of it they see, and the buckets its calls draw from."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio
from msgspec import Struct, field

from adapters.capabilities import Draws
from adapters.pacing.bucket import BucketMirror
from adapters.pacing.constants import (
    ACTIVE_S,
    ELAPSED_MIN_S,
    FINAL_WEIGHT,
    QUIET_MIN_S,
    QUIET_SPACINGS,
    SPACING_MAX_S,
    SPACING_START_S,
    SPACING_WEIGHT,
)
from runtime.core.clock import Clock

_EPSILON = 1e-9


class Progress(Struct):
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


class LiveCall(Struct, frozen=True):
    """One platform call. `covers` is how many characters of the text people see once it has landed; none of them where
    `call` returns False: it was answered, and the text is to be looked at again.

    `call` raises RateLimited, OutcomeUncertain, StreamOver or BadMarkup to be asked again with the newest text, perhaps
    for another kind of call (at once after an unclear answer if it is `idempotent`), NotDelivered to give the text up;
    anything else is raised by `LiveText.finish`.
    `draws` are the buckets (key, size) it costs a token of each instead of the conversation's and the bot's.
    """

    covers: int
    call: Callable[[], Awaitable[bool | None]]
    idempotent: bool = True
    draws: Draws | None = None


class FrameSource(Protocol):
    @property
    def conversation(self) -> str | None:
        """The key of the conversation whose session speaks; None for texts without a session."""

    def frame(self, final: bool, /) -> LiveCall | None:
        """The call that brings people closest to the newest text now; None when they see it. Changes nothing."""


class Attention(Protocol):
    """The owner of texts, which watches their changes."""

    @property
    def clock(self) -> Clock: ...

    def changed(self, text: LiveText, /) -> None:
        """The text has grown, ended or may go on."""

    def over(self, text: LiveText, /) -> None:
        """Nothing more of it will be shown."""


class Lane(Struct, eq=False):
    """A bucket and the texts that draw from it. `starved` texts wait for its next token and nothing else."""

    key: str
    mirror: BucketMirror
    shared: bool
    texts: dict[LiveText, None] = field(default_factory=dict)
    starved: dict[LiveText, None] = field(default_factory=dict)

    def growing(self, now: float) -> int:
        return sum(text.growing(now) for text in self.texts)


class LiveText:
    """A text of `EditScheduler.open`, with one call in flight at a time. `lanes` are those of its next call."""

    def __init__(self, source: FrameSource, home: tuple[Lane, ...], attention: Attention, *, held: bool) -> None:
        self.source = source
        self.home = home
        self.lanes: tuple[Lane, ...] | None = None
        self.progress: Progress | None = None
        self.final = False
        self.in_flight = False
        self.dirty = False
        self.not_before = -math.inf
        self.due_at = math.inf
        self.doubts = 0
        self.held = held
        self.resting = False
        self._answered = anyio.Event()
        self._attention = attention
        self._over = anyio.Event()
        self._delivered = False
        self._error: BaseException | None = None

    @property
    def waiting(self) -> bool:
        return self.dirty and not (self.in_flight or self.held or self.resting or self._over.is_set())

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def growing(self, now: float) -> bool:
        if self.progress is None or self._over.is_set():
            return False
        return self.dirty or self.in_flight or (not self.final and self.progress.active(now))

    def said(self, length: int) -> None:
        if self._over.is_set() or not length:
            return
        self._grown(length)
        self._attention.changed(self)

    async def finish(self, length: int) -> bool:
        """Wait until the source has no frame left: True; False when the text was given up.

        Raises what a frame raised that is not of `LiveCall`'s list. If the caller is cancelled the text goes on.
        """
        if not self._over.is_set():
            self.final = True
            self._grown(length)
            self.settle()
            self._attention.changed(self)
        await self._over.wait()
        if self._error is not None:
            raise self._error
        return self._delivered

    def release(self) -> None:
        self.held = False
        self._attention.changed(self)

    async def rest(self) -> None:
        """Make no more calls, whatever is released. Returns when one on its way was answered."""
        self.resting = True
        while self.in_flight:
            self._answered = anyio.Event()
            await self._answered.wait()

    def answered(self) -> None:
        self.in_flight = False
        self._answered.set()

    def close(self, *, delivered: bool, error: BaseException | None = None) -> None:
        if self._over.is_set():
            return
        self._delivered, self._error = delivered, error
        self.dirty = False
        self._over.set()
        self._attention.over(self)

    def settle(self) -> None:
        """End a finished text that people see completely."""
        if self.final and not self.in_flight and not self._over.is_set() and self.source.frame(True) is None:
            self.close(delivered=True)

    def score(self, now: float) -> float:
        """The order of texts: the age of the oldest unseen character, with much more weight for a finished text."""
        age = _EPSILON if self.progress is None else self.progress.age(now) + _EPSILON
        return age * (FINAL_WEIGHT if self.final else 1.0)

    def _grown(self, length: int) -> None:
        now = self._attention.clock.monotonic()
        if self.progress is None:
            self.progress = Progress(first_at=now, newest_at=now, area_at=now)
        self.progress.said(length, now)
        self.dirty = True
