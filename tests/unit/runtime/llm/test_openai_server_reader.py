"""Servers that speak OpenAI's protocol, each a little in its own way."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from runtime.core.background import beside
from runtime.core.errors import ContextTooLong, LLMError, LLMRateLimited, LLMRefused, LLMUnavailable
from runtime.llm.client import ChatMessage, CompletionRequest, ModelOptions, Usage
from runtime.llm.worker.openai_server import MAX_LINE_BYTES, OpenAIServerReader
from tests.fakes.models.openai_server import OpenAIServer, Reply

MESSAGES = (ChatMessage("user", "go"),)
PLAIN = CompletionRequest(MESSAGES)
EXACT = CompletionRequest(MESSAGES, temperature=0.0, schema={"type": "boolean"})


@asynccontextmanager
async def reader_of(base_url: str) -> AsyncIterator[OpenAIServerReader]:
    reader = OpenAIServerReader(ModelOptions("openai/test", base_url=base_url))
    try:
        yield reader
    finally:
        await reader.aclose()


async def read(reader: OpenAIServerReader, request: CompletionRequest = PLAIN) -> list[str | Usage]:
    async with aclosing(reader.answer(request)) as parts:
        return [part async for part in parts if part]


async def said(reader: OpenAIServerReader, request: CompletionRequest = PLAIN) -> str:
    return "".join(part for part in await read(reader, request) if isinstance(part, str))


async def test_a_parameter_that_the_server_refuses_is_left_out_from_then_on() -> None:
    refusal = Reply(status=400, error={"message": "Unsupported value: 'temperature' does not support 0.0"})
    async with OpenAIServer([refusal, Reply("one"), Reply("two")]) as server, reader_of(server.base_url) as reader:
        request = CompletionRequest(MESSAGES, temperature=0.0)
        assert [await said(reader, request), await said(reader, request)] == ["one", "two"]
    assert [("temperature" in asked) for asked in server.requests] == [True, False, False]


async def test_a_server_that_knows_no_schemas_is_asked_without() -> None:
    async with (
        OpenAIServer([Reply(status=422), Reply("one"), Reply("two")]) as server,
        reader_of(server.base_url) as reader,
    ):
        assert [await said(reader, EXACT), await said(reader, EXACT)] == ["one", "two"]
    assert [("response_format" in asked) for asked in server.requests] == [True, False, False]
    assert all(asked["temperature"] == 0.0 for asked in server.requests)


async def test_a_prompt_that_is_too_long_is_not_asked_again_without_its_schema() -> None:
    error = {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"}
    async with OpenAIServer([Reply(status=400, error=error)]) as server, reader_of(server.base_url) as reader:
        with pytest.raises(ContextTooLong, match="available context size"):
            await said(reader, EXACT)
    assert len(server.requests) == 1


async def answered(raw: bytes) -> list[str | Usage]:
    """What is read of a whole response, headers and all."""

    async def serve(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(raw)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, beside() as tasks:
        tasks.start_soon(listener.serve, serve)
        async with reader_of(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1/") as reader:
            return await read(reader)


def stream(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + body


async def test_events_are_read_however_the_server_writes_them() -> None:
    body = (
        b": ping\r\n\r\n"
        b"event: message\r\n"
        b'data:{"choices":[{"delta":{"role":"assistant","content":null}}]}\r\n\r\n'
        b'data: {"choices":[{"delta":{"content":"one "}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":"two"},"finish_reason":"stop"}],"usage":null}\n\n'
        b'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":null}}\n\n'
        b"data: [DONE]\n\n"
    )
    assert await answered(stream(body)) == ["one ", "two", Usage(input_tokens=3, output_tokens=2)]


async def test_the_end_of_the_text_is_enough_of_an_end() -> None:
    body = b'data: {"choices":[{"delta":{"content":"one"},"finish_reason":"length"}]}\n\n'
    assert await answered(stream(body)) == ["one"]


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b'data: {"choices":[{"delta":{"content":"one"}}]}\n\n', LLMUnavailable, "the answer broke off"),
        (b"", LLMUnavailable, "the answer broke off"),
        (b"data: {nonsense\n\n", LLMUnavailable, "not JSON"),
        (b"data: [1]\n\n", LLMUnavailable, "not a JSON object"),
        (b'data: {"error":{"message":"overloaded","code":502}}\n\n', LLMUnavailable, "overloaded"),
        (b'data: {"error":{"message":"slow down","code":429}}\n\n', LLMRateLimited, "slow down"),
        (b'data: {"error":{"message":"not for you","code":403}}\n\n', LLMRefused, "not for you"),
        (b'data: {"error":"it crashed"}\n\n', LLMUnavailable, "it crashed"),
        (b'data: {"choices":[{"delta":{"content":5}}]}\n\n', LLMUnavailable, "not a text"),
        (b": ping\n\n: ping\n\n", LLMUnavailable, "the answer broke off"),
        (b"data: " + b"x" * (2 * MAX_LINE_BYTES), LLMUnavailable, "a line of more than"),
    ],
)
async def test_a_stream_that_goes_wrong_says_how(body: bytes, kind: type[LLMError], words: str) -> None:
    with pytest.raises(kind, match=words):
        await answered(stream(body))


def whole(body: bytes, media_type: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n%s" % (media_type, body)


async def test_a_server_that_does_not_stream_is_read_as_well() -> None:
    body = b"""{
      "choices": [{"index": 0, "message": {"role": "assistant", "content": "all of it"}, "finish_reason": "stop"}],
      "usage": {"prompt_tokens": 3, "completion_tokens": 2}
    }"""
    assert await answered(whole(body, b"application/json")) == ["all of it", Usage(input_tokens=3, output_tokens=2)]


@pytest.mark.parametrize(
    ("body", "media_type", "words"),
    [
        (
            b"<html>\n<head><title>Log in</title></head></html>",
            b"text/html",
            "sent text/html .* check the address .*Log in",
        ),
        (b'{"error": {"message": "overloaded"}}', b"application/json", "overloaded"),
        (b'{"models": ["one"]}', b"application/json", "JSON that has no answer"),
        (b'[{"text": "one"}]', b"application/json", "not a JSON object"),
        (b'{"choices": [', b"application/json", "not JSON"),
    ],
)
async def test_what_is_sent_with_success_and_is_no_answer_is_told(body: bytes, media_type: bytes, words: str) -> None:
    with pytest.raises(LLMUnavailable, match=words):
        await answered(whole(body, media_type))


async def test_of_several_choices_the_first_is_the_answer() -> None:
    body = (
        b'data: {"choices":[{"index":0,"delta":{"content":"one "}},{"index":1,"delta":{"content":"ONE "}}]}\n\n'
        b'data: {"choices":[{"index":1,"delta":{"content":"TWO"},"finish_reason":"content_filter"}]}\n\n'
        b'data: {"choices":[{"index":0,"delta":{"content":"two"},"finish_reason":"stop"}]}\n\n'
    )
    assert await answered(stream(body)) == ["one ", "two"]


async def test_of_an_answer_in_parts_the_text_counts_and_no_thought() -> None:
    body = (
        b'data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":[{"type":"text","text":"one "}]}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":"two"},"finish_reason":"stop"}]}\n\n'
    )
    assert await answered(stream(body)) == ["one ", "two"]


async def test_a_count_of_tokens_that_is_no_number_spoils_no_answer() -> None:
    body = b'data: {"choices":[{"delta":{"content":"one"},"finish_reason":"stop"}],"usage":{"prompt_tokens":"few"}}\n\n'
    assert await answered(stream(body)) == ["one", Usage()]


@pytest.mark.parametrize(
    ("status", "body", "error", "told"),
    [
        (400, b'[{"error": {"code": 400, "message": "Bad key.", "status": "X"}}]', LLMRefused, r"request: Bad key\.$"),
        (502, b"<html>\n<head><title>502 Bad Gateway</title></head>", LLMUnavailable, r"reached: 502 Bad Gateway$"),
        (503, b"<h1>Busy</h1>\n<p>later</p>", LLMUnavailable, r"<h1>Busy</h1>$"),
    ],
    ids=["by the words in Google's list", "by a page's title", "by a page's first line"],
)
async def test_an_error_is_told(status: int, body: bytes, error: type[Exception], told: str) -> None:
    raw = b"HTTP/1.1 %d Bad\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)
    with pytest.raises(error, match=told):
        await answered(raw)


@pytest.mark.parametrize("pause", [b"nan", b"inf", b"-inf", b"soon"])
async def test_a_pause_that_is_no_number_is_none(pause: bytes) -> None:
    raw = b"HTTP/1.1 429 Slow\r\nConnection: close\r\nContent-Length: 4\r\nRetry-After: %s\r\n\r\nslow" % pause
    with pytest.raises(LLMRateLimited) as caught:
        await answered(raw)
    assert caught.value.retry_after_s is None
