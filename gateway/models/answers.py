"""What is done with what models answer: use is counted and summed up, calls are kept for a while with what was sent and
what came, and owners are told what is wrong, in words of the provider. And the question by which each model is tried.
"""

from __future__ import annotations

import base64
import io
import wave
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from operator import add
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import astuple, replace

from gateway.access.people import OwnerNotices
from runtime.bus import Bus, EventStream
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import LLMUnavailable, StorageUnavailable
from runtime.core.ids import SessionId
from runtime.core.json_text import plain_data
from runtime.core.markup import MarkdownPart
from runtime.core.texts import Texts
from runtime.events.frames import AskedPrompt, LLMAnswered, LLMBrokeOff, LLMFailed
from runtime.events.happening import Tell
from runtime.events.service import ModelKeyRefused, ModelNotOffered
from runtime.llm import client
from runtime.llm.models import SERVICES
from runtime.stores.kept import KeptCalls, ModelCall

_Read = TypeVar("_Read")
_UNHEARD_ANSWERS = 10_000

_UNHEARD_CALLS = 500

KINDS = (LLMFailed, ModelKeyRefused, ModelNotOffered)
"""What owners hear about."""

_UNHEARD_FAILURES = 1_000
_SHOWN_CHARS = 500


class BilledPerson(Struct, frozen=True):
    """The person whose limits count, and who is told that a model was asked."""

    session: SessionId
    address: Address
    person: str | None


def answers_on(bus: Bus) -> AbstractAsyncContextManager[EventStream]:
    """The answers of models from now on, whole and in part."""
    return bus.events(f"{LLMAnswered.name}*", capacity=_UNHEARD_ANSWERS)


