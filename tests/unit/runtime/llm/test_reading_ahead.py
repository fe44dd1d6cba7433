"""Answers that are read as they come, however slowly they are taken."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from anyio.lowlevel import checkpoint

from runtime.core.errors import LLMTimeout, VerificationError
from runtime.llm.client import ChatMessage, CompletionRequest, Usage
from runtime.llm.models import ReadingAhead
from tests.fakes.people.talk import Model, Reply

REQUEST = CompletionRequest((ChatMessage("user", "go"),))
ANSWER = Reply("one two three four five", usage=Usage(3, 5))


@asynccontextmanager
async def reading(model: Model) -> AsyncIterator[ReadingAhead]:
    """A client whose tasks have an owner."""
    async with anyio.create_task_group() as tasks:
        yield ReadingAhead(model, tasks)


async def test_an_answer_is_read_to_its_end_while_nobody_takes_it() -> None:
    model = Model(ANSWER)
    async with reading(model) as client, client.stream(REQUEST) as completion:
        with anyio.fail_after(20):
            while not model.hung_up:
                await checkpoint()
        pieces = [piece async for piece in completion]
        assert "".join(pieces) == ANSWER.text
        assert len(pieces) > 1
        assert completion.usage == ANSWER.usage


async def test_what_breaks_an_answer_comes_after_its_pieces() -> None:
    taken: list[str] = []

    async def take(client: ReadingAhead) -> None:
        async with client.stream(REQUEST) as completion:
            async for piece in completion:
                taken.extend([piece])

    async with reading(Model(replace(ANSWER, breaks=LLMTimeout("too slow")))) as client:
        with pytest.raises(LLMTimeout, match="too slow"):
            await take(client)
    assert "".join(taken) == ANSWER.text


async def test_a_request_that_fails_at_once_fails_as_itself() -> None:
    async with reading(Model(LLMTimeout("no answer"))) as client:
        with pytest.raises(LLMTimeout, match="no answer"):
            async with client.stream(REQUEST) as completion:
                assert [piece async for piece in completion] == []


async def test_who_takes_an_answer_may_leave_it_and_fail_as_itself() -> None:
    model = Model(replace(ANSWER, gate=anyio.Event()), ANSWER)
    async with reading(model) as client:
        assert client.model == "scripted"
        async with client.stream(REQUEST) as completion:
            async for _ in completion:
                break
        assert model.hung_up == 1, "the request has ended though its answer had not"
        with pytest.raises(VerificationError, match="twice"):
            async with client.stream(REQUEST):
                raise VerificationError("refused twice")


async def test_an_answer_may_be_left_in_another_cancel_scope_than_it_was_asked_for_in() -> None:
    model = Model(replace(ANSWER, gate=anyio.Event()))
    async with reading(model) as client:
        stack = AsyncExitStack()
        await stack.enter_async_context(client.stream(REQUEST))
        with anyio.CancelScope(shield=True):
            await stack.aclose()
    assert model.hung_up == 1
