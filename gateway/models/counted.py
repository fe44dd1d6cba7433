"""Use of models as the event by which it is counted, and in sums."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from runtime.bus import Bus, EventStream
from runtime.core.texts import Texts
from runtime.events.frames import LLMAnswered
from runtime.llm.client import LLMClient, Usage
from runtime.voice.listener import Payer

_UNHEARD_ANSWERS = 10_000


def answers_on(bus: Bus) -> AbstractAsyncContextManager[EventStream]:
    """The answers of models from now on, whole and in part."""
    return bus.events(f"{LLMAnswered.name}*", capacity=_UNHEARD_ANSWERS)


def counted(llm: LLMClient, purpose: str, usage: Usage, seconds: float, payer: Payer | None = None) -> LLMAnswered:
    """An answer of `llm` that took `seconds`, and whom it is counted for: nobody, if there is no payer."""
    return LLMAnswered(
        *(payer.session if payer is not None else "", "", "", "", usage.model or llm.model, purpose),
        reply="",
        seconds=seconds,
        first_text_s=None,
        tokens_in=usage.input_tokens,
        tokens_out=usage.output_tokens,
        tokens_cached=usage.cached_tokens,
        cost_usd=usage.cost_usd,
        conversation=payer.address.key if payer is not None else "",
        participant_id=None if payer is None else payer.person,
        estimated=usage.estimated,
    )


@dataclass(frozen=True, slots=True)
class Amounts:
    """Answers, tokens as providers count them, those from the cache among those in, and the price in US dollars.

    `estimated` of the answers ended before they were counted; their tokens are an estimate by length. `unpriced` of
    them have a price that nobody knows, and are not in the cost.
    """

    answers: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    estimated: int = 0
    unpriced: int = 0

    def plus(self, other: Amounts) -> Amounts:
        """Both together."""
        return Amounts(
            self.answers + other.answers,
            self.tokens_in + other.tokens_in,
            self.tokens_cached + other.tokens_cached,
            self.tokens_out + other.tokens_out,
            self.cost_usd + other.cost_usd,
            self.estimated + other.estimated,
            self.unpriced + other.unpriced,
        )

    @property
    def usd(self) -> float | None:
        """The cost as far as it is known; None where no answer has a known price."""
        return None if self.unpriced and self.unpriced >= self.answers else round(self.cost_usd, 6)


def amounts_of(answer: LLMAnswered) -> Amounts:
    """What one answer adds."""
    tokens = (answer.tokens_in, answer.tokens_cached, answer.tokens_out)
    return Amounts(1, *tokens, answer.cost_usd or 0.0, int(answer.estimated), int(answer.cost_usd is None))


def shown(amounts: Amounts) -> dict[str, float | None]:
    """Amounts as JSON data."""
    return {
        "answers": int(amounts.answers),
        "tokens_in": int(amounts.tokens_in),
        "tokens_cached": int(amounts.tokens_cached),
        "tokens_out": int(amounts.tokens_out),
        "usd": amounts.usd,
        "unpriced": int(amounts.unpriced),
    }


def in_words(amounts: Amounts, texts: Texts) -> str:
    """Amounts on a line, for people."""
    told = texts(
        "usage.amounts" if amounts.usd is not None else "usage.unpriced",
        answers=f"{amounts.answers:,}",
        tokens_in=f"{amounts.tokens_in:,}",
        cached=f"{amounts.tokens_cached:,}",
        tokens_out=f"{amounts.tokens_out:,}",
        usd=f"{amounts.cost_usd:,.2f}",
    )
    if amounts.unpriced and amounts.usd is not None:
        told = texts("usage.partly_priced", amounts=told, count=f"{amounts.unpriced:,}")
    return texts("usage.estimated", amounts=told, count=f"{amounts.estimated:,}") if amounts.estimated else told
