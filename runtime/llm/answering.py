"""A client of one model, with time limits and retries.

Retries happen only before the first piece, because a piece that was read has had effects.
"""

from __future__ import annotations

import math
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio

from runtime.core.clock import Clock
from runtime.core.errors import LLMError, LLMRateLimited, LLMTimeout, LLMUnavailable
from runtime.llm.client import CompletionRequest, KnowsPrices, KnowsSight, Provider, Usage
from runtime.llm.options import ModelOptions, Prices
from runtime.llm.thoughts import ThoughtHabit

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_LONGEST_ASKED_PAUSE_S = 60.0
_LEAVE_LIMIT_S = 1.0
_CHARS_PER_TOKEN = 3.0
_PICTURE_TOKENS = 1_500


class AnsweringClient:
    """The client that the rest of Parley uses. Its creator opens and closes the provider."""

    def __init__(
        self,
        provider: Provider,
        options: ModelOptions,
        clock: Clock,
        prices: Prices | None = None,
        habit: ThoughtHabit | None = None,
    ) -> None:
        """`prices` go before those of litellm's list."""
        self._prices = prices
        self._habit = habit or ThoughtHabit()
        self._provider = provider
        self._options = options
        self._clock = clock

    @property
    def model(self) -> str:
        """litellm's name of the model."""
        return self._options.name

    async def warm_up(self) -> None:
        await self._provider.warm_up()

    async def sees(self, _purpose: str = "execute", _model: str = "", /) -> bool | None:
        return await self._provider.sees() if isinstance(self._provider, KnowsSight) else None

    def answer(self, request: CompletionRequest, max_retries: int | None = None) -> StreamedAnswer:
        """The answer to `request`, which whoever takes it closes. `max_retries` goes before the options."""
        options = self._options if max_retries is None else replace(self._options, max_retries=max_retries)
        return StreamedAnswer(self._provider, request, options, self._clock, self._prices, self._habit)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[StreamedAnswer]:
        """The answer to `request`. The request is made when the answer is iterated."""
        answer = self.answer(request)
        try:
            yield answer
        finally:
            await answer.aclose()


class StreamedAnswer:
    """One answer. It can be iterated once."""

    def __init__(
        self,
        provider: Provider,
        request: CompletionRequest,
        options: ModelOptions,
        clock: Clock,
        prices: Prices | None = None,
        habit: ThoughtHabit | None = None,
    ) -> None:
        self._prices = prices
        self._habit = habit or ThoughtHabit()
        self._provider = provider
        self._request = request
        self._options = options
        self._clock = clock
        self._attempt: AsyncGenerator[str | Usage, None] | None = None
        self._iteration: AsyncGenerator[str, None] | None = None
        self._usage = Usage()
        self._whole_until = 0.0
        self._chars = 0
        self._worked = False
        """Whether the provider may have worked for an answer that has not come to its end."""

    @property
    def usage(self) -> Usage:
        """The tokens in the provider's count; before the end of the iteration with an estimate for what it has not
        counted."""
        used, prices = self._usage, self._prices
        if self._worked:
            used = self._estimated()
            if prices is None and isinstance(self._provider, KnowsPrices):
                prices = self._provider.prices()
        cost_usd = used.cost_usd
        if prices is not None:
            cost_usd = prices.of(used.input_tokens, used.cached_tokens, used.output_tokens)
        return replace(used, model=self._options.name, cost_usd=cost_usd)

    def _estimated(self) -> Usage:
        used, request = self._usage, self._request
        asked = used.input_tokens
        if not asked:
            chars = sum(len(message.content) for message in request.messages)
            asked = math.ceil(chars / _CHARS_PER_TOKEN)
            asked += _PICTURE_TOKENS * sum(len(message.pictures) for message in request.messages)
        written = max(used.output_tokens, math.ceil(self._chars / _CHARS_PER_TOKEN))
        return replace(used, input_tokens=asked, output_tokens=written, estimated=True)

    def __aiter__(self) -> AsyncIterator[str]:
        self._iteration = self._pieces()
        return self._iteration

    async def _pieces(self) -> AsyncGenerator[str, None]:
        thoughts = self._habit.thoughts()
        piece = await self._first_piece()
        while piece is not None:
            self._chars += len(piece)
            if said := thoughts.without(piece):
                yield said
            self._habit.heard(thoughts, whole=False)
            piece = await self._next_piece(self._options.timeouts.between_pieces_s, "the next piece")
        self._worked = False
        rest = thoughts.end()
        self._habit.heard(thoughts, whole=True)
        if rest:
            yield rest

    async def aclose(self) -> None:
        """Stop the request if it is still running."""
        if self._iteration is not None:
            await self._iteration.aclose()
        await self._hang_up()

    async def _hang_up(self) -> None:
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            with anyio.move_on_after(_LEAVE_LIMIT_S, shield=True):
                await attempt.aclose()

    async def _first_piece(self) -> str | None:
        """Retry until the first piece, a final error, or the last attempt."""
        tried = 0
        while True:
            self._whole_until = anyio.current_time() + self._options.timeouts.whole_s
            self._attempt = self._provider.answer(self._request)
            self._worked = True
            try:
                return await self._next_piece(self._options.timeouts.first_piece_s, "the first piece")
            except LLMError as error:
                self._worked = isinstance(error, LLMTimeout)
                if not isinstance(error, LLMRateLimited | LLMUnavailable):
                    raise
                await self._hang_up()
                pause_s = _pause_s(tried, error)
                if tried >= self._options.max_retries or pause_s > _LONGEST_ASKED_PAUSE_S:
                    raise
            tried += 1
            await self._clock.sleep_until(self._clock.monotonic() + pause_s)

    async def _next_piece(self, limit_s: float, what: str) -> str | None:
        """The next text; None at the end."""
        assert self._attempt is not None
        now = anyio.current_time()
        ends = min(now + limit_s, self._whole_until)
        try:
            with anyio.fail_after(max(0.0, ends - now)):
                async for part in self._attempt:
                    if isinstance(part, str):
                        if part:
                            return part
                    else:
                        self._usage = part
        except TimeoutError as error:
            raise LLMTimeout(f"The model {self._options.name} did not send {what} in {ends - now:.1f} s.") from error
        return None


def _pause_s(tried: int, error: LLMError) -> float:
    """The pause that the provider asks for, else twice the last one, with jitter so that clients spread out."""
    asked_s = error.retry_after_s if isinstance(error, LLMRateLimited) else None
    if asked_s is not None:
        return asked_s
    longest_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0**tried)
    return longest_s * random.uniform(0.5, 1.0)
