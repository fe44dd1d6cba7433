"""Calls of models, kept for a while with what was sent and what came: written after the reply, never before it."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime

from gateway.models.counted import amounts_of
from runtime.bus import Bus
from runtime.core.errors import StorageUnavailable
from runtime.core.ids import SessionId
from runtime.events.frames import AskedPrompt, LLMAnswered, LLMBrokeOff
from runtime.stores.kept import KeptCalls, ModelCall

_UNHEARD_CALLS = 500


class CallKeeper:
    """Keeps what models were asked in sessions, and what each session has cost. What a node has not kept when
    it dies is lost, but no answer is."""

    def __init__(self, calls: KeptCalls) -> None:
        self._calls = calls

    async def follow(self, bus: Bus) -> None:
        """Keep what comes, until cancelled."""
        async with bus.events("llm.*", capacity=_UNHEARD_CALLS) as answers:
            async for answer in answers:
                if isinstance(answer.what, LLMAnswered | LLMBrokeOff) and answer.what.session_id:
                    await self._keep(answer.what, answer.at)

    async def _keep(self, what: LLMAnswered | LLMBrokeOff, at: datetime) -> None:
        try:
            if isinstance(what, LLMAnswered):
                await self._calls.spend(SessionId(what.session_id), asdict(amounts_of(what)))
            if what.prompt is not None:
                await self._calls.keep(call_of(what, what.prompt, at))
        except StorageUnavailable:
            return


def call_of(what: LLMAnswered | LLMBrokeOff, prompt: AskedPrompt, at: datetime) -> ModelCall:
    """An answer of a model, or that none came, as it is kept."""
    call = ModelCall(
        SessionId(what.session_id),
        prompt.asked_seq,
        prompt.heard_seq,
        at,
        what.frame,
        what.agent_id,
        what.agent,
        what.playbook,
        prompt.step,
        what.model,
        what.purpose,
        tuple(prompt.messages),
        reply="",
        whole=False,
        seconds=what.seconds,
        error=what.error or "",
    )
    if isinstance(what, LLMBrokeOff):
        return call
    return replace(
        call,
        reply=what.reply,
        whole=type(what) is LLMAnswered,
        first_text_s=what.first_text_s,
        tokens_in=what.tokens_in,
        tokens_cached=what.tokens_cached,
        tokens_out=what.tokens_out,
        cost_usd=what.cost_usd,
        estimated=what.estimated,
    )
