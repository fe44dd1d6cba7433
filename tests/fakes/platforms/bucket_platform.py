"""A chat platform that enforces its token bucket, with latency, floods and answers that get lost."""

import random
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from msgspec import Struct, field

from adapters.adapter import Inbound
from adapters.capabilities import Budget, Capabilities
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, MessageGone, OutcomeUncertain, RateLimited

PRIVATE = Budget(rate_per_s=1.0, burst=3)
GROUP = Budget(rate_per_s=1 / 3, burst=5)
TOTAL = Budget(rate_per_s=30.0, burst=30)


class Landing(Struct, frozen=True):
    """A call that was applied."""

    at: float
    message: str
    text: str
    final: bool
    thread: str | None


class Faults(Struct):
    """What goes wrong: refused calls pause the bucket for `penalty_s`; `lost_answers` is a share of applied calls.

    `spikes` is the share of calls that take as long as `spike_s` says.
    """

    penalty_s: float = 3.0
    lost_answers: float = 0.0
    spikes: float = 0.0
    spike_s: tuple[float, float] = (2.0, 6.0)
    latency_s: tuple[float, float] = (0.06, 0.3)
    scripted: deque[AdapterError] = field(default_factory=deque)
    """Raised by the next calls instead of applying them."""


class BucketPlatform:
    """Continuous buckets, and windows where the budget has one, for each conversation. Messages are
    numbered "1", "2", … in the order of their posts."""

    name = "fake"

    def __init__(
        self,
        clock: Clock,
        true_budget: Budget = PRIVATE,
        *,
        assumed: Budget | None = None,
        capabilities: Capabilities | None = None,
        faults: Faults | None = None,
        seed: int = 0,
    ) -> None:
        self._clock = clock
        self._true = true_budget
        self._assumed = assumed or true_budget
        self.capabilities = capabilities or make_capabilities(self._assumed)
        self.faults = faults or Faults()
        self._random = random.Random(seed)
        self._levels: dict[str, tuple[float, float]] = {}
        self._blocked_until: dict[str, float] = {}
        self._landed: dict[str, deque[float]] = {}
        self._by_nonce: dict[str, str] = {}
        self.messages: dict[str, str] = {}
        self.landings: list[Landing] = []
        self.nonces: list[str] = []
        self.calls = self.floods = self.signs = 0
        self.unchanged = 0
        """Edits that changed nothing, which some platforms refuse."""

    def connect(self) -> AbstractAsyncContextManager[AsyncIterator[Inbound]]:
        raise NotImplementedError

    async def check(self) -> str:
        return "fake"

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        return to.conversation, self._assumed

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        self.nonces.append(nonce)
        back_s = await self._arrive(to)
        known = self._by_nonce.get(nonce) if self.capabilities.idempotent_send else None
        message = known or str(len(self.messages) + 1)
        if known is None:
            self._by_nonce[nonce] = message
            self._show(to, message, text, final)
        await self._answer(back_s)
        return message

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        back_s = await self._arrive(to)
        if message not in self.messages:
            raise MessageGone(f"message {message} is not there")
        self.unchanged += self.messages[message] == text
        self._show(to, message, text, final)
        await self._answer(back_s)

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        back_s = await self._arrive(to)
        self.signs += 1
        await self._answer(back_s)

    def _show(self, to: Address, message: str, text: str, final: bool) -> None:
        self.messages[message] = text
        self.landings.append(Landing(self._clock.monotonic(), message, text, final, to.thread))

    async def _arrive(self, to: Address) -> float:
        self.calls += 1
        spiked = self.faults.spikes > 0 and self._random.random() < self.faults.spikes
        latency_s = self._random.uniform(*(self.faults.spike_s if spiked else self.faults.latency_s))
        await self._clock.sleep_until(self._clock.monotonic() + latency_s / 2)
        now = self._clock.monotonic()
        if self.faults.scripted:
            raise self.faults.scripted.popleft()
        blocked_until = self._blocked_until.get(to.conversation, 0.0)
        level, as_of = self._levels.get(to.conversation, (self._true.burst, now))
        level = min(self._true.burst, level + (now - as_of) * self._true.rate_per_s)
        landed, window = self._landed.setdefault(to.conversation, deque()), self._true.window
        while window is not None and landed and landed[0] <= now - window.seconds:
            landed.popleft()
        if now < blocked_until or level < 1 - 1e-6 or (window is not None and len(landed) >= window.calls):
            self.floods += 1
            if now >= blocked_until:
                self._blocked_until[to.conversation] = blocked_until = now + self.faults.penalty_s
            self._levels[to.conversation] = (level, now)
            raise RateLimited("too many calls", retry_after_s=blocked_until - now)
        self._levels[to.conversation] = (level - 1, now)
        landed.append(now)
        return latency_s / 2

    async def _answer(self, back_s: float) -> None:
        await self._clock.sleep_until(self._clock.monotonic() + back_s)
        if self.faults.lost_answers and self._random.random() < self.faults.lost_answers:
            raise OutcomeUncertain("502: the call may have been applied")


class SearchedPlatform(BucketPlatform):
    """Knows no nonces, but a post without an answer can be found by an edit."""

    def searches(self, to: Address, nonce: str, /, *, speaker: Speaker) -> bool:
        return nonce in self._by_nonce

    async def recover(self, to: Address, text: str, /, *, speaker: Speaker, nonce: str) -> str | None:
        message = self._by_nonce[nonce]
        await self.edit(to, message, text, speaker=speaker, nonce=nonce, final=False)
        return message

    def left_copy(self, to: Address, nonce: str, /, *, speaker: Speaker) -> bool:
        return len([one for one in self.nonces if one == nonce]) > 1


def make_capabilities(
    budget: Budget = PRIVATE, *, max_text: int = 3900, edits: bool = True, idempotent_send: bool = False
) -> Capabilities:
    return Capabilities(
        max_text=max_text,
        text_unit="utf16",
        edits=edits,
        threads=False,
        idempotent_send=idempotent_send,
        typing_lasts_s=5.0,
        private_budget=budget,
        group_budget=budget,
        total_budget=TOTAL,
        source="invented",
    )
