"""What a talk's clock does while a model or a sandbox is at work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import pytest

from gateway.talks.staging.stage import StoppingModel, StoppingSandbox, TalkClock, settle
from runtime.llm.client import ChatMessage, CompletionRequest, ModelCompletion, Usage
from runtime.sandbox.executor import CallOutcome, CodeSnippet, SnippetEvaluation


class Slow:
    """A model and a sandbox that go on when they are let; implements `LLMClient`, `Sandbox`, `ModelCompletion` and
    `SnippetEvaluation`."""

    model = "slow"
    usage = Usage()
    ended = False
    error = None

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.goes_on = anyio.Event()

    @asynccontextmanager
    async def stream(self, _request: CompletionRequest, /) -> AsyncIterator[ModelCompletion]:
        yield self

    @asynccontextmanager
    async def evaluate(self, _snippet: CodeSnippet, /) -> AsyncIterator[SnippetEvaluation]:
        yield self

    async def __aiter__(self) -> AsyncIterator[str]:
        await self.start()
        yield "word"

    async def start(self) -> None:
        await self.goes_on.wait()

    async def resolve(self, _number: int, _outcome: CallOutcome, /) -> None:
        await self.start()

    def take_calls(self) -> tuple[()]:
        return ()


@pytest.mark.anyio
async def test_the_clock_stands_while_a_model_or_a_sandbox_is_at_work_and_runs_while_what_it_gave_is_used() -> None:
    clock = TalkClock(datetime(2026, 3, 1, tzinfo=UTC))
    slow, seen = Slow(), list[str]()

    async def ask() -> None:
        async with StoppingModel(slow, clock).stream(CompletionRequest((ChatMessage("user", "?"),))) as completion:
            async for piece in completion:
                await clock.runs()
                seen.append(piece)

    async def compute() -> None:
        async with StoppingSandbox(slow, clock).evaluate(CodeSnippet("1 + 1")) as evaluation:
            await clock.runs()
            await evaluation.start()
            await clock.runs()
            await evaluation.resolve(0, CallOutcome(1))
            seen.append("computed")

    async def pass_time() -> None:
        await clock.runs()
        seen.append("time")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(compute)
        await settle()
        tasks.start_soon(ask)
        tasks.start_soon(pass_time)
        await settle()
        assert seen == []
        slow.goes_on.set()
    assert sorted(seen) == ["computed", "time", "word"]
