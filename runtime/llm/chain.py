"""A chain of models: what one does not answer, the next one does; those that have failed are not asked for a while,
which all nodes know.

An overload, an outage, a spent quota, a refused key, a model that the provider does not have (or not for this key) or
silence before the first piece goes on with the next model at once. A piece that was read has had effects, so an answer
that breaks off fails; whoever reads it asks for the rest, and that goes to the next model, because the first one cools
down.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import NamedTuple, Protocol, TypeVar

import anyio
from msgspec import Struct
from msgspec.structs import replace

from runtime.core import errors
from runtime.core.clock import Clock
from runtime.core.json_text import plain_data
from runtime.events.happening import Tell
from runtime.events.service import ModelFellBack, ModelKeyRefused, ModelNotOffered
from runtime.llm.answering import AnsweringClient, StreamedAnswer
from runtime.llm.client import ChatMessage, CompletionRequest, LLMClient, Usage

_GOES_ON = (
    errors.LLMRateLimited,
    errors.LLMUnavailable,
    errors.LLMTimeout,
    errors.LLMKeyRefused,
    errors.LLMNotOffered,
    errors.LLMQuotaSpent,
)
_MAY_PASS = (errors.LLMRateLimited, errors.LLMUnavailable)

T = TypeVar("T")

LONGEST_S = 600.0
_SHORTEST_S = 20.0
_AFTER_TIMEOUT_S = 60.0
_STORE_LIMIT_S = 1.0
"""Nobody waits longer for what other nodes know: a model that fails shows it by itself."""


class ChainLink(NamedTuple):
    """A model of a chain, by its name in the settings."""

    name: str
    client: AnsweringClient


class ModelChain(LLMClient):
    """Several models in the order of preference; at least two."""

    def __init__(self, links: Sequence[ChainLink], cooldowns: ModelCooldowns, on_event: Tell) -> None:
        self.links = tuple(links)
        self.model = links[0].client.model
        self._cooldowns = cooldowns
        self._on_event = on_event

    async def sees(self, _purpose: str = "execute", _model: str = "", /) -> bool | None:
        """Whether any of them takes pictures. One that does not gets the request without."""
        known = [await link.client.sees() for link in self.links]
        return None if None in known else True in known

    async def all_see(self) -> bool | None:
        known = [await link.client.sees() for link in self.links]
        return False if False in known else None if None in known else True

    async def warm_up(self) -> None:
        for link in self.links:
            await link.client.warm_up()

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[_ChainAnswer]:
        """The answer of the first model that gives one. Requests are made when the answer is iterated."""
        async with aclosing(_ChainAnswer(self, request)) as answer:
            yield answer

    async def order(self) -> Sequence[ChainLink]:
        """The models to ask, in order: those that do not cool down; where all do, those that are ready first."""
        cooling = await self._cooldowns.current()
        ready = [link for link in self.links if link.name not in cooling]
        return ready or sorted(self.links, key=lambda link: cooling[link.name].until_s)

    async def failed(self, link: ChainLink, error: errors.LLMError, following: ChainLink | None) -> None:
        """A model has failed, and `following` is asked in its place, if there is one."""
        if not isinstance(error, errors.LLMProcessLost):  # that is not the provider's doing
            await self._cooldowns.begin(link.name, error)
        if isinstance(error, errors.LLMKeyRefused):
            self._on_event(ModelKeyRefused(link.client.model, link.name, str(error)))
        if isinstance(error, errors.LLMNotOffered):
            self._on_event(ModelNotOffered(link.client.model, link.name, str(error)))
        following_model = None if following is None else following.client.model
        self._on_event(ModelFellBack(link.client.model, following_model, f"{type(error).__name__}: {error}"))

    async def answered(self, link: ChainLink) -> None:
        await self._cooldowns.end(link.name)


class _ChainAnswer:
    """One answer. It can be iterated once."""

    def __init__(self, chain: ModelChain, request: CompletionRequest) -> None:
        self._chain = chain
        self._request = request
        self._answer: StreamedAnswer | None = None
        self._iteration = self._run()

    @property
    def usage(self) -> Usage:
        """The tokens in the count of the one that answers; complete when the iteration has ended."""
        return Usage() if self._answer is None else self._answer.usage

    def __aiter__(self) -> AsyncIterator[str]:
        return self._iteration

    async def aclose(self) -> None:
        await self._iteration.aclose()
        if self._answer is not None:
            await self._answer.aclose()

    async def _run(self) -> AsyncGenerator[str, None]:
        link, answer, piece = await self._begun()
        await self._chain.answered(link)
        while piece is not None:
            yield piece
            try:
                piece = await anext(aiter(answer), None)
            except _GOES_ON as error:
                await self._chain.failed(link, error, None)
                raise

    async def _begun(self) -> tuple[ChainLink, StreamedAnswer, str | None]:
        """The first model that answers, its answer and the first piece of that; None for an empty answer.

        When none does, the first of those whose failure may pass is asked again, with pauses.
        """
        order = await self._chain.order()
        failures: list[tuple[ChainLink, errors.LLMError]] = []
        for number, link in enumerate(order):
            try:
                return link, *await self._first(link, max_retries=0)
            except _GOES_ON as error:
                failures.append((link, error))
                following = order[number + 1] if number + 1 < len(order) else None
                await self._chain.failed(link, error, following)
        patient = next((link for link, error in failures if isinstance(error, _MAY_PASS)), None)
        if patient is None:
            raise failures[-1][1]
        return patient, *await self._first(patient)

    async def _first(self, link: ChainLink, max_retries: int | None = None) -> tuple[StreamedAnswer, str | None]:
        if self._answer is not None:
            await self._answer.aclose()
        request = self._request
        if any(message.pictures for message in request.messages) and await link.client.sees() is False:
            request = replace(request, messages=tuple(map(_unseen, request.messages)))
        self._answer = link.client.answer(request, max_retries)
        return self._answer, await anext(aiter(self._answer), None)


class ModelCooldowns:
    """The models that cool down, by their names in the settings. Without `keep_in` only this process knows of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, ModelCooldown] = {}
        self._records: SharedRecords | None = None

    def keep_in(self, records: SharedRecords) -> None:
        """From now on other nodes know too."""
        self._records = records

    async def current(self) -> Mapping[str, ModelCooldown]:
        kept = None if self._records is None else await _unless_away(self._records.all())
        if kept is not None:
            self._known = {name: ModelCooldown(**json.loads(text)) for name, text in kept.items()}
        now_s = self._clock.now().timestamp()
        return {name: one for name, one in self._known.items() if one.until_s > now_s}

    async def begin(self, name: str, error: errors.LLMError) -> ModelCooldown:
        """A model has failed. Each failure after a cool-down doubles the next one, up to LONGEST_S."""
        now_s, last = self._clock.now().timestamp(), self._known.get(name)
        if last is not None and last.until_s > now_s:  # another request has found out meanwhile
            return last
        times = 1 if last is None else last.times + 1
        begun = ModelCooldown(now_s + _seconds(error, times), times, type(error).__name__)
        self._known[name] = begun
        if self._records is not None:
            await _unless_away(self._records.put(name, json.dumps(plain_data(begun))))
        return begun

    async def end(self, name: str) -> None:
        if self._known.pop(name, None) is not None and self._records is not None:
            await _unless_away(self._records.remove(name))


