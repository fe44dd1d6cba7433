"""What the model's process sends: much text in few frames, and nothing that it should keep to itself."""

import math
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.streams.stapled import StapledObjectStream

from runtime.core.errors import LLMRefused
from runtime.core.json_text import plain_data
from runtime.llm.client import MAX_ANSWER_CHARS, ChatMessage, CompletionRequest, ModelProvider, Usage
from runtime.llm.frames import Frame, FrameReader, packed
from runtime.llm.worker.relay import PAUSE_S, Relay
from tests.fakes.clock import FakeClock

REQUEST = CompletionRequest((ChatMessage("user", "go"),))
KEY = "sk-of-the-provider"


class Scripted(ModelProvider):
    """A provider that gives pieces: a number between them is how many seconds pass."""

    def __init__(self, clock: FakeClock, parts: Sequence[str | Usage | float | Exception]) -> None:
        self._clock = clock
        self._parts = parts
        self.left = anyio.Event()

    async def warm_up(self) -> None:
        """There is nothing to get ready."""

    async def answer(self, _request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        try:
            for part in self._parts:
                if isinstance(part, Exception):
                    raise part
                if isinstance(part, float):
                    await self._clock.sleep_until(self._clock.monotonic() + part)
                else:
                    yield part
                await anyio.lowlevel.checkpoint()
        finally:
            self.left.set()


class Gateway:
    """The other side of the socket."""

    def __init__(self, stream: StapledObjectStream[bytes], clock: FakeClock) -> None:
        self._stream = stream
        self._frames = FrameReader(stream)
        self.clock = clock

    async def say(self, frame: Frame) -> None:
        await self._stream.send(packed(frame))

    async def hear(self) -> Frame:
        return await self._frames.receive()

    async def ask(self) -> None:
        assert await self.hear() == {"ready": True, "sees": [None], "prices": [None], "unknown": []}
        await self.say({"ask": 7, "model": 0, "request": plain_data(REQUEST)})

    async def answer(self) -> list[Frame]:
        """All frames of one answer."""
        frames = [await self.hear()]
        while "end" not in frames[-1]:
            frames.append(await self.hear())
        return frames


@asynccontextmanager
async def relaying(*parts: str | Usage | float | Exception) -> AsyncIterator[tuple[Gateway, Scripted]]:
    clock = FakeClock()
    provider = Scripted(clock, parts)
    to_relay, at_relay = anyio.create_memory_object_stream[bytes](math.inf)
    to_gateway, at_gateway = anyio.create_memory_object_stream[bytes](math.inf)
    relay = Relay([("openai/test", provider)], clock, [KEY])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(relay.serve, StapledObjectStream(to_gateway, at_relay))
        yield Gateway(StapledObjectStream(to_relay, at_gateway), clock), provider
        tasks.cancel_scope.cancel()
    for stream in (to_relay, at_relay, to_gateway, at_gateway):
        stream.close()


async def test_a_thousand_pieces_without_a_pause_are_two_frames() -> None:
    pieces = [f"{number} " for number in range(1_000)]
    async with relaying(*pieces, Usage(3, 4)) as (gateway, _):
        await gateway.ask()
        frames = await gateway.answer()
    assert len(frames) == 2
    assert "".join(frame["text"] for frame in frames) == "".join(pieces)
    assert frames[-1]["usage"]["output_tokens"] == 4


async def test_an_answer_has_at_most_one_frame_in_each_pause_and_the_last_at_once() -> None:
    async with relaying("one ", 0.004, "two ", 0.004, "three ", PAUSE_S, "four ", 0.001, "five") as (gateway, _):
        await gateway.ask()
        assert (await gateway.hear())["text"] == "one "
        await gateway.clock.advance(PAUSE_S - 0.001)
        await gateway.clock.advance(0.001)
        assert (await gateway.hear())["text"] == "two three "
        await gateway.clock.advance(PAUSE_S)
        assert await gateway.answer() == [{"id": 7, "text": "four five", "end": True}]


async def test_what_was_read_before_a_failure_comes_before_it() -> None:
    async with relaying("so far ", "so good", LLMRefused("no more")) as (gateway, _):
        await gateway.ask()
        frames = await gateway.answer()
    assert "".join(frame["text"] for frame in frames) == "so far so good"
    assert frames[-1]["error"] == {"kind": "LLMRefused", "text": "no more"}


async def test_the_key_does_not_leave_the_process_in_a_providers_words() -> None:
    async with relaying(LLMRefused(f"unknown key {KEY}, see below")) as (gateway, _):
        await gateway.ask()
        (frame,) = await gateway.answer()
    assert frame["error"]["text"] == "unknown key ********, see below"


async def test_a_server_that_sends_nonsense_fails_its_own_answer_only() -> None:
    async with relaying("so far", TypeError("a list is no text")) as (gateway, _):
        await gateway.ask()
        for _ in range(2):
            frames = await gateway.answer()
            assert frames[-1]["error"]["kind"] == "LLMUnavailable"
            assert "TypeError: a list is no text" in frames[-1]["error"]["text"]
            await gateway.say({"ask": 7, "model": 0, "request": plain_data(REQUEST)})


@pytest.mark.parametrize("part", [[{"type": "text", "text": "one"}], {"text": "one"}, b"one", 1])
async def test_a_part_that_is_no_text_fails_its_own_answer_only(part: object) -> None:
    async with relaying("so far", part) as (gateway, _):  # type: ignore[arg-type]
        await gateway.ask()
        for _ in range(2):
            frames = await gateway.answer()
            assert "".join(frame["text"] for frame in frames) == "so far"
            assert frames[-1]["error"]["kind"] == "LLMUnavailable"
            await gateway.say({"ask": 7, "model": 0, "request": plain_data(REQUEST)})


async def test_a_character_whose_halves_come_one_after_the_other_is_sent_whole() -> None:
    async with relaying("a\ud83d", 2 * PAUSE_S, "\ude00b\ud83d") as (gateway, _):
        await gateway.ask()
        assert (await gateway.hear())["text"] == "a"
        await gateway.clock.advance(2 * PAUSE_S)
        rest = "".join(frame["text"] for frame in await gateway.answer())
    assert rest == "\N{GRINNING FACE}b\ud83d"


async def test_an_endless_answer_is_left_off_and_refused() -> None:
    async with relaying(*["0123456789" * 1_000] * 50) as (gateway, provider):
        await gateway.ask()
        frames = await gateway.answer()
        await provider.left.wait()
    assert sum(len(frame["text"]) for frame in frames) <= MAX_ANSWER_CHARS + 10_000
    assert frames[-1]["error"]["kind"] == "LLMRefused"
    assert "200000 characters" in frames[-1]["error"]["text"]


async def test_an_answer_that_is_not_wanted_is_left() -> None:
    async with relaying("one ", 3600.0, "two") as (gateway, provider):
        await gateway.ask()
        assert (await gateway.hear())["text"] == "one "
        await gateway.say({"stop": 7})
        await provider.left.wait()


async def test_everything_is_left_when_the_gateway_is_gone() -> None:
    clock = FakeClock()
    provider = Scripted(clock, ["one ", 3600.0])
    to_relay, at_relay = anyio.create_memory_object_stream[bytes](math.inf)
    to_gateway, at_gateway = anyio.create_memory_object_stream[bytes](math.inf)
    async with anyio.create_task_group() as tasks:
        relay = Relay([("openai/test", provider)], clock)
        tasks.start_soon(relay.serve, StapledObjectStream(to_gateway, at_relay))
        gateway = Gateway(StapledObjectStream(to_relay, at_gateway), clock)
        await gateway.ask()
        await gateway.hear()
        to_relay.close()
        await provider.left.wait()
    for stream in (at_relay, to_gateway, at_gateway):
        stream.close()


async def test_a_count_that_no_answer_has_is_not_passed_on() -> None:
    counted = Usage(10**400, -3, 7, cost_usd=math.inf, model="test")
    async with relaying("Hello", counted) as (gateway, _):
        await gateway.ask()
        [*_, last] = await gateway.answer()
    assert last["usage"] == plain_data(Usage(0, 0, 7, model="test"))
