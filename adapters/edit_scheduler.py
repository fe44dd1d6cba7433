"""Who may call a platform next: every growing text of one bot, its buckets, and one timer.

Nothing is queued: a text keeps only its newest state, and a call is built when a token for it is there. A bucket serves
its texts by score: the age of the oldest character nobody has seen, a finished text 1000 times that. When a frame is
due is decided by a policy (`adapters/pacing.py`); finished texts are always due, however long a pause lasts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from adapters.bucket import BucketMirror
from adapters.capabilities import Budget
from adapters.pacing import (
    FINAL_WEIGHT,
    RETRY_FIRST_S,
    RETRY_MAX_S,
    TIMER_MIN_S,
    TYPING_LEAVES,
    AreaPolicy,
    FramePolicy,
    Progress,
    Supply,
)
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, NotDelivered, OutcomeUncertain, RateLimited

_KEYS_SWEPT_FROM = 64
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Frame:
    """One platform call. `covers` is how many characters of the text people see once it has landed.

    `call` raises RateLimited or OutcomeUncertain to be asked again with the newest text (at once after an unclear
    answer if it is `idempotent`), NotDelivered to give the text up; anything else is raised by `LiveText.finish`.
    `draws` are the buckets (key, size) it costs a token of each instead of the conversation's and the bot's.
    """

    covers: int
    call: Callable[[], Awaitable[None]]
    idempotent: bool = True
    draws: Sequence[tuple[str, Budget]] | None = None


class FrameSource(Protocol):
    """What the scheduler asks for frames."""

    def frame(self, final: bool, /) -> Frame | None:
        """The call that brings people closest to the newest text now; None when they see it."""
        ...


class LiveText:
    """A text that grows, made by `EditScheduler.open`. One call in flight at a time."""

    def __init__(self, source: FrameSource, lane: _Lane, scheduler: EditScheduler, *, held: bool) -> None:
        self.source = source
        self.lane = lane
        self.progress: Progress | None = None
        self.final = False
        self.in_flight = False
        self.dirty = False
        self.not_before = -math.inf
        self.doubts = 0
        self.held = held
        self._scheduler = scheduler
        self._over = anyio.Event()
        self._delivered = False
        self._error: BaseException | None = None

    @property
    def waiting(self) -> bool:
        """Whether a call could be made for it now, as far as it is concerned."""
        return self.dirty and not self.in_flight and not self.held

    @property
    def over(self) -> bool:
        """Whether nothing more of it will be shown."""
        return self._over.is_set()

    @property
    def growing(self) -> bool:
        """Whether it will still draw from its bucket."""
        return self.progress is not None and (self.dirty or self.in_flight or not self.final)

    def said(self, length: int) -> None:
        """The text is now `length` characters long."""
        if self._over.is_set() or not length:
            return
        now = self._scheduler.clock.monotonic()
        if self.progress is None:
            self.progress = Progress(first_at=now, newest_at=now, area_at=now)
        self.progress.said(length, now)
        self.dirty = True
        self._scheduler.serve(self.lane)

    async def finish(self, length: int) -> bool:
        """Wait until the source has no frame left: True; False when the text was given up.

        Raises what a frame raised that is not of `Frame`'s list. If the caller is cancelled the text goes on.
        """
        if not self._over.is_set():
            now = self._scheduler.clock.monotonic()
            self.final = self.dirty = True
            self.progress = self.progress or Progress(first_at=now, newest_at=now, area_at=now)
            self.progress.said(length, now)
            self.settle()
            self._scheduler.serve(self.lane)
        await self._over.wait()
        if self._error is not None:
            raise self._error
        return self._delivered

    def release(self) -> None:
        """It need not wait for another text any more."""
        self.held = False
        self._scheduler.serve(self.lane)

    def close(self, *, delivered: bool, error: BaseException | None = None) -> None:
        """Nothing more of it is shown."""
        if self._over.is_set():
            return
        self._delivered, self._error = delivered, error
        self.dirty = False
        self.lane.texts.pop(self, None)
        self._over.set()
        self._scheduler.serve(self.lane)

    def settle(self) -> None:
        """A finished text of which people see everything is over."""
        if self.final and not self.in_flight and not self._over.is_set() and self.source.frame(True) is None:
            self.close(delivered=True)

    def score(self, now: float) -> float:
        age = _EPSILON if self.progress is None else self.progress.age(now) + _EPSILON
        return age * (FINAL_WEIGHT if self.final else 1.0)


class _Lane:
    """A budget key: its mirror and the texts that draw from it, in the order in which they were opened."""

    def __init__(self, mirror: BucketMirror) -> None:
        self.mirror = mirror
        self.texts: dict[LiveText, None] = {}
        self.due_at = math.inf

    def score(self, now: float) -> float:
        return max((text.score(now) for text in self.texts if text.waiting), default=0.0)


class EditScheduler:
    """All calls of one bot that show text. Runs in `tasks`; ends with them.

    Every call draws from its conversation's bucket and from the bot's (`total`).
    """

    def __init__(self, total: Budget, clock: Clock, tasks: TaskGroup, *, policy: FramePolicy | None = None) -> None:
        self.clock = clock
        self._tasks = tasks
        self._policy = policy or AreaPolicy()
        self._total = BucketMirror(total, clock)
        self._lanes: dict[str, _Lane] = {}
        self._agenda: list[tuple[float, int, _Lane]] = []
        self._entries = 0
        self._starved: dict[_Lane, None] = {}
        self._timer: anyio.CancelScope | None = None
        self._timer_at = math.inf

    def open(self, key: str, budget: Budget, source: FrameSource, *, held: bool = False) -> LiveText:
        """A new text in the bucket `key`; `held` until `release` is called."""
        text = LiveText(source, self._lane(key, budget), self, held=held)
        text.lane.texts[text] = None
        return text

    async def spare(self, key: str, budget: Budget, call: Callable[[], Awaitable[None]]) -> bool:
        """Make a call nobody misses, if the bucket is half full after it and no text waits; whether it was made.

        Raises what `call` raises, and RateLimited after the bucket has taken note.
        """
        lane = self._lane(key, budget)
        left = lane.mirror.level() - 1.0
        if any(text.waiting for text in lane.texts) or left < TYPING_LEAVES * lane.mirror.burst - _EPSILON:
            return False
        if not (lane.mirror.can_take() and self._total.can_take()):
            return False
        self._take(lane)
        outcome: BaseException | None = None
        try:
            await call()
        except BaseException as error:
            outcome = error
            raise
        finally:
            self._answered(lane, outcome)
            self.serve(lane, answered=True)
        return True

    def serve(self, lane: _Lane, *, answered: bool = False) -> None:
        """Give tokens to who is due: in this bucket, in those whose time has come, in those the bot's kept waiting.

        `answered`: a call of this bucket came back, so the bot's bucket may fill again.
        """
        now = self.clock.monotonic()
        lanes = {lane: None}
        while self._agenda and self._agenda[0][0] <= now:
            at, _, due = heapq.heappop(self._agenda)
            if due.due_at == at:
                lanes[due] = None
        if self._starved and (answered or self._total.can_take()):
            lanes.update(self._starved)
            self._starved.clear()
        for one in sorted(lanes, key=lambda one: -one.score(now)) if len(lanes) > 1 else lanes:
            self._serve_lane(one, now)
        self._set_timer()

    def _serve_lane(self, lane: _Lane, now: float) -> None:
        next_at = math.inf
        for text in sorted((t for t in lane.texts if t.waiting), key=lambda t: -t.score(now)):
            if not text.waiting:
                continue
            due_at = self._due_at(text, now)
            if due_at <= now:
                if not lane.mirror.can_take():
                    due_at = max(now + TIMER_MIN_S, lane.mirror.next_token_at())
                elif not self._total.can_take():
                    self._starved[lane] = None
                    due_at = max(now + TIMER_MIN_S, self._total.next_token_at())
                elif (frame := text.source.frame(text.final)) is None:
                    self._shown_already(text, now)
                    continue
                else:
                    self._send(text, frame, now)
                    continue
            next_at = min(next_at, max(due_at, now + TIMER_MIN_S))
        lane.due_at = next_at
        if next_at < math.inf:
            self._entries += 1
            heapq.heappush(self._agenda, (next_at, self._entries, lane))

    def _due_at(self, text: LiveText, now: float) -> float:
        if text.not_before > now:
            return text.not_before
        if text.final or text.progress is None or not text.lane.mirror.can_take():
            return now
        supplies = [_supply(text.lane.mirror, sum(t.growing for t in text.lane.texts))]
        if self._total.level() < self._total.burst / 2:
            supplies.append(_supply(self._total, sum(t.growing for lane in self._lanes.values() for t in lane.texts)))
        return self._policy.due_at(text.progress, supplies, now)

    def _shown_already(self, text: LiveText, now: float) -> None:
        text.dirty = False
        if text.progress is not None:
            text.progress.sending(text.progress.produced, now)
        text.settle()

    def _send(self, text: LiveText, frame: Frame, now: float) -> None:
        self._take(text.lane)
        text.in_flight, text.dirty = True, False
        visible = 0
        if text.progress is not None:
            visible = text.progress.covered
            text.progress.sending(frame.covers, now)
        self._tasks.start_soon(self._call, text, frame, visible)

    async def _call(self, text: LiveText, frame: Frame, visible: int) -> None:
        error: Exception | None = None
        try:
            await frame.call()
        except Exception as caught:  # noqa: BLE001 - a failed frame ends its text, never its neighbours
            error = caught
        text.in_flight = False
        self._answered(text.lane, error)
        self._judge(text, frame, visible, error)
        self.serve(text.lane, answered=True)

    def _judge(self, text: LiveText, frame: Frame, visible: int, error: Exception | None) -> None:
        now = self.clock.monotonic()
        if error is None:
            text.doubts = 0
            if text.progress is not None:
                text.progress.visible = True
                text.dirty = text.dirty or text.final or text.progress.unshown > 0
            text.settle()
        elif isinstance(error, RateLimited | OutcomeUncertain):
            text.dirty = True
            if text.progress is not None:
                text.progress.failed(visible, now)
            if isinstance(error, OutcomeUncertain):
                text.not_before = now + _pause_s(text.doubts + (0 if frame.idempotent else 1))
                text.doubts += 1
        elif isinstance(error, NotDelivered):
            text.close(delivered=False)
        else:
            text.close(delivered=False, error=error)

    def _take(self, lane: _Lane) -> None:
        lane.mirror.take()
        self._total.take()

    def _answered(self, lane: _Lane, error: BaseException | None) -> None:
        if isinstance(error, RateLimited):
            lane.mirror.flooded(error.retry_after_s)
            self._total.landed()
            return
        clear = error is None or (isinstance(error, AdapterError) and not isinstance(error, OutcomeUncertain))
        for mirror in (lane.mirror, self._total):
            if clear:
                mirror.landed()
            else:
                mirror.doubted()

    def _lane(self, key: str, budget: Budget) -> _Lane:
        lane = self._lanes.get(key)
        if lane is None:
            if len(self._lanes) >= _KEYS_SWEPT_FROM:
                self._lanes = {k: one for k, one in self._lanes.items() if one.texts or not one.mirror.idle}
            lane = self._lanes[key] = _Lane(BucketMirror(budget, self.clock))
        return lane

    def _set_timer(self) -> None:
        while self._agenda and self._agenda[0][2].due_at != self._agenda[0][0]:
            heapq.heappop(self._agenda)
        if not self._agenda or self._agenda[0][0] >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = anyio.CancelScope(), self._agenda[0][0]
        self._tasks.start_soon(self._ring, self._timer, self._timer_at)

    async def _ring(self, scope: anyio.CancelScope, at: float) -> None:
        with scope:
            await self.clock.sleep_until(at)
        if self._timer is scope:
            self._timer, self._timer_at = None, math.inf
            if self._agenda:
                self.serve(self._agenda[0][2])


def _supply(mirror: BucketMirror, texts: int) -> Supply:
    return Supply(mirror.rate_per_s, mirror.burst, mirror.level(), mirror.cap, max(1, texts))


def _pause_s(doubts: int) -> float:
    return 0.0 if not doubts else min(RETRY_MAX_S, RETRY_FIRST_S * 2.0 ** (doubts - 1))