class ModelCooldown(Struct, frozen=True):
    """A model is not asked before `until_s` (since the epoch). It has failed `times` in a row; `why` is the name of the
    last error."""

    until_s: float
    times: int
    why: str


class SharedRecords(Protocol):
    """A durable table of texts that all nodes share. Raises StorageUnavailable."""

    async def all(self) -> Mapping[str, str]: ...

    async def put(self, name: str, value: str, /) -> None: ...

    async def remove(self, name: str, /) -> None: ...


def _unseen(message: ChatMessage) -> ChatMessage:
    if not message.pictures:
        return message
    note = f"[pictures left out here, for you cannot see them: {len(message.pictures)}; say so if it matters]"
    return replace(message, content=f"{message.content}\n{note}", pictures=())


def _seconds(error: errors.LLMError, times: int) -> float:
    if isinstance(error, errors.LLMKeyRefused | errors.LLMNotOffered | errors.LLMQuotaSpent):
        return LONGEST_S
    first_s = _AFTER_TIMEOUT_S if isinstance(error, errors.LLMTimeout) else _SHORTEST_S
    if isinstance(error, errors.LLMRateLimited) and error.retry_after_s is not None:
        first_s = error.retry_after_s
    return min(LONGEST_S, first_s * 2.0 ** min(times - 1, 10))


async def _unless_away(call: Awaitable[T]) -> T | None:
    with suppress(errors.StorageUnavailable), anyio.move_on_after(_STORE_LIMIT_S):
        return await call
    return None
