"""A client of one model, with time limits and retries, that leaves out the thoughts which some models write before
their answer.

Retries happen only before the first piece, because a piece that was read has had effects. Providers keep thoughts apart
from the text. Servers that do not know a form send them as text, between `<think>` and `</think>`, or between the marks
of another form; without the first one, where it stands in the prompt.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager

import anyio
from msgspec.structs import replace

from runtime.core.clock import Clock
from runtime.core.errors import LLMError, LLMRateLimited, LLMTimeout, LLMUnavailable
from runtime.llm import client as port

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_LONGEST_ASKED_PAUSE_S = 60.0
_LEAVE_LIMIT_S = 1.0
_CHARS_PER_TOKEN = 3.0
_PICTURE_TOKENS = 1_500

_FORMS: Mapping[str, str] = {
    **{f"<{name}>": f"</{name}>" for name in ("think", "thinking", "thought", "reasoning", "mm:think")},
    "[think]": "[/think]",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
    "<|channel>": "<channel|>",
}
"""How thoughts begin, and how they end."""
_QUOTES = "`'\"\u2018\u201c\u00ab"


class AnsweringClient(port.LLMClient):
    """The client that the rest of Parley uses. Its creator opens and closes the provider."""

    def __init__(
        self,
        provider: port.ModelProvider,
        options: port.ModelOptions,
        clock: Clock,
        prices: port.TokenPrices | None = None,
        habit: ThoughtHabit | None = None,
    ) -> None:
        """`prices` go before those of litellm's list."""
        self.prices = prices
        self.habit = habit or ThoughtHabit()
        self.provider = provider
        self.options = options
        self.model = options.name
        self.clock = clock

    async def warm_up(self) -> None:
        await self.provider.warm_up()

    async def sees(self, _purpose: str = "execute", _model: str = "", /) -> bool | None:
        return await self.provider.sees()

    def answer(self, request: port.CompletionRequest, max_retries: int | None = None) -> StreamedAnswer:
        """The answer to `request`, which whoever takes it closes. `max_retries` goes before the options."""
        return StreamedAnswer(self, request, self.options.max_retries if max_retries is None else max_retries)

    @asynccontextmanager
    async def stream(self, request: port.CompletionRequest, /) -> AsyncIterator[StreamedAnswer]:
        """The answer to `request`. The request is made when the answer is iterated."""
        async with aclosing(self.answer(request)) as answer:
            yield answer


class StreamedAnswer:
    """One answer. It can be iterated once."""

    def __init__(self, client: AnsweringClient, request: port.CompletionRequest, max_retries: int) -> None:
        self._client = client
        self._options = client.options
        self._habit = client.habit
        self._request = request
        self._max_retries = max_retries
        self._attempt: AsyncGenerator[str | port.Usage, None] | None = None
        self._iteration = self._pieces()
        self._usage = port.Usage()
        self._whole_until = 0.0
        self._chars = 0
        self._worked = False
        """Whether the provider may have worked for an answer that has not come to its end."""

    @property
    def usage(self) -> port.Usage:
        """The tokens in the provider's count; before the end of the iteration with an estimate for what it has not
        counted."""
        used, prices = self._usage, self._client.prices
        if self._worked:
            used = self._estimated()
            prices = prices or self._client.provider.prices()
        cost_usd = used.cost_usd
        if prices is not None:
            cost_usd = prices.of(used.input_tokens, used.cached_tokens, used.output_tokens)
        return replace(used, model=self._options.name, cost_usd=cost_usd)

    def _estimated(self) -> port.Usage:
        used, request = self._usage, self._request
        asked = used.input_tokens
        if not asked:
            chars = sum(len(message.content) for message in request.messages)
            asked = math.ceil(chars / _CHARS_PER_TOKEN)
            asked += _PICTURE_TOKENS * sum(len(message.pictures) for message in request.messages)
        written = max(used.output_tokens, math.ceil(self._chars / _CHARS_PER_TOKEN))
        return replace(used, input_tokens=asked, output_tokens=written, estimated=True)

    def __aiter__(self) -> AsyncIterator[str]:
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
            self._attempt = self._client.provider.answer(self._request)
            self._worked = True
            try:
                return await self._next_piece(self._options.timeouts.first_piece_s, "the first piece")
            except LLMError as error:
                self._worked = isinstance(error, LLMTimeout)
                if not isinstance(error, LLMRateLimited | LLMUnavailable):
                    raise
                await self._hang_up()
                pause_s = _pause_s(tried, error)
                if tried >= self._max_retries or pause_s > _LONGEST_ASKED_PAUSE_S:
                    raise
            tried += 1
            await self._client.clock.sleep_until(self._client.clock.monotonic() + pause_s)

    async def _next_piece(self, limit_s: float, what: str) -> str | None:
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


