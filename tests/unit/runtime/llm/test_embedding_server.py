"""What texts mean, from a server that speaks OpenAI's protocol."""

import base64
from typing import Any

import pytest

from runtime.core.errors import LLMError, LLMRateLimited, LLMUnavailable
from runtime.llm.client import EMBED, ChatMessage, CompletionRequest, ModelOptions, Usage
from runtime.llm.worker.services import MAX_NUMBERS
from runtime.llm.worker.services import EmbeddingServer as Asked
from tests.fakes.models.embedding_server import EmbeddingServer
from tests.fakes.models.meanings import vector_of

TEXTS = ("is vegetarian", "lives in Oslo")


async def answer(server: EmbeddingServer, *texts: str) -> tuple[list[bytes], Usage]:
    asked = Asked(ModelOptions("openai/text-embedding-3-small", server.base_url, "sk-secret", service="embedding"))
    request = CompletionRequest(tuple(ChatMessage("user", text) for text in texts), EMBED)
    try:
        said = [part async for part in asked.answer(request)]
    finally:
        await asked.aclose()
    text, usage = "".join(one for one in said if isinstance(one, str)), said[-1]
    assert isinstance(usage, Usage)
    return [base64.b64decode(line) for line in text.split()], usage


async def test_texts_are_sent_together_and_their_vectors_come_back_in_order_with_what_they_cost() -> None:
    async with EmbeddingServer() as server:
        vectors, usage = await answer(server, *TEXTS)
    assert [near(vector, vector_of(text)) for vector, text in zip(vectors, TEXTS, strict=True)] == [True, True]
    assert server.embedded == [{"model": "text-embedding-3-small", "input": list(TEXTS)}]
    assert server.headers[0]["authorization"] == "Bearer sk-secret"
    assert usage.input_tokens == sum(map(len, TEXTS))
    assert usage.cost_usd is not None
    assert usage.cost_usd > 0


def near(one: bytes, other: bytes) -> bool:
    """Whether two vectors are the same, but for the largest number, which is 127 in what is read."""
    pairs = zip(memoryview(one).cast("b"), memoryview(other).cast("b"), strict=True)
    return all(abs(ours - theirs) <= 1 for ours, theirs in pairs)


def one(vector: Any, index: Any = 0) -> dict[str, Any]:
    return {"index": index, "embedding": vector}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": [one([0.1, 0.2])]},
        {"data": [one([0.1]), one([0.2], 5)]},
        {"data": [one([0.1]), one([0.2, 0.3], 1)]},
        {"data": [one([0.1]), one(["a"], 1)]},
        {"data": [one([0.1]), one([0.0], 1)]},
        {"data": [one([0.1]), one([], 1)]},
        {"data": [one([0.1]), one("0.1", 1)]},
        {"data": [one([0.1]), one([float("nan")], 1)]},
        {"data": [one([0.1]), one([0.1] * (MAX_NUMBERS + 1), 1)]},
        {"data": "none"},
        [],
    ],
)
async def test_an_answer_that_is_no_vector_for_each_text_is_a_failure(body: Any) -> None:
    async with EmbeddingServer() as server:
        server.body = body
        with pytest.raises(LLMUnavailable):
            await answer(server, *TEXTS)


@pytest.mark.parametrize(("status", "kind"), [(429, LLMRateLimited), (500, LLMUnavailable), (401, LLMError)])
async def test_a_refusal_is_an_error_of_its_kind(status: int, kind: type[LLMError]) -> None:
    async with EmbeddingServer() as server:
        server.body, server.embedding_status = {"error": {"message": "no"}}, status
        with pytest.raises(kind):
            await answer(server, "a")
