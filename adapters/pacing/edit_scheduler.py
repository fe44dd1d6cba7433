"""The scheduler of a bot's calls: every growing text, its buckets, and one timer.

Nothing is queued: a text keeps only its newest state, and a call is built when a token for it is there in every bucket
it draws from. A bucket serves its texts by score: the age of the oldest character nobody has seen, a finished text 1000
times that. A policy decides when a frame is due (`adapters/pacing/frame_policy.py`); finished texts are always due,
however long a pause lasts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import ClassVar, TypeAlias

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from adapters.capabilities import Budget, Draws
from adapters.pacing.constants import RETRIES_AT_ONCE, RETRY_FIRST_S, RETRY_MAX_S, SCARCE, TIMER_MIN_S, TYPING_LEAVES
from adapters.pacing.frame_policy import AreaPolicy, FramePolicy, Supply
from adapters.pacing.lanes import FloodMemory, Lanes
from adapters.pacing.live_text import FrameSource, Lane, LiveCall, LiveText
from runtime.core.clock import Clock
from runtime.core.errors import BadMarkup, NotDelivered, OutcomeUncertain, RateLimited, StreamOver

_Made: TypeAlias = Callable[[], Awaitable[None]]
_EPSILON = 1e-9
_LOOKS = 3
"""The times that a text is looked at in one pass because its frame draws from other buckets than expected."""
_SAME_S = 1e-6


class Agenda:
    """Texts by `due_at`; a later `put` of a text replaces the earlier one. `on_time` is called when one is due."""

    def __init__(self, clock: Clock, tasks: TaskGroup, on_time: Callable[[], None]) -> None:
        self._clock = clock
        self._tasks = tasks
        self._on_time = on_time
        self._entries: list[tuple[float, int, LiveText]] = []
        self._count = 0
        self._timer: anyio.CancelScope | None = None
        self._timer_at = math.inf

    def put(self, text: LiveText, at: float) -> None:
        """Set the time of the next look at the text; infinity means none until the next `put`."""
        if abs(text.due_at - at) < _SAME_S or text.due_at == at:
            return
        text.due_at = at
        if at < math.inf:
            self._count += 1
            heapq.heappush(self._entries, (at, self._count, text))

    def due(self, now: float) -> list[LiveText]:
        texts = []
        while self._entries and self._entries[0][0] <= now:
            at, _, text = heapq.heappop(self._entries)
            if text.due_at == at:
                text.due_at = math.inf
                texts.append(text)
        return texts

    def set_timer(self) -> None:
        while self._entries and (self._entries[0][2].due_at != self._entries[0][0] or not self._entries[0][2].waiting):
            at, _, text = heapq.heappop(self._entries)
            if text.due_at == at:
                text.due_at = math.inf
        if not self._entries or self._entries[0][0] >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = anyio.CancelScope(), self._entries[0][0]
        self._tasks.start_soon(self._ring, self._timer, self._timer_at)

    async def _ring(self, scope: anyio.CancelScope, at: float) -> None:
        with scope:
            await self._clock.sleep_until(at)
        if self._timer is scope:
            self._timer, self._timer_at = None, math.inf
            self._on_time()


class EditScheduler:
    """All calls of one bot that show text. Runs in `tasks`; ends with them.

    A call draws from its conversation's bucket and from the bot's (`total`), or from those its frame names.
    The bot's bucket and every shared one belong to this node as a whole until `grant` says otherwise. `may_show` is
    asked before every call for a conversation, by its key: while it says no, none is made; `resume` says that it may
    say yes again.
    """

    def __init__(
        self,
        total: Budget,
        clock: Clock,
        tasks: TaskGroup,
        *,
        policy: FramePolicy | None = None,
        memory: FloodMemory | None = None,
        may_show: Callable[[str], bool] = lambda _conversation: True,
    ) -> None:
        self.clock = clock
        self._asked = may_show
        self._tasks = tasks
        self._policy = policy or AreaPolicy()
        self._lanes = Lanes(total, clock, memory)
        self._agenda = Agenda(clock, tasks, self._on_time)

    def open(self, key: str, budget: Budget, source: FrameSource, *, held: bool = False) -> LiveText:
        """A new text in the bucket `key`; `held` until `release` is called."""
        text = LiveText(source, (self._lanes.lane(key, budget), self._lanes.total), self, held=held)
        self._seat(text, text.home)
        return text

    async def spare(self, key: str, budget: Budget, call: _Made, *, draws: Draws | None = None) -> bool:
        """Make an optional call if its buckets stay half full and no text waits: whether it was made. Raises as it."""
        lanes = (self._lanes.lane(key, budget), self._lanes.total) if draws is None else self._lanes.of(draws)
        may = all(lane.mirror.can_take() and (lane is self._lanes.total or _has_spare(lane)) for lane in lanes)
        if self._lanes.closed or not may:
            return False
        self._lanes.take(lanes)
        outcome: BaseException | None = None
        try:
            await call()
        except BaseException as error:
            outcome = error
            raise
        finally:
            self._answered(lanes, outcome)
        return True

    async def make(self, key: str, budget: Budget, call: _Made, *, draws: Draws | None = None) -> bool:
        """Make a call that must be made, in its turn among the finished texts; False when it raised NotDelivered.

        It is repeated after RateLimited and OutcomeUncertain, so it has to be idempotent. Raises everything else.
        """
        return await self.open(key, budget, _OneCall(call, draws)).finish(0)

    async def drain(self) -> None:
        """Make no more calls. Returns when those on their way have been answered and the results are recorded."""
        await self._lanes.drain()

    def paused(self, key: str, budget: Budget) -> bool:
        """Whether the platform has asked for a pause in this bucket that is not over."""
        return self._lanes.lane(key, budget).mirror.blocked

    def grant(self, share: float) -> None:
        concerned = self._lanes.grant(share)
        self._serve(text for lane in concerned for text in lane.texts)

    def resume(self) -> None:
        self._serve(self._lanes.texts())

    def changed(self, text: LiveText) -> None:
        self._serve((text,))

    def over(self, text: LiveText) -> None:
        """See `Attention`: the texts that share the bucket now have more of it."""
        lanes = text.lanes or text.home
        self._unseat(text)
        self._serve(neighbour for lane in lanes if lane is not self._lanes.total for neighbour in lane.texts)

    def _on_time(self) -> None:
        self._serve(())

    def _serve(self, texts: Iterable[LiveText]) -> None:
        """Give tokens by score to those of these texts that are due, and to those whose time has come."""
        if self._lanes.closed:
            return
        now = self.clock.monotonic()
        looked_at = dict.fromkeys((*texts, *self._agenda.due(now)))
        for text in sorted((one for one in looked_at if one.waiting), key=lambda one: -one.score(now)):
            if text.waiting:
                self._look_at(text, now)
        self._agenda.set_timer()

    def may_show(self, conversation: str | None) -> bool:
        """Whether a call for this conversation may be made now; None is a text without a session."""
        return conversation is None or self._asked(conversation)

    def _may(self, text: LiveText) -> bool:
        return self.may_show(text.source.conversation)

    def _look_at(self, text: LiveText, now: float) -> None:
        if not self._may(text):
            if text.lanes is None:
                self._seat(text, text.home)  # where `resume` finds it
            return
        for _ in range(_LOOKS):
            lanes = text.lanes or self._foreseen(text)
            due_at = self._due_at(text, lanes, now)
            if due_at <= now:
                due_at = _token_at(text, lanes, now)
            if due_at > now:
                self._agenda.put(text, max(due_at, now + TIMER_MIN_S))
                return
            frame = text.source.frame(text.final)
            if frame is None:
                _shown_already(text, now)
                return
            drawn = self._drawn(text, frame)
            if drawn == lanes:
                self._send(text, frame, now)
                return
            self._seat(text, drawn)
        self._agenda.put(text, now + TIMER_MIN_S)

    def _foreseen(self, text: LiveText) -> tuple[Lane, ...]:
        frame = text.source.frame(text.final)
        lanes = text.home if frame is None else self._drawn(text, frame)
        self._seat(text, lanes)
        return lanes

    def _drawn(self, text: LiveText, frame: LiveCall) -> tuple[Lane, ...]:
        return text.home if frame.draws is None else self._lanes.of(frame.draws)

    def _due_at(self, text: LiveText, lanes: Sequence[Lane], now: float) -> float:
        if text.not_before > now:
            return text.not_before
        if text.final or text.progress is None or not all(lane.mirror.can_take() for lane in lanes):
            return now
        binding = [lane for lane in lanes if lane is lanes[0] or lane.mirror.level() < SCARCE * lane.mirror.burst]
        supplies = [_supply(lane, now) for lane in binding]
        return self._policy.due_at(text.progress, supplies, now)

    def _send(self, text: LiveText, frame: LiveCall, now: float) -> None:
        lanes = text.lanes or text.home
        self._lanes.take(lanes)
        text.in_flight, text.dirty = True, False
        visible = 0
        if text.progress is not None:
            visible = text.progress.covered
            text.progress.sending(frame.covers, now)
        self._tasks.start_soon(self._call, text, frame, lanes, visible)

    async def _call(self, text: LiveText, frame: LiveCall, lanes: tuple[Lane, ...], visible: int) -> None:
        error: Exception | None = None
        shows = True
        try:
            shows = self._may(text) and await frame.call() is not False
        except Exception as caught:  # noqa: BLE001 - a failed frame ends its text, never its neighbours
            error = caught
        text.answered()
        if frame.draws is not None:
            self._unseat(text)
        if shows:
            self._judge(text, frame, visible, error)
        else:
            _unseen(text, visible, self.clock.monotonic())
        self._answered(lanes, error, text)

    def _judge(self, text: LiveText, frame: LiveCall, visible: int, error: Exception | None) -> None:
        now = self.clock.monotonic()
        if error is None:
            text.doubts = 0
            if text.progress is not None:
                text.progress.visible = True
                lacks = text.final or text.progress.unshown > 0
                text.dirty = text.dirty or lacks or text.source.frame(text.final) is not None
            text.settle()
        elif isinstance(error, RateLimited | StreamOver | BadMarkup):
            _unseen(text, visible, now)
        elif isinstance(error, OutcomeUncertain):
            _doubt(text, frame, visible, now)
        elif isinstance(error, NotDelivered):
            text.close(delivered=False)
        else:
            text.close(delivered=False, error=error)

    def _answered(self, lanes: Sequence[Lane], error: BaseException | None, *texts: LiveText) -> None:
        """A call was answered: texts that waited for its place, and its neighbours, are looked at again."""
        self._lanes.answered(lanes, error)
        concerned = [*texts]
        for lane in lanes:
            concerned += lane.starved if lane is self._lanes.total else lane.texts
            lane.starved.clear()
        self._serve(concerned)

    def _seat(self, text: LiveText, lanes: tuple[Lane, ...]) -> None:
        self._unseat(text)
        text.lanes = lanes
        for lane in lanes:
            lane.texts[text] = None

    def _unseat(self, text: LiveText) -> None:
        for lane in text.lanes or ():
            lane.texts.pop(text, None)
            lane.starved.pop(text, None)
        text.lanes = None


class _OneCall(Struct):
    """A text without characters: one call, and it is over."""

    conversation: ClassVar[None] = None
    _call: _Made
    _draws: Draws | None
    _made: bool = False

    def frame(self, _final: bool, /) -> LiveCall | None:
        return None if self._made else LiveCall(0, self._make, draws=self._draws)

    async def _make(self) -> None:
        try:
            await self._call()
        except (BadMarkup, StreamOver) as error:  # there is no other text to try
            raise NotDelivered(str(error)) from error
        self._made = True


def _shown_already(text: LiveText, now: float) -> None:
    text.dirty = False
    if text.progress is not None:
        text.progress.sending(text.progress.produced, now)
    text.settle()


def _unseen(text: LiveText, visible: int, now: float) -> None:
    """The frame did not land: people see only `visible` characters."""
    text.dirty = True
    if text.progress is not None:
        text.progress.failed(visible, now)


def _doubt(text: LiveText, frame: LiveCall, visible: int, now: float) -> None:
    """The frame may have landed. An edit of a growing text is not repeated, because the next one follows anyway."""
    text.not_before = now + _pause_s(text.doubts + (0 if frame.idempotent else RETRIES_AT_ONCE))
    text.doubts += 1
    text.dirty = True
    if text.final or not frame.idempotent or text.progress is None or not text.progress.visible:
        _unseen(text, visible, now)


def _token_at(text: LiveText, lanes: Sequence[Lane], now: float) -> float:
    """`now` if every lane has a token; otherwise the text waits for them."""
    lacking = [lane for lane in lanes if not lane.mirror.can_take()]
    for lane in lacking:
        lane.starved[text] = None
    return max((max(now + TIMER_MIN_S, lane.mirror.next_token_at()) for lane in lacking), default=now)


def _has_spare(lane: Lane) -> bool:
    left = lane.mirror.level() - 1.0
    enough = TYPING_LEAVES * lane.mirror.burst
    return not any(text.waiting for text in lane.texts) and left >= enough - _EPSILON and lane.mirror.left > enough


def _supply(lane: Lane, now: float) -> Supply:
    mirror = lane.mirror
    texts = max(1, lane.growing(now))
    return Supply(mirror.rate_per_s, mirror.burst, mirror.level(), mirror.cap, texts, mirror.left, mirror.frees_at())


def _pause_s(doubts: int) -> float:
    return 0.0 if doubts < RETRIES_AT_ONCE else min(RETRY_MAX_S, RETRY_FIRST_S * 2.0 ** (doubts - RETRIES_AT_ONCE))
