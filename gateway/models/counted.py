"""Use of a model that writes no text, as the event by which use is counted."""

from __future__ import annotations

from runtime.events.frames import LLMAnswered
from runtime.llm.client import LLMClient, Usage
from runtime.voice.listener import Payer


def counted(llm: LLMClient, purpose: str, usage: Usage, seconds: float, payer: Payer) -> LLMAnswered:
    """An answer of `llm` that took `seconds`, and whom it is counted for."""
    return LLMAnswered(
        *(payer.session, "", "", "", usage.model or llm.model, purpose),
        reply="",
        seconds=seconds,
        first_text_s=None,
        tokens_in=usage.input_tokens,
        tokens_out=usage.output_tokens,
        tokens_cached=usage.cached_tokens,
        cost_usd=usage.cost_usd,
        conversation=payer.address.key,
        participant_id=payer.person,
        estimated=usage.estimated,
    )
