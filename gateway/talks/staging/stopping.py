"""Work outside of a talk, which takes as long as this machine needs for it, and no time of the talk."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from gateway.talks.staging.clock import TalkClock
from runtime.llm.client import Completion, CompletionRequest, LLMClient, Usage
from runtime.sandbox.executor import CallOutcome, Evaluation, GuestError, HostCall, Sandbox, Snippet


class StoppingModel:
    """A model whose answers take no time of a talk. Implements `runtime.llm.client.LLMClient`."""

    def __init__(self, client: LLMClient, clock: TalkClock) -> None:
        self._client = client
        self._clock = clock

    @property
    def model(self) -> str:
        return self._client.model

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Completion]:
        async with AsyncExitStack() as stack:
            with self._clock.stopped():
                completion = await stack.enter_async_context(self._client.stream(request))
            yield _StoppingCompletion(completion, self._clock)


class _StoppingCompletion:
    def __init__(self, completion: Completion, clock: TalkClock) -> None:
        self._completion = completion
        self._clock = clock

    @property
    def usage(self) -> Usage:
        return self._completion.usage

    async def __aiter__(self) -> AsyncIterator[str]:
        pieces = aiter(self._completion)
        while True:
            with self._clock.stopped():
                piece = await anext(pieces, None)
            if piece is None:
                return
            yield piece


class StoppingSandbox:
    """A sandbox whose work takes no time of a talk. Implements `runtime.sandbox.executor.Sandbox`."""

    def __init__(self, sandbox: Sandbox, clock: TalkClock) -> None:
        self._sandbox = sandbox
        self._clock = clock

    @asynccontextmanager
    async def evaluate(self, snippet: Snippet, /) -> AsyncIterator[Evaluation]:
        async with AsyncExitStack() as stack:
            with self._clock.stopped():
                evaluation = await stack.enter_async_context(self._sandbox.evaluate(snippet))
            yield _StoppingEvaluation(evaluation, self._clock)


class _StoppingEvaluation:
    def __init__(self, evaluation: Evaluation, clock: TalkClock) -> None:
        self._evaluation = evaluation
        self._clock = clock

    async def start(self) -> None:
        with self._clock.stopped():
            await self._evaluation.start()

    async def resolve(self, number: int, outcome: CallOutcome, /) -> None:
        with self._clock.stopped():
            await self._evaluation.resolve(number, outcome)

    def take_calls(self) -> Sequence[HostCall]:
        return self._evaluation.take_calls()

    @property
    def ended(self) -> bool:
        return self._evaluation.ended

    @property
    def error(self) -> GuestError | None:
        return self._evaluation.error

    @property
    def kept(self) -> Mapping[str, Any]:
        return self._evaluation.kept
