"""The port to a language model, kept by litellm against a server on loopback."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import anyio
import httpx
import pytest

from runtime.core.errors import (
    ContextTooLong,
    LLMError,
    LLMRateLimited,
    LLMRefused,
    LLMTimeout,
    LLMUnavailable,
)
from runtime.llm.client import ChatMessage, CompletionRequest, LLMClient, Usage
from runtime.llm.provider import LiteLLMClient, ModelOptions, ModelTimeouts
from tests.fakes.openai_server import OpenAIServer, Reply

pytestmark = pytest.mark.anyio

HELLO = CompletionRequest((ChatMessage("system", "Be brief.", cacheable=True), ChatMessage("user", "hi")))


class SkippingClock:
    """A clock whose sleeps are over at once; `slept_s` tells how long they would have been."""

    def __init__(self) -> None:
        self.slept_s: list[float] = []
        self._now_s = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return self._now_s

    async def sleep_until(self, monotonic_s: float, /) -> None:
        self.slept_s.append(monotonic_s - self._now_s)
        self._now_s = monotonic_s
        await anyio.lowlevel.checkpoint()


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as started:
        yield started


@pytest.fixture
def clock() -> SkippingClock:
    return SkippingClock()


@pytest.fixture
async def client(server: OpenAIServer, clock: SkippingClock) -> AsyncIterator[LiteLLMClient]:
    async with connected(server, clock) as made:
        yield made


def connected(
    server: OpenAIServer, clock: SkippingClock, timeouts: ModelTimeouts | None = None, name: str = "openai/test"
) -> LiteLLMClient:
    options = ModelOptions(name, base_url=server.base_url, timeouts=timeouts or ModelTimeouts(), max_retries=2)
    return LiteLLMClient(options, clock)


async def ask(client: LLMClient, request: CompletionRequest = HELLO) -> tuple[list[str], Usage]:
    async with client.stream(request) as completion:
        pieces = [piece async for piece in completion]
        return pieces, completion.usage


async def test_text_comes_in_the_providers_pieces_and_usage_at_the_end(
    client: LiteLLMClient, server: OpenAIServer
) -> None:
    server.add(Reply("Hallo, schöne Welt!", chunk_chars=7, usage=(120, 9, 64)))
    pieces, usage = await ask(client)
    assert pieces == ["Hallo, ", "schöne ", "Welt!"]
    assert usage == Usage(input_tokens=120, output_tokens=9, cached_tokens=64)


async def test_an_answer_of_a_model_with_a_known_price_has_its_cost(server: OpenAIServer, clock: SkippingClock) -> None:
    server.add(Reply("hi", usage=(1_000_000, 100_000, 0)))
    async with connected(server, clock, name="openai/gpt-4.1-mini") as client:
        _, usage = await ask(client)
    assert usage.cost_usd == pytest.approx(0.40 + 0.16)


async def test_piece_is_handed_on_before_the_next_is_written(client: LiteLLMClient, server: OpenAIServer) -> None:
    server.add(Reply("first second", hold_after_chars=6, chunk_chars=6))
    async with client.stream(HELLO) as completion:
        pieces = aiter(completion)
        assert await anext(pieces) == "first "
        await server.until(lambda: server.held == 1)
        server.release()
        assert await anext(pieces) == "second"


async def test_request_carries_messages_stops_and_a_placeholder_key(
    client: LiteLLMClient, server: OpenAIServer
) -> None:
    server.add(Reply("x"))
    await ask(client, CompletionRequest(HELLO.messages, stop=("END",)))
    request = server.requests[0]
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
    ]
    assert request["stop"] == ["END"]
    assert request["model"] == "test"
    assert server.headers[0]["authorization"].startswith("Bearer ")


async def test_empty_answer_has_no_pieces(client: LiteLLMClient, server: OpenAIServer) -> None:
    server.add(Reply(""))
    pieces, usage = await ask(client)
    assert pieces == []
    assert usage.input_tokens == 100


async def test_rate_limit_waits_as_long_as_the_provider_asks(
    client: LiteLLMClient, server: OpenAIServer, clock: SkippingClock
) -> None:
    server.add(Reply(status=429, retry_after_s=7), Reply("late"))
    pieces, _ = await ask(client)
    assert pieces == ["late"]
    assert clock.slept_s == [7.0]


async def test_rate_limit_that_lasts_is_told_with_its_pause(
    client: LiteLLMClient, server: OpenAIServer, clock: SkippingClock
) -> None:
    server.add(*[Reply(status=429, retry_after_s=2)] * 3)
    with pytest.raises(LLMRateLimited) as caught:
        await ask(client)
    assert caught.value.retry_after_s == 2.0
    assert clock.slept_s == [2.0, 2.0]


async def test_pause_of_an_hour_is_not_waited_for(
    client: LiteLLMClient, server: OpenAIServer, clock: SkippingClock
) -> None:
    server.add(Reply(status=429, retry_after_s=3600))
    with pytest.raises(LLMRateLimited):
        await ask(client)
    assert clock.slept_s == []


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_server_error_is_tried_again_after_a_growing_pause(
    client: LiteLLMClient, server: OpenAIServer, clock: SkippingClock, status: int
) -> None:
    server.add(Reply(status=status), Reply(status=status), Reply("at last"))
    pieces, _ = await ask(client)
    assert "".join(pieces) == "at last"
    first_s, second_s = clock.slept_s
    assert 0.25 <= first_s <= 0.5 <= second_s <= 1.0


async def test_server_error_that_lasts_is_unavailable(client: LiteLLMClient, server: OpenAIServer) -> None:
    server.add(Reply(status=500, repeat=True))
    with pytest.raises(LLMUnavailable, match="scripted 500"):
        await ask(client)
    assert len(server.requests) == 3


async def test_nobody_listening_is_unavailable(clock: SkippingClock) -> None:
    async with OpenAIServer() as gone:
        pass
    async with connected(gone, clock) as client:
        with pytest.raises(LLMUnavailable, match="openai/test"):
            await ask(client)
    assert len(clock.slept_s) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_rejected_request_is_not_tried_again(client: LiteLLMClient, server: OpenAIServer, status: int) -> None:
    server.add(Reply(status=status, error={"message": "no such thing"}, repeat=True))
    with pytest.raises(LLMRefused, match=r"rejects the request: no such thing$"):
        await ask(client)
    assert len(server.requests) == 1


async def test_rejection_that_litellm_swallows_is_one_all_the_same(
    client: LiteLLMClient, server: OpenAIServer, clock: SkippingClock
) -> None:
    server.add(Reply(status=422, repeat=True))
    with pytest.raises(LLMRefused, match="does not say why"):
        await ask(client)
    assert clock.slept_s == []


async def test_too_long_a_prompt_is_told_apart(client: LiteLLMClient, server: OpenAIServer) -> None:
    error = {"message": "This model's maximum context length is 4096 tokens.", "code": "context_length_exceeded"}
    server.add(Reply(status=400, error=error))
    with pytest.raises(ContextTooLong):
        await ask(client)


async def test_withheld_answer_is_refused(client: LiteLLMClient, server: OpenAIServer) -> None:
    server.add(Reply("I", finish_reason="content_filter"))
    with pytest.raises(LLMRefused, match="content filter"):
        await ask(client)


@pytest.mark.parametrize("reply", [Reply("x", hold_before=True), Reply("", hold_after_chars=0)])
async def test_silence_before_the_first_piece_times_out(
    server: OpenAIServer, clock: SkippingClock, reply: Reply
) -> None:
    server.add(reply)
    async with connected(server, clock, ModelTimeouts(first_piece_s=2.0)) as client:
        with pytest.raises(LLMTimeout, match=r"openai/test"):
            await ask(client)
    assert len(server.requests) == 1
    await server.until(lambda: server.disconnects == 1)


async def test_silence_between_pieces_times_out(server: OpenAIServer, clock: SkippingClock) -> None:
    server.add(Reply("first second", hold_after_chars=6))
    async with connected(server, clock, ModelTimeouts(between_pieces_s=0.1)) as client:
        with pytest.raises(LLMTimeout, match="next piece"):
            await ask(client)


async def test_answer_without_end_times_out(server: OpenAIServer, clock: SkippingClock) -> None:
    server.add(Reply("x" * 1_000, chunk_chars=1, chunk_delay_s=0.01))
    async with connected(server, clock, ModelTimeouts(whole_s=0.5)) as client:
        with pytest.raises(LLMTimeout):
            await ask(client)


async def test_connection_cut_in_mid_stream_is_an_error_and_not_tried_again(
    client: LiteLLMClient, server: OpenAIServer
) -> None:
    server.add(Reply("0123456789" * 4, chunk_chars=10, drop_after_chars=20), Reply("again"))
    async with client.stream(HELLO) as completion:
        pieces = aiter(completion)
        assert [await anext(pieces), await anext(pieces)] == ["0123456789", "0123456789"]
        with pytest.raises(LLMError):
            await anext(pieces)
    assert len(server.requests) == 1


async def test_connection_cut_before_the_first_piece_is_tried_again(
    client: LiteLLMClient, server: OpenAIServer
) -> None:
    server.add(Reply("lost", drop_after_chars=0), Reply("kept"))
    pieces, _ = await ask(client)
    assert pieces == ["kept"]


async def test_leaving_the_context_stops_the_request(client: LiteLLMClient, server: OpenAIServer) -> None:
    server.add(Reply("first second", hold_after_chars=6, chunk_chars=6))
    async with client.stream(HELLO) as completion:
        assert await anext(aiter(completion)) == "first "
    await server.until(lambda: server.disconnects == 1)


async def test_cancelling_stops_the_request(client: LiteLLMClient, server: OpenAIServer) -> None:
    server.add(Reply("first second", hold_after_chars=6, chunk_chars=6))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, client)
        await server.until(lambda: server.held == 1)
        tasks.cancel_scope.cancel()
    await server.until(lambda: server.disconnects == 1)


async def test_anthropic_models_get_cache_marks(clock: SkippingClock) -> None:
    """The mark goes on the wire as Anthropic's own field; OpenAI's wire passes it through here so that it shows."""
    messages = tuple(ChatMessage("user", str(number), cacheable=True) for number in range(6))
    async with OpenAIServer([Reply("x")]) as server, connected(server, clock, name="openai/claude-test") as client:
        await ask(client, CompletionRequest(messages))
    marked = ["cache_control" in json.dumps(message) for message in server.requests[0]["messages"]]
    assert marked == [False, False, True, True, True, True]


async def test_closing_leaves_nothing_open_and_the_client_usable(client: LiteLLMClient, server: OpenAIServer) -> None:
    server.add(Reply("one"), Reply("two"))
    assert (await ask(client))[0] == ["one"]
    await client.aclose()
    assert (await ask(client))[0] == ["two"]
    await client.aclose()
    gc.collect()  # an unclosed session would warn here, and warnings are errors


async def test_fake_server_serves_other_processes(tmp_path: Path, clock: SkippingClock) -> None:
    script = tmp_path / "replies.json"
    script.write_text(json.dumps(["plain", {"text": "matched", "when": "magic", "hold_before": True}]))
    command = [sys.executable, "-m", "tests.fakes.openai_server", "--script", str(script)]
    async with await anyio.open_process(command, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        base_url = (await process.stdout.receive()).decode().strip()
        control = base_url.removesuffix("/v1") + "/control"
        async with (
            LiteLLMClient(ModelOptions("openai/test", base_url=base_url), clock) as client,
            httpx.AsyncClient(timeout=60) as http,
        ):
            assert (await ask(client))[0] == ["plain"]
            await http.post(f"{control}/release")
            magic = CompletionRequest((ChatMessage("user", "the magic word"),))
            assert (await ask(client, magic))[0] == ["matched"]
            await http.post(f"{control}/replies", json=["more"])
            assert (await ask(client))[0] == ["more"]
            assert len((await http.get(f"{control}/requests")).json()) == 3
        process.terminate()
