"""The model door: who may ask which model, what counts against a budget, and the form of what comes back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
import openai
import pytest
from starlette.types import Message

from gateway.clients.admission import Admission
from gateway.clients.model.budget import Budget, Budgets
from gateway.clients.model.door import AT_ONCE, ModelDoor
from gateway.clients.scopes import scopes_from
from runtime.bus import Bus
from runtime.core.errors import ContextTooLong, LLMError, LLMRateLimited, LLMUnavailable
from runtime.events.service import ModelServed
from runtime.llm.client import ChatMessage, CompletionRequest, LLMClient, Usage
from tests.fakes.clock import FakeClock
from tests.fakes.memory.counters import MemoryCounters

pytestmark = pytest.mark.anyio

TOKENS = {"ci": "the-token-of-ci", "other": "the-token-of-other"}
UNBOUNDED = Budget()
USAGE = Usage(input_tokens=7, output_tokens=3, cost_usd=0.25)
HELLO: dict[str, Any] = {"model": "default", "messages": [{"role": "user", "content": "Say hello."}]}


@dataclass
class Voice:
    """A model that answers in pieces; `held` waits after the first, `fails` raises after so many."""

    pieces: Sequence[str] = ("Hel", "lo", "!")
    usage: Usage = field(default_factory=Usage)
    held: bool = False
    fails: tuple[int, LLMError] | None = None
    asked: list[CompletionRequest] = field(default_factory=list)
    left: int = 0
    model: str = "openai/test"

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Any]:
        self.asked.append(request)
        try:
            yield self
        finally:
            self.left += 1

    async def __aiter__(self) -> AsyncIterator[str]:
        self.usage = Usage()
        for number, piece in enumerate(self.pieces):
            if self.fails is not None and self.fails[0] == number:
                raise self.fails[1]
            if self.held and number == 1:
                await anyio.sleep_forever()
            yield piece
        self.usage = USAGE


@dataclass
class Stand:
    """A door with a model, and a client that has its scope."""

    voice: Voice
    clock: FakeClock
    served: list[ModelServed]
    app: Any

    @asynccontextmanager
    async def http(self, client: str = "ci") -> AsyncIterator[httpx.AsyncClient]:
        headers = {"authorization": f"Bearer {TOKENS.get(client, client)}"}
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://door", headers=headers) as http:
            yield http

    async def ask(self, client: str = "ci", **more: Any) -> httpx.Response:
        async with self.http(client) as http:
            return await http.post("/chat/completions", json={**HELLO, **more})


def stand(voice: Voice | None = None, budget: Budget = UNBOUNDED) -> Stand:
    clock, made = FakeClock(), voice or Voice()
    bus, served = Bus(clock), list[ModelServed]()
    bus.hear(ModelServed, lambda what, _: served.append(what))
    scopes = {"ci": scopes_from(["model:default", "model:fast*"]), "other": scopes_from(["content"])}
    models: dict[str, LLMClient] = {"default": made, "fast": made, "secret": made}
    budgets = Budgets({"ci": budget, "other": budget}, MemoryCounters(clock), clock)
    door = ModelDoor(Admission(TOKENS, scopes, clock), models, budgets, bus, clock)
    return Stand(made, clock, served, door.app())


async def test_the_official_client_gets_an_answer_whole_and_in_pieces() -> None:
    there = stand()
    async with there.http() as http:
        sdk = openai.AsyncOpenAI(api_key=TOKENS["ci"], base_url="http://door", http_client=http)
        whole = await sdk.chat.completions.create(**HELLO)
        assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == ("Hello!", "stop")
        assert whole.usage is not None
        assert (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens) == (7, 3, 10)
        stream = await sdk.chat.completions.create(**HELLO, stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Hello!"
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.total_tokens == 10
        assert [model.id async for model in await sdk.models.list()] == ["default", "fast"]


async def test_nothing_between_the_door_and_the_client_keeps_pieces_back() -> None:
    answer = await stand().ask(stream=True)
    assert answer.headers["x-accel-buffering"] == "no"


async def test_what_is_asked_reaches_the_model_as_it_is() -> None:
    there = stand()
    schema = {"type": "object"}
    answer = await there.ask(
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        ],
        stop="END",
        temperature=0.5,
        response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
        n=1,
        user="somebody",
    )
    assert answer.status_code == 200, answer.text
    messages = (ChatMessage("system", "Be brief."), ChatMessage("user", "ab"))
    assert there.voice.asked == [
        CompletionRequest(messages, purpose="client", model="default", stop=("END",), temperature=0.5, schema=schema)
    ]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"tools": [{"type": "function"}]}, "The parameter tools is not supported here; leave it out."),
        ({"max_tokens": 10}, "The parameter max_tokens is not supported here; leave it out."),
        ({"n": 2}, "The parameter n is not supported here; leave it out."),
        ({"model": ""}, "model is the name of a model, such as default."),
        ({"messages": []}, "messages is a list of 1 to 10,000 messages."),
        ({"messages": [{"role": "tool", "content": "x"}]}, "A message has a role, one of system, developer, user"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "The content of a message is text"),
        ({"stop": [1]}, "stop is a text, or a list of at most 4."),
        ({"temperature": True}, "temperature is a number from 0 to 2."),
        ({"response_format": {"type": "json_object"}}, "response_format is text, or json_schema with a schema."),
        ({"stream_options": 1}, "stream_options is an object."),
    ],
)
async def test_what_cannot_be_honoured_is_refused_by_its_name(more: dict[str, Any], says: str) -> None:
    there = stand()
    answer = await there.ask(**more)
    assert (answer.status_code, answer.json()["error"]["message"][: len(says)]) == (400, says)
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert there.voice.asked == []


@pytest.mark.parametrize(
    ("client", "model", "status"),
    [("ci", "secret", 404), ("ci", "nothing", 404), ("other", "default", 404), ("nobody", "default", 401)],
)
async def test_a_model_without_a_scope_is_not_there(client: str, model: str, status: int) -> None:
    there = stand()
    answer = await there.ask(client, model=model)
    assert answer.status_code == status
    assert there.voice.asked == []


@pytest.mark.parametrize("budget", [Budget(tokens=20), Budget(usd=0.5)])
async def test_a_client_that_has_used_its_budget_asks_nothing_more_until_the_next_day(budget: Budget) -> None:
    there = stand(budget=budget)
    assert [(await there.ask()).status_code for _ in range(3)] == [200, 200, 429]
    assert len(there.voice.asked) == 2
    assert (await there.ask("other", model="default")).status_code == 404
    await there.clock.advance(24 * 3600)
    assert (await there.ask()).status_code == 200
    assert there.served[0] == ModelServed("ci", "openai/test", 0.0, 7, 3, 0.25)


async def test_who_leaves_in_the_middle_is_charged_and_the_model_is_asked_no_further() -> None:
    there = stand(Voice(pieces=("word " * 30, "more"), held=True), Budget(tokens=50))
    sent = await _left_after_the_first_words(there)
    assert b"word" in sent
    assert there.voice.left == 1
    assert (there.served[0].tokens_in, there.served[0].tokens_out) == (4, 50)
    assert (await there.ask()).status_code == 429


async def test_a_client_gets_only_so_many_answers_at_once() -> None:
    there = stand(Voice(held=True))
    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(there.ask)
        while len(there.voice.asked) < AT_ONCE:
            await anyio.lowlevel.checkpoint()
        refused = await there.ask()
        tasks.cancel_scope.cancel()
    assert (refused.status_code, len(there.voice.asked)) == (429, AT_ONCE)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LLMRateLimited("wait", retry_after_s=2.5), 429),
        (ContextTooLong("too long"), 400),
        (LLMUnavailable("away"), 503),
    ],
)
async def test_a_model_that_fails_before_its_first_word_gives_a_status(
    error: LLMError, status: int, stream: bool
) -> None:
    answer = await stand(Voice(fails=(0, error))).ask(stream=stream)
    assert (answer.status_code, answer.json()["error"]["message"]) == (status, str(error))
    assert answer.headers.get("retry-after") == ("3" if status == 429 else None)


async def test_a_model_that_fails_later_ends_the_stream_with_an_error_and_not_as_if_it_were_done() -> None:
    answer = await stand(Voice(fails=(2, LLMUnavailable("it broke off")))).ask(stream=True)
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert json.loads(lines[-1])["error"]["message"] == "it broke off"
    assert "[DONE]" not in answer.text


async def _left_after_the_first_words(there: Stand) -> bytes:
    """What a client has read that closes the connection when it has seen some text."""
    body = json.dumps({**HELLO, "stream": True}).encode()
    read, gone = [b""], anyio.Event()
    asked = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if asked:
            return asked.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        read[0] += message.get("body", b"")
        if b"word" in read[0]:
            gone.set()

    headers = [(b"authorization", f"Bearer {TOKENS['ci']}".encode())]
    scope = {"type": "http", "method": "POST", "path": "/chat/completions", "headers": headers, "query_string": b""}
    with anyio.fail_after(10):
        await there.app(scope, receive, send)
    return read[0]
