"""The gateway's requests, answered in this process: each answer's text is sent in frames, some pieces in each.

The first piece goes at once. After each frame of an answer the next one waits for PAUSE_S, and takes what has come.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import aclosing, suppress
from typing import Any

import anyio
from anyio.abc import AnyByteStream, ObjectReceiveStream, TaskGroup
from anyio.streams.memory import MemoryObjectSendStream
from msgspec import convert
from msgspec.structs import replace

from runtime.core.clock import Clock
from runtime.core.errors import LLMError, LLMRefused, LLMUnavailable
from runtime.core.json_text import plain_data
from runtime.llm import client as port
from runtime.llm.frames import Frame, FrameReader, error_data, packed

PAUSE_S = 0.02
MAX_COUNTED = 1_000_000_000
"""No answer has more tokens, or costs more dollars."""
MASK = "********"
_SHOWN_CHARS = 300
_MAX_WAITING_FRAMES = 1_000
_TORN = re.compile(r"[\ud800-\udbff]\Z")
"""The first half of a character at the end of a text. Servers that count in UTF-16 cut anywhere."""

_GONE = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError)


class Relay:
    """Answers the requests on a stream, until the other side has gone."""

    def __init__(
        self, models: Sequence[tuple[str, port.ModelProvider]], clock: Clock, secrets: Collection[str] = ()
    ) -> None:
        """`models` are names and providers, in the order in which requests count them. `secrets` are masked in the
        texts of failures.
        """
        self._models = models
        self._secrets = sorted(secrets, key=len, reverse=True)
        self._clock = clock
        self._outgoing: MemoryObjectSendStream[Frame]
        self._answering: dict[int, anyio.CancelScope] = {}

    async def serve(self, stream: AnyByteStream) -> None:
        """Serve until the other side has gone; unfinished answers are dropped."""
        self._outgoing, waiting = anyio.create_memory_object_stream[Frame](_MAX_WAITING_FRAMES)
        frames = FrameReader(stream)
        with suppress(*_GONE):
            async with self._outgoing, waiting, anyio.create_task_group() as tasks:
                tasks.start_soon(_write, waiting, stream, tasks.cancel_scope)
                tasks.start_soon(self._warm_up)
                with suppress(*_GONE):
                    while True:
                        frame = await frames.receive()
                        if "ask" in frame:
                            self._begin(frame, tasks)
                        elif (scope := self._answering.get(frame["stop"])) is not None:
                            scope.cancel()
                tasks.cancel_scope.cancel()

    async def _warm_up(self) -> None:
        sees, prices = [], []
        for _, provider in self._models:
            await provider.warm_up()
            sees.append(await provider.sees())
            known = provider.prices()
            prices.append(None if known is None else plain_data(known))
        unknown = [name for name, provider in self._models if not provider.is_known()]
        await self._outgoing.send({"ready": True, "sees": sees, "prices": prices, "unknown": unknown})

    def _begin(self, frame: Frame, tasks: TaskGroup) -> None:
        number, scope = frame["ask"], anyio.CancelScope()
        self._answering[number] = scope
        pending, request = _Pending(number, frame["model"]), convert(frame["request"], port.CompletionRequest)
        tasks.start_soon(self._answer, pending, request, scope)

    async def _answer(self, pending: _Pending, request: port.CompletionRequest, scope: anyio.CancelScope) -> None:
        """Answer one request, unless it is given up."""
        try:
            with scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._deliver, pending)
                    failure = await self._read(request, pending)
                    tasks.cancel_scope.cancel()
                await self._outgoing.send({**pending.taken(whole=True), "end": True, **failure})
        finally:
            del self._answering[pending.number]

    async def _read(self, request: port.CompletionRequest, pending: _Pending) -> dict[str, Any]:
        model, provider = self._models[pending.model]
        longest = port.MAX_SPEECH_CHARS if request.purpose == port.SPEAK else port.MAX_ANSWER_CHARS
        try:
            async with aclosing(provider.answer(request)) as parts:
                async for part in parts:
                    pending.add(part)
                    if pending.chars > longest:
                        raise LLMRefused(
                            f"The answer of {model} is longer than {longest} characters and was left off there."
                        )
        except LLMError as error:
            return {"error": self._without_secrets(error_data(error))}
        except Exception as error:  # noqa: BLE001 - a server may send anything; other answers go on
            what = f"{type(error).__name__}: {error}"[:_SHOWN_CHARS]
            failure = LLMUnavailable(f"What the model {model} sent cannot be read ({what}).")
            return {"error": self._without_secrets(error_data(failure))}
        return {}

    def _without_secrets(self, data: dict[str, Any]) -> dict[str, Any]:
        """A failure without keys in its text: providers repeat keys that they do not know."""
        text: str = data["text"]
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return {**data, "text": text}

    async def _deliver(self, pending: _Pending) -> None:
        while True:
            await pending.changed.wait()
            with anyio.CancelScope(shield=True):  # what was taken must be sent
                await self._outgoing.send(pending.taken())
            await self._clock.sleep_until(self._clock.monotonic() + PAUSE_S)


class _Pending:
    """Text of an answer of one of the models that was read and not yet sent."""

    def __init__(self, number: int, model: int) -> None:
        self.number = number
        self.model = model
        self.changed = anyio.Event()
        self.chars = 0
        self._texts: list[str] = []
        self._usage: port.Usage | None = None

    def add(self, part: str | port.Usage) -> None:
        """Add a piece, or the newest usage, which waits for the end. Raises TypeError for anything else."""
        if isinstance(part, port.Usage):
            self._usage = _within_bounds(part)
        elif not isinstance(part, str):
            raise TypeError(f"{type(part).__name__} for a text")
        elif part:
            self.chars += len(part)
            self._texts.append(part)
            self.changed.set()

    def taken(self, *, whole: bool = False) -> dict[str, Any]:
        """All pending text as a frame. Half of a character waits for its other half, unless the text is `whole`."""
        text = "".join(self._texts)
        torn = "" if whole or not _TORN.search(text) else text[-1]
        frame: dict[str, Any] = {"id": self.number, "text": text.removesuffix(torn)}
        if self._usage is not None:
            frame["usage"] = plain_data(self._usage)
        self._texts[:] = [torn] if torn else []
        self.changed = anyio.Event()
        return frame


async def _write(frames: ObjectReceiveStream[Frame], stream: AnyByteStream, everything: anyio.CancelScope) -> None:
    with suppress(*_GONE):
        async for frame in frames:
            await stream.send(packed(frame))
    everything.cancel()


def _within_bounds(usage: port.Usage) -> port.Usage:
    """The usage without numbers that no answer has: a server may count whatever it likes."""
    tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
    given, made, cached = (count if 0 <= count <= MAX_COUNTED else 0 for count in tokens)
    cost = usage.cost_usd
    if cost is not None and not 0 <= cost <= MAX_COUNTED:
        cost = None
    return replace(usage, input_tokens=given, output_tokens=made, cached_tokens=cached, cost_usd=cost)