class ThoughtHabit:
    """What is known of the way in which one model thinks."""

    def __init__(self, marks: tuple[str, str] | None = None) -> None:
        """`marks` are those of the settings: how a thought begins, "" where answers begin in one, and how it ends."""
        self._forms = {**_FORMS, **({marks[0].casefold(): marks[1]} if marks else {})}
        self._always = "" in self._forms
        self._begun = self._always

    def thoughts(self) -> Thoughts:
        return Thoughts(self._forms, begun=self._begun)

    def heard(self, thoughts: Thoughts, *, whole: bool) -> None:
        """Expect of the next answer what this one did: one that ended a thought which it had not begun is followed by
        others. A `whole` answer without a thought ends that.
        """
        if not self._always and (whole or thoughts.unopened):
            self._begun = thoughts.unopened


class Thoughts:
    """Leaves out the thoughts of an answer that comes in pieces. How it was cut makes no difference.

    Of thoughts that were begun, those before the answer are left out; what stands in the middle of it stays. A thought
    that ends without having begun has been shown, unless `begun` says that the answer begins in one; then its mark
    alone is left out, because what people have seen stays.
    """

    def __init__(self, forms: Mapping[str, str] = _FORMS, *, begun: bool = False) -> None:
        self._forms = forms
        self._opened = _any_of(opening for opening in forms if opening)
        self._closed = _any_of(dict.fromkeys(forms.values()))
        self._marks = [*forms, *forms.values()]
        self._longest = max(map(len, self._marks))
        self._held = ""
        self._closing = self._closed if begun else None
        self._begun = begun
        self._thought = False
        self._over = False
        self._shown = ""
        self._break = ""
        self.unopened = False
        """Whether a thought has ended that had not begun."""

    def without(self, piece: str) -> str:
        """The text of the answer that a piece adds."""
        self._held += piece
        if self._over:
            return self._rest(whole=False)
        while self._passed():
            pass
        begun = self._held.lstrip()
        if self._closing is not None or not begun or self._may_begin(begun):
            return ""
        return self._answer(whole=False)

    def end(self) -> str:
        """The text that was held back, once the answer is complete."""
        if self._closing is not None and not self._begun:
            return ""
        return self._rest(whole=True) if self._over else self._answer(whole=True)

    def _passed(self) -> bool:
        """Pass over the mark with which the rest begins, or over its thought; False if there is none or no end."""
        begun = self._held.lstrip()
        if self._closing is None or self._begun:
            opened = self._opened.match(begun)
            if opened is not None:
                self._held, self._thought, self._begun = begun[opened.end() :], True, False
                self._closing = _any_of([self._forms[opened[0].casefold()]])
            elif self._closing is None or self._may_begin(begun):
                return False
        assert self._closing is not None
        closed = self._closing.search(self._held)
        if closed is None:
            if not self._begun:
                self._held = self._held[-self._longest :]  # the beginning of the closing mark may be there
            return False
        self.unopened = self.unopened or self._begun
        self._held, self._closing, self._begun, self._thought = self._held[closed.end() :], None, False, True
        return True

    def _answer(self, *, whole: bool) -> str:
        self._over = True
        if self._thought:
            self._held = self._break + self._held.lstrip() if self._held.strip() else ""
        return self._rest(whole=whole)

    def _rest(self, *, whole: bool) -> str:
        """What is held of the answer, without the mark of a thought that ends in it; its end may be a part of one."""
        text, self._held = self._held, ""
        if self._thought:
            return text
        closed = self._closed.search(text)
        if closed is not None:
            return self._without_mark(text, closed)
        if not whole:
            ends = range(max(0, len(text) - self._longest), len(text))
            marks = tuple(self._forms.values())
            may_end = (at for at in ends if any(mark.startswith(text[at:].casefold()) for mark in marks))
            at = next(may_end, len(text))
            text, self._held = text[:at], text[at:]
        self._shown += text
        return text

    def _without_mark(self, text: str, closed: re.Match[str]) -> str:
        """A text in which a closing mark is found, the only one that is looked for; a paragraph ends in its place."""
        before, self._thought = text[: closed.start()], True
        self.unopened = not self._is_said(self._shown + before)
        if not self.unopened:
            return text
        shown, self._held, self._over = self._shown + before, text[closed.end() :], False
        self._break = "\n" * max(0, 2 - len(shown) + len(shown.rstrip("\n")))
        return before + self.without("")

    def _is_said(self, before: str) -> bool:
        """Whether a closing mark behind this text is said: in code, quoted, or after an opening one."""
        line = before[before.rfind("\n") + 1 :]
        in_code = before.count("```") % 2 == 1 or line.count("`") % 2 == 1
        return in_code or line.endswith(tuple(_QUOTES)) or self._opened.search(before) is not None

    def _may_begin(self, text: str) -> bool:
        return any(mark.startswith(text.casefold()) for mark in self._forms)


def _pause_s(tried: int, error: LLMError) -> float:
    """The pause that the provider asks for, else twice the last one, with jitter so that clients spread out."""
    asked_s = error.retry_after_s if isinstance(error, LLMRateLimited) else None
    if asked_s is not None:
        return asked_s
    longest_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0**tried)
    return longest_s * random.uniform(0.5, 1.0)


def _any_of(marks: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, marks)), re.IGNORECASE | re.ASCII)