def counted(  # noqa: PLR0913 - as the event
    llm: client.LLMClient,
    purpose: str,
    usage: client.Usage,
    seconds: float,
    payer: BilledPerson | None = None,
    *,
    reply: str = "",
    kind: type[LLMAnswered] = LLMAnswered,
) -> LLMAnswered:
    """An answer of `llm` that took `seconds`, and whom it is counted for: nobody, if there is no payer."""
    return kind(
        *(payer.session if payer is not None else "", "", "", "", usage.model or llm.model, purpose),
        reply=reply,
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


class BilledModel(Struct, frozen=True):
    """A model that is asked outside of steps. `may_ask` says why none is asked for somebody in a conversation."""

    llm: client.LLMClient
    may_ask: Callable[[Address, str | None], Awaitable[str | None]]
    tell: Tell
    clock: Clock

    async def refusal(self, payer: BilledPerson) -> str | None:
        """Why it may not be asked now."""
        return await self.may_ask(payer.address, payer.person)

    async def answer(
        self, request: client.CompletionRequest, payer: BilledPerson, read: Callable[[str], _Read]
    ) -> _Read:
        """All that it says, as `read` has it; it is counted for who pays. Raises LLMError, and as `read`."""
        begun_s = self.clock.monotonic()
        async with self.llm.stream(request) as completion:
            said = "".join([piece async for piece in completion])
            usage = completion.usage
        found = read(said)
        self.tell(counted(self.llm, request.purpose, usage, self.clock.monotonic() - begun_s, payer))
        return found


class ModelAmounts(Struct, frozen=True):
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

    def plus(self, other: ModelAmounts) -> ModelAmounts:
        return ModelAmounts(*map(add, astuple(self), astuple(other)))

    @property
    def usd(self) -> float | None:
        """The cost as far as it is known; None where no answer has a known price."""
        return None if self.unpriced and self.unpriced >= self.answers else round(self.cost_usd, 6)


def amounts_of(answer: LLMAnswered) -> ModelAmounts:
    tokens = (answer.tokens_in, answer.tokens_cached, answer.tokens_out)
    return ModelAmounts(1, *tokens, answer.cost_usd or 0.0, int(answer.estimated), int(answer.cost_usd is None))


def shown(amounts: ModelAmounts) -> dict[str, float | None]:
    return {
        "answers": int(amounts.answers),
        "tokens_in": int(amounts.tokens_in),
        "tokens_cached": int(amounts.tokens_cached),
        "tokens_out": int(amounts.tokens_out),
        "usd": amounts.usd,
        "unpriced": int(amounts.unpriced),
    }


def in_words(amounts: ModelAmounts, texts: Texts) -> MarkdownPart:
    told = texts(
        "usage.amounts" if amounts.usd is not None else "usage.unpriced",
        answers=f"{amounts.answers:,}",
        tokens_in=f"{amounts.tokens_in:,}",
        cached=f"{amounts.tokens_cached:,}",
        tokens_out=f"{amounts.tokens_out:,}",
        usd=f"{amounts.cost_usd:,.2f}",
    )
    if amounts.unpriced and amounts.usd is not None:
        told = texts("usage.partly_priced", amounts=MarkdownPart(told), count=f"{amounts.unpriced:,}")
    if amounts.estimated:
        told = texts("usage.estimated", amounts=MarkdownPart(told), count=f"{amounts.estimated:,}")
    return MarkdownPart(told)


class CallKeeper(Struct, frozen=True):
    """Keeps what models were asked in sessions, and what each session has cost. What a node has not kept when
    it dies is lost, but no answer is."""

    _calls: KeptCalls

    async def follow(self, bus: Bus) -> None:
        """Keep what comes, until cancelled."""
        async with bus.events("llm.*", capacity=_UNHEARD_CALLS) as answers:
            async for answer in answers:
                if isinstance(answer.what, LLMAnswered | LLMBrokeOff) and answer.what.session_id:
                    await self._keep(answer.what, answer.at)

    async def _keep(self, what: LLMAnswered | LLMBrokeOff, at: datetime) -> None:
        try:
            if isinstance(what, LLMAnswered):
                await self._calls.spend(SessionId(what.session_id), plain_data(amounts_of(what)))
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


class ModelTroubles(Struct, frozen=True):
    """Tells owners. The id of a notice has its day, so that all nodes together say it once."""

    _owners: OwnerNotices
    _clock: Clock

    def start(self, bus: Bus, tasks: TaskGroup) -> None:
        """Tell of all of them in `tasks`."""
        for kind in KINDS:
            tasks.start_soon(self.follow, bus, kind.name)

    async def follow(self, bus: Bus, name: str) -> None:
        """Tell of events of this name until cancelled."""
        async with bus.events(name, capacity=_UNHEARD_FAILURES) as failures:
            async for failure in failures:
                with suppress(StorageUnavailable):  # the log has it
                    await self.tell(failure.what)

    async def tell(self, what: object) -> None:
        """Tell owners of a failure, unless they were told of its kind today."""
        day = self._clock.now().date().isoformat()
        if isinstance(what, ModelKeyRefused):
            notice = f"model.key.{what.entry}.{day}"
            await self._owners.tell(notice, "models.key_refused", entry=what.entry, error=what.error[:_SHOWN_CHARS])
        elif isinstance(what, ModelNotOffered):
            notice = f"model.not_offered.{what.entry}.{day}"
            await self._owners.tell(notice, "models.not_offered", entry=what.entry, error=what.error[:_SHOWN_CHARS])
        elif isinstance(what, LLMFailed):
            notice = f"model.{what.error.partition(':')[0]}.{day}"
            why = what.error.partition(": ")[2] or what.error
            await self._owners.tell(notice, "models.failed", error=why[:_SHOWN_CHARS])


def question_for(names: Sequence[str]) -> client.CompletionRequest:
    """What a model of these names is asked: one that listens, a second of silence; one that speaks or tells meanings,
    a word."""
    if SERVICES[client.TRANSCRIBE] in names:
        silence = client.VoiceRecording("silence.wav", "audio/wav", base64.b64encode(_silence()).decode("ascii"))
        return client.CompletionRequest((), client.TRANSCRIBE, recording=silence)
    if SERVICES[client.SPEAK] in names:
        return client.CompletionRequest((client.ChatMessage("user", "Yes."),), client.SPEAK)
    if SERVICES[client.EMBED] in names:
        return client.CompletionRequest((client.ChatMessage("user", "Yes."),), client.EMBED)
    return client.CompletionRequest((client.ChatMessage("user", "Answer with the one word: yes"),), purpose="check")


def _uncounted(_: client.Usage) -> None:
    """Where nothing is counted."""


async def ask(
    model: client.LLMClient,
    request: client.CompletionRequest,
    within_s: float,
    count: Callable[[client.Usage], None] = _uncounted,
) -> str:
    """Ask a model once; a line that says that it answers. `count` is told what was used, however it ends. Raises
    LLMError, and TimeoutError.
    """
    with anyio.fail_after(within_s):
        async with model.stream(request) as answer:
            try:
                text = "".join([piece async for piece in answer])
            finally:
                count(answer.usage)
    if not text.strip():
        raise LLMUnavailable(f"{model.model} gave an empty answer; check its name and its server.")
    return f"{model.model} answers"


def _silence() -> bytes:
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16_000)
        sound.writeframes(bytes(32_000))
    return written.getvalue()
