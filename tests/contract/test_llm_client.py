"""The port to a language model, kept by the model's process, with litellm and without, against a server on loopback."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path

import anyio
import httpx
import pytest
from msgspec.structs import replace

from gateway.settings.tree import model_environment
from runtime.core.clock import SystemClock
from runtime.core.errors import (
    ContextTooLong,
    LLMError,
    LLMKeyRefused,
    LLMNotOffered,
    LLMQuotaSpent,
    LLMRateLimited,
    LLMRefused,
    LLMTimeout,
    LLMUnavailable,
)
from runtime.llm.answering import AnsweringClient
from runtime.llm.client import ChatMessage, CompletionRequest, LLMClient, ModelOptions, ModelTimeouts, Usage
from runtime.llm.process import ModelProcess
from runtime.llm.worker.library import LiteLLMProvider
from runtime.llm.worker.openai_server import OpenAIServerReader
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.servers.ports import free_port

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


@pytest.fixture(scope="module")
async def running_server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as started:
        yield started


@pytest.fixture
def server(running_server: OpenAIServer) -> OpenAIServer:
    running_server.forget()
    return running_server


@pytest.fixture(scope="module", params=["litellm", "own reader"])
def provider(request: pytest.FixtureRequest) -> str:
    """litellm's prefix for a server that speaks OpenAI's protocol: with the one it is litellm that asks."""
    return {"litellm": "custom_openai", "own reader": "openai"}[request.param]


@pytest.fixture(scope="module")
def models(running_server: OpenAIServer, provider: str) -> list[ModelOptions]:
    """The one that most tests ask, one with a known price, the first once more, and one where nobody listens."""
    test = options_for(running_server, f"{provider}/test")
    known = "openai/gpt-4.1-mini" if provider == "openai" else "gpt-4.1-mini"  # which litellm takes for OpenAI's
    return [test, replace(test, name=known), test, replace(test, base_url=f"http://127.0.0.1:{free_port()}/v1")]


@pytest.fixture(scope="module")
async def process(models: Sequence[ModelOptions]) -> AsyncIterator[ModelProcess]:
    """One for all, since it takes seconds to load litellm."""
    async with started(*models) as made:
        yield made


@pytest.fixture
def clock() -> SkippingClock:
    return SkippingClock()


@pytest.fixture
def name(provider: str) -> str:
    return f"{provider}/test"


@pytest.fixture
def client(server: OpenAIServer, process: ModelProcess, clock: SkippingClock, name: str) -> AnsweringClient:
    return AnsweringClient(process.provider(), options_for(server, name), clock)


def options_for(server: OpenAIServer, name: str, timeouts: ModelTimeouts | None = None) -> ModelOptions:
    return ModelOptions(name, base_url=server.base_url, timeouts=timeouts or ModelTimeouts(), max_retries=2)


def started(*models: ModelOptions) -> ModelProcess:
    return ModelProcess(models, model_environment(), SystemClock())


async def ask(client: LLMClient, request: CompletionRequest = HELLO) -> tuple[list[str], Usage]:
    async with client.stream(request) as completion:
        pieces = [piece async for piece in completion]
        return pieces, completion.usage


async def test_text_comes_whole_and_usage_at_the_end(client: AnsweringClient, server: OpenAIServer, name: str) -> None:
    server.add(Reply("Hallo, schöne Welt!", chunk_chars=7, usage=(120, 9, 64)))
    pieces, usage = await ask(client)
    assert "".join(pieces) == "Hallo, schöne Welt!"
    assert usage == Usage(input_tokens=120, output_tokens=9, cached_tokens=64, model=name)


async def test_an_answer_of_a_model_with_a_known_price_has_its_cost_and_its_window(
    server: OpenAIServer, process: ModelProcess, models: Sequence[ModelOptions], clock: SkippingClock
) -> None:
    server.add(Reply("hi", usage=(1_000_000, 100_000, 400_000)))
    _, usage = await ask(AnsweringClient(process.provider(1), models[1], clock))
    assert usage.cost_usd == pytest.approx(0.6 * 0.40 + 0.4 * 0.10 + 0.16)
    assert usage.window_tokens == 1_047_576


async def test_piece_is_handed_on_before_the_next_is_written(client: AnsweringClient, server: OpenAIServer) -> None:
    server.add(Reply("first second", hold_after_chars=6, chunk_chars=6))
    async with client.stream(HELLO) as completion:
        pieces = aiter(completion)
        assert await anext(pieces) == "first "
        await server.until(lambda: server.held == 1)
        server.release()
        assert await anext(pieces) == "second"


async def test_request_carries_messages_stops_and_a_placeholder_key(
    client: AnsweringClient, server: OpenAIServer
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


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
HELD = CompletionRequest(HELLO.messages, schema=SCHEMA)


async def test_a_server_is_sent_the_schema_that_an_answer_is_held_to(
    client: AnsweringClient, server: OpenAIServer
) -> None:
    server.add(Reply('{"n": 3}'))
    await ask(client, HELD)
    form = server.requests[0]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"] == SCHEMA


async def test_a_server_that_knows_no_schemas_is_asked_without_one_from_then_on(
    server: OpenAIServer, process: ModelProcess, models: Sequence[ModelOptions], clock: SkippingClock
) -> None:
    server.add(Reply(status=400), Reply('{"n": 3}'), Reply('{"n": 4}'))
    client = AnsweringClient(process.provider(2), models[2], clock)
    assert "".join((await ask(client, HELD))[0]) == '{"n": 3}'
    assert "".join((await ask(client, HELD))[0]) == '{"n": 4}'
    assert ["response_format" in request for request in server.requests] == [True, False, False]


async def test_an_answer_that_ends_at_its_greatest_length_says_so(
    client: AnsweringClient, server: OpenAIServer, name: str
) -> None:
    server.add(Reply("And so it", finish_reason="length", usage=(120, 9, 64)), Reply("And so it went on."))
    pieces, usage = await ask(client)
    assert "".join(pieces) == "And so it"
    assert usage == Usage(input_tokens=120, output_tokens=9, cached_tokens=64, model=name, cut=True)
    assert not (await ask(client))[1].cut


async def test_a_thought_before_the_answer_is_no_part_of_it_and_is_paid_for(
    client: AnsweringClient, server: OpenAIServer
) -> None:
    server.add(Reply("<think>One or two?</think>\n\nTwo", usage=(120, 9, 64)))
    pieces, usage = await ask(client)
    assert "".join(pieces) == "Two"
    assert usage.output_tokens == 9


async def test_a_model_that_ends_a_thought_without_beginning_it_is_known_for_it_afterwards(
    client: AnsweringClient, server: OpenAIServer
) -> None:
    for _ in range(2):
        server.add(Reply("One or two?\n</think>\n\nTwo"))
    assert ["".join((await ask(client))[0]) for _ in range(2)] == ["One or two?\n\nTwo", "Two"]


async def test_empty_answer_has_no_pieces(client: AnsweringClient, server: OpenAIServer) -> None:
    server.add(Reply(""))
    pieces, usage = await ask(client)
    assert pieces == []
    assert usage.input_tokens == 100


async def test_rate_limit_waits_as_long_as_the_provider_asks(
    client: AnsweringClient, server: OpenAIServer, clock: SkippingClock
) -> None:
    server.add(Reply(status=429, retry_after_s=7), Reply("late"))
    pieces, _ = await ask(client)
    assert pieces == ["late"]
    assert clock.slept_s == [7.0]


async def test_rate_limit_that_lasts_is_told_with_its_pause(
    client: AnsweringClient, server: OpenAIServer, clock: SkippingClock
) -> None:
    server.add(*[Reply(status=429, retry_after_s=2)] * 3)
    with pytest.raises(LLMRateLimited) as caught:
        await ask(client)
    assert caught.value.retry_after_s == 2.0
    assert clock.slept_s == [2.0, 2.0]


async def test_pause_of_an_hour_is_not_waited_for(
    client: AnsweringClient, server: OpenAIServer, clock: SkippingClock
) -> None:
    server.add(Reply(status=429, retry_after_s=3600))
    with pytest.raises(LLMRateLimited):
        await ask(client)
    assert clock.slept_s == []


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_server_error_is_tried_again_after_a_growing_pause(
    client: AnsweringClient, server: OpenAIServer, clock: SkippingClock, status: int
) -> None:
    server.add(Reply(status=status), Reply(status=status), Reply("at last"))
    pieces, _ = await ask(client)
    assert "".join(pieces) == "at last"
    first_s, second_s = clock.slept_s
    assert 0.25 <= first_s <= 0.5 <= second_s <= 1.0


@pytest.mark.parametrize("status", [503, 529])
async def test_an_overloaded_provider_that_says_how_long_is_waited_for_so_long(
    client: AnsweringClient, server: OpenAIServer, clock: SkippingClock, status: int
) -> None:
    server.add(Reply(status=status, retry_after_s=7), Reply("now"))
    assert (await ask(client))[0] == ["now"]
    assert clock.slept_s == [7]


async def test_server_error_that_lasts_is_unavailable(client: AnsweringClient, server: OpenAIServer) -> None:
    server.add(Reply(status=500, repeat=True))
    with pytest.raises(LLMUnavailable, match="scripted 500"):
        await ask(client)
    assert len(server.requests) == 3


async def test_nobody_listening_is_unavailable(
    process: ModelProcess, models: Sequence[ModelOptions], clock: SkippingClock
) -> None:
    with pytest.raises(LLMUnavailable, match=models[3].name):
        await ask(AnsweringClient(process.provider(3), models[3], clock))
    assert len(clock.slept_s) == 2


@pytest.mark.parametrize("status", [400, 403, 404])
async def test_rejected_request_is_not_tried_again(client: AnsweringClient, server: OpenAIServer, status: int) -> None:
    server.add(Reply(status=status, error={"message": "no such thing"}, repeat=True))
    with pytest.raises(LLMRefused, match=r"rejects the request: no such thing$"):
        await ask(client)
    assert len(server.requests) == 1


async def test_a_flagged_message_says_nothing_about_the_model(client: AnsweringClient, server: OpenAIServer) -> None:
    flagged = {"message": 'It requires moderation. Your input was flagged for "violence".', "metadata": {"reasons": []}}
    server.add(Reply(status=403, error=flagged))
    with pytest.raises(LLMRefused) as refused:
        await ask(client)
    assert not isinstance(refused.value, LLMNotOffered)
    server.add(Reply(status=403, error={"message": "not for this key"}))
    with pytest.raises(LLMNotOffered):
        await ask(client)


async def test_refused_key_is_said_to_be_that(client: AnsweringClient, server: OpenAIServer) -> None:
    server.add(Reply(status=401, error={"message": "no such key"}, repeat=True))
    with pytest.raises(LLMKeyRefused, match=r"openai/test refuses its key; set another one: no such key$"):
        await ask(client)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [(402, "pay first"), (429, "insufficient_quota: check your plan"), (400, "Your credit balance is too low")],
)
async def test_a_spent_quota_is_told_apart_and_not_tried_again(
    client: AnsweringClient, server: OpenAIServer, status: int, message: str
) -> None:
    server.add(Reply(status=status, error={"message": message}, repeat=True))
    with pytest.raises(LLMQuotaSpent, match="no credit left"):
        await ask(client)
    assert len(server.requests) == 1


async def test_rejection_that_litellm_swallows_is_one_all_the_same(
    client: AnsweringClient, server: OpenAIServer, clock: SkippingClock, provider: str
) -> None:
    server.add(Reply(status=422, repeat=True))
    with pytest.raises(LLMRefused, match="scripted 422" if provider == "openai" else "does not say why"):
        await ask(client)
    assert clock.slept_s == []


async def test_a_page_where_an_answer_was_expected_is_no_empty_answer(
    client: AnsweringClient, server: OpenAIServer
) -> None:
    server.add(*[Reply(page="<html><head><title>Log in</title></head></html>")] * 3)
    with pytest.raises(LLMUnavailable, match="check the address"):
        await ask(client)
    assert len(server.requests) == 3


async def test_too_long_a_prompt_is_told_apart(client: AnsweringClient, server: OpenAIServer) -> None:
    error = {"message": "This model's maximum context length is 4096 tokens.", "code": "context_length_exceeded"}
    server.add(Reply(status=400, error=error))
    with pytest.raises(ContextTooLong):
        await ask(client)


async def test_withheld_answer_is_refused(client: AnsweringClient, server: OpenAIServer) -> None:
    server.add(Reply("I", finish_reason="content_filter"))
    with pytest.raises(LLMRefused, match="content filter"):
        await ask(client)


@pytest.mark.parametrize("reply", [Reply("x", hold_before=True), Reply("", hold_after_chars=0)])
async def test_silence_before_the_first_piece_times_out(
    server: OpenAIServer, process: ModelProcess, clock: SkippingClock, name: str, reply: Reply
) -> None:
    server.add(reply)
    await process.warm_up()
    client = AnsweringClient(process.provider(), options_for(server, name, ModelTimeouts(first_piece_s=2.0)), clock)
    with pytest.raises(LLMTimeout, match=name):
        await ask(client)
    assert len(server.requests) == 1
    await server.until(lambda: server.disconnects == 1)


async def test_silence_between_pieces_times_out(
    server: OpenAIServer, process: ModelProcess, clock: SkippingClock, name: str
) -> None:
    server.add(Reply("first second", hold_after_chars=6))
    client = AnsweringClient(process.provider(), options_for(server, name, ModelTimeouts(between_pieces_s=0.1)), clock)
    with pytest.raises(LLMTimeout, match="next piece"):
        await ask(client)


async def test_answer_without_end_times_out(
    server: OpenAIServer, process: ModelProcess, clock: SkippingClock, name: str
) -> None:
    server.add(Reply("0123456789" * 100, chunk_chars=1, chunk_delay_s=0.01))
    client = AnsweringClient(process.provider(), options_for(server, name, ModelTimeouts(whole_s=0.5)), clock)
    with pytest.raises(LLMTimeout):
        await ask(client)


async def test_connection_cut_in_mid_stream_is_an_error_and_not_tried_again(
    client: AnsweringClient, server: OpenAIServer
) -> None:
    server.add(Reply("0123456789" * 4, chunk_chars=10, drop_after_chars=20), Reply("again"))
    heard: list[str] = []

    async def hear() -> None:
        async with client.stream(HELLO) as completion:
            async for piece in completion:
                heard.extend([piece])

    with pytest.raises(LLMError):
        await hear()
    assert "".join(heard) == "0123456789" * 2
    assert len(server.requests) == 1


async def test_connection_cut_before_the_first_piece_is_tried_again(
    client: AnsweringClient, server: OpenAIServer
) -> None:
    server.add(Reply("lost", drop_after_chars=0), Reply("kept"))
    pieces, _ = await ask(client)
    assert pieces == ["kept"]


async def test_leaving_the_context_stops_the_request(client: AnsweringClient, server: OpenAIServer) -> None:
    server.add(Reply("first second", hold_after_chars=6, chunk_chars=6))
    async with client.stream(HELLO) as completion:
        assert await anext(aiter(completion)) == "first "
    await server.until(lambda: server.disconnects == 1)


async def test_cancelling_stops_the_request(client: AnsweringClient, server: OpenAIServer) -> None:
    server.add(Reply("first second", hold_after_chars=6, chunk_chars=6))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, client)
        await server.until(lambda: server.held == 1)
        tasks.cancel_scope.cancel()
    await server.until(lambda: server.disconnects == 1)


@pytest.mark.parametrize("kind", [LiteLLMProvider, OpenAIServerReader])
async def test_anthropic_models_get_cache_marks(
    server: OpenAIServer, kind: Callable[[ModelOptions], LiteLLMProvider | OpenAIServerReader]
) -> None:
    """The mark goes on the wire as Anthropic's own field; OpenAI's wire passes it through here so that it shows."""
    messages = tuple(ChatMessage("user", str(number), cacheable=True) for number in range(6))
    server.add(Reply("x"))
    asked = kind(options_for(server, "openai/claude-test"))
    async with aclosing(asked.answer(CompletionRequest(messages))) as parts:
        assert "x" in [part async for part in parts]
    await asked.aclose()
    marked = ["cache_control" in json.dumps(message) for message in server.requests[0]["messages"]]
    assert marked == [False, False, True, True, True, True]
    gc.collect()  # an unclosed session would warn here, and warnings are errors


async def test_fake_server_serves_other_processes(tmp_path: Path, clock: SkippingClock) -> None:
    script = tmp_path / "replies.json"
    script.write_text(json.dumps(["plain", {"text": "matched", "when": "magic", "hold_before": True}]))
    command = [sys.executable, "-m", "tests.fakes.models.openai_server", "--script", str(script)]
    async with await anyio.open_process(command, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        base_url = (await process.stdout.receive()).decode().strip()
        control = base_url.removesuffix("/v1") + "/control"
        async with (
            started(ModelOptions("openai/test", base_url=base_url)) as asked,
            httpx.AsyncClient(timeout=60) as http,
        ):
            client = AnsweringClient(asked.provider(), ModelOptions("openai/test"), clock)
            assert (await ask(client))[0] == ["plain"]
            await http.post(f"{control}/release")
            magic = CompletionRequest((ChatMessage("user", "the magic word"),))
            assert (await ask(client, magic))[0] == ["matched"]
            await http.post(f"{control}/replies", json=["more"])
            assert (await ask(client))[0] == ["more"]
            assert len((await http.get(f"{control}/requests")).json()) == 3
        process.terminate()
