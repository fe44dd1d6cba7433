"""The model's process, as the gateway sees it.

    gateway ──socket──> model's process ──https──> provider
            requests in, text out; at its end the process ends

One process a node asks the provider, and alone holds its key: the gateway keeps files without names that only the
process reads. What a library does with the answers costs the gateway nothing but a frame now and then.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO, Self

import anyio
from anyio.abc import ByteReceiveStream, Process, UNIXSocketStream
from anyio.lowlevel import checkpoint
from anyio.streams.memory import MemoryObjectReceiveStream

from runtime.core.background import WakeSignal, beside
from runtime.core.clock import Clock
from runtime.core.errors import LLMError, LLMProcessLost
from runtime.core.json_text import plain_data
from runtime.events.happening import Tell, unheard
from runtime.events.service import ModelLost, ModelReady, ModelUnknown
from runtime.llm.client import CompletionRequest, ModelOptions, ModelProvider, TokenPrices, Usage
from runtime.llm.frames import Frame, FrameReader, error_from, packed, packed_request

_ROOT = Path(__file__).parents[2]
_START = "import sys; sys.path.insert(0, sys.argv[1]); from runtime.llm.worker.main import main; main()"
"""The command of the process. `-P` excludes the working directory from imports: it is the user's, with unknown
content.
"""

MAX_PIECE_CHARS = 4_000
"""The longest piece handled at once. A longer one would keep all other answers waiting."""

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 5.0
_LONG_LIFE_S = 60.0
_END_LIMIT_S = 1.0
_MAX_WAITING_FRAMES = 10_000
_SHOWN_CHARS = 300
_GONE = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError)


class ModelProcess(anyio.AsyncContextManagerMixin):
    """Providers whose requests are made by one process of their own, as long as the block lasts.

    The process is started by `warm_up` or by the first request. One that dies is started again: what it was answering
    fails with LLMUnavailable, so that it is asked again, and goes on, as after a connection that broke off.
    """

    def __init__(
        self,
        models: Sequence[ModelOptions],
        environment: Mapping[str, str],
        clock: Clock,
        on_event: Tell = unheard,
        *,
        keys: Mapping[str, int] | None = None,
    ) -> None:
        """`environment` is everything that the process sees of it, besides the variables whose values are in the open
        files `keys`.
        """
        self._keys = dict(keys or {})
        self._options = _unnamed_file(models)
        self._model = ", ".join(options.name for options in models)
        self._environment = dict(environment)
        self._clock = clock
        self._on_event = on_event
        self._wanted = anyio.Event()
        self._link: _Link | None = None
        self._linking = WakeSignal()

    @property
    def process_id(self) -> int | None:
        return None if self._link is None else self._link.process.pid

    async def warm_up(self) -> _Link:
        """Return when the process has imported what it needs."""
        while True:
            link = await self._linked()
            await link.settled.wait()
            if link.is_ready:
                return link

    def provider(self, number: int = 0) -> ModelProvider:
        """The provider of one of the models, counted from 0."""
        return _OneModel(self, number)

    async def _linked(self) -> _Link:
        self._wanted.set()
        while self._link is None or self._link.is_over:
            await self._linking.wait()
        return self._link

    @asynccontextmanager
    async def __asynccontextmanager__(self) -> AsyncGenerator[Self]:
        try:
            async with beside() as tasks:
                tasks.start_soon(self._supervise)
                yield self
        finally:
            self._options.close()

    async def _supervise(self) -> None:
        await self._wanted.wait()
        pause_s = _FIRST_PAUSE_S
        while True:
            begun_s = self._clock.monotonic()
            why = await self._live(begun_s)
            self._on_event(ModelLost(self._model, why))
            lived_s = self._clock.monotonic() - begun_s
            pause_s = _FIRST_PAUSE_S if lived_s > _LONG_LIFE_S else min(2 * pause_s, _LONGEST_PAUSE_S)
            await self._clock.sleep_until(self._clock.monotonic() + pause_s)

    async def _live(self, begun_s: float) -> str:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await self._start(theirs)
        except OSError as error:
            ours.close()
            return f"it cannot be started: {error.strerror or error}"
        link = self._link = _Link(process, await UNIXSocketStream.from_socket(ours))
        self._linking.send()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(link.read_errors)
                tasks.start_soon(link.write)
                tasks.start_soon(self._tell_ready, link, begun_s)
                await link.read()
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                why = await link.end()
        return why

    async def _start(self, theirs: socket.socket) -> Process:
        options = self._options.fileno()
        command = [
            sys.executable,
            "-P",
            "-c",
            _START,
            str(_ROOT),
            str(options),
            str(os.getpid()),
            json.dumps(self._keys),
        ]
        return await anyio.open_process(
            command,
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,
            pass_fds=[options, *self._keys.values()],
        )

    async def _tell_ready(self, link: _Link, begun_s: float) -> None:
        await link.settled.wait()
        if link.is_ready:
            self._on_event(ModelReady(self._model, self._clock.monotonic() - begun_s))
            for model in link.unknown:
                self._on_event(ModelUnknown(model))


class _OneModel(ModelProvider):
    def __init__(self, process: ModelProcess, number: int) -> None:
        self._process = process
        self._number = number

    async def answer(self, request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        link = await self._process._linked()
        async with aclosing(link.ask(self._number, request)) as parts:
            async for part in parts:
                yield part

    async def warm_up(self) -> None:
        await self._process.warm_up()

    async def sees(self) -> bool | None:
        return (await self._process.warm_up()).sees[self._number]

    def prices(self) -> TokenPrices | None:
        link = self._process._link
        return link.prices[self._number] if link is not None and link.is_ready else None


class _Link:
    """One run of the process, with the answers in progress."""

    def __init__(self, process: Process, stream: UNIXSocketStream) -> None:
        self.process = process
        self.settled = anyio.Event()
        """Set when the process is ready or has ended."""
        self.is_ready = False
        self.sees: Sequence[bool | None] = ()
        """Whether each model takes pictures; None where its provider's data do not say."""
        self.prices: Sequence[TokenPrices | None] = ()
        self.unknown: Sequence[str] = ()
        """The models whose names say no provider."""
        self.is_over = False
        self._stream = stream
        self._numbers = count()
        self._answers: dict[int, _Arriving] = {}
        self._outgoing, self._waiting = anyio.create_memory_object_stream[bytes](_MAX_WAITING_FRAMES)
        self._last_words = ""

    async def ask(self, model: int, request: CompletionRequest) -> AsyncGenerator[str | Usage, None]:
        """The parts of an answer of one of the models. Leaving the iteration also stops the process's request."""
        number, answer = next(self._numbers), _Arriving()
        frame = packed_request(number, model, request)
        self._answers[number] = answer
        try:
            with suppress(*_GONE):  # then the answer fails
                await self._outgoing.send(frame)
            async with aclosing(answer.parts()) as parts:
                async for part in parts:
                    yield part
        finally:
            del self._answers[number]
            if not (answer.ended or self.is_over):
                self._stop(number)

    def _stop(self, number: int) -> None:
        try:
            self._outgoing.send_nowait(packed({"stop": number}))
        except anyio.WouldBlock:  # it has taken nothing for ten thousand frames
            self.process.kill()

    async def read(self) -> None:
        frames = FrameReader(self._stream)
        with suppress(*_GONE):
            while True:
                frame = await frames.receive()
                if "ready" in frame:
                    self.is_ready, self.sees, self.unknown = True, frame["sees"], frame["unknown"]
                    self.prices = [one and TokenPrices(**one) for one in frame["prices"]]
                    self.settled.set()
                elif (answer := self._answers.get(frame["id"])) is not None:
                    answer.take(frame)

    async def write(self) -> None:
        waiting: MemoryObjectReceiveStream[bytes] = self._waiting
        with suppress(*_GONE):
            async for data in waiting:
                await self._stream.send(data)

    async def read_errors(self) -> None:
        """Keep the last line of its standard error, because a traceback ends with the error."""
        assert self.process.stderr is not None
        async for line in _lines(self.process.stderr):
            self._last_words = line

    async def end(self) -> str:
        await self._stream.aclose()
        with anyio.move_on_after(_END_LIMIT_S):
            await self.process.wait()
        if self.process.returncode is None:
            self.process.kill()
        status = await self.process.wait()
        with anyio.move_on_after(_END_LIMIT_S):
            await self.read_errors()
        await self.process.aclose()
        why = f"signal {-status}" if status < 0 else f"exit code {status}"
        why += f": {self._last_words}" if self._last_words else ""
        self.is_over = True
        self.settled.set()
        for answer in self._answers.values():
            answer.fail(LLMProcessLost(f"The model's process has ended ({why}) and is started again."))
        self._outgoing.close()
        self._waiting.close()
        return why


class _Arriving:
    """An answer that is arriving. All of it may wait here, since the process limits it to MAX_ANSWER_CHARS."""

    def __init__(self) -> None:
        self.ended = False
        self._texts: list[str] = []
        self._usage: Usage | None = None
        self._failure: LLMError | None = None
        self._changed = anyio.Event()

    def take(self, frame: Frame) -> None:
        if frame["text"]:
            self._texts.append(frame["text"])
        if "usage" in frame:
            self._usage = Usage(**frame["usage"])
        if "error" in frame:
            self._failure = error_from(frame["error"])
        self.ended = self.ended or "end" in frame
        self._changed.set()

    def fail(self, error: LLMError) -> None:
        if not self.ended:
            self.ended, self._failure = True, error
        self._changed.set()

    async def parts(self) -> AsyncGenerator[str | Usage, None]:
        """All parts. Text that arrived meanwhile comes as one piece, or as several if others' work came in between."""
        told: Usage | None = None
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            ended = self.ended
            text = "".join(self._texts)
            self._texts.clear()
            for start in range(0, len(text), MAX_PIECE_CHARS):
                yield text[start : start + MAX_PIECE_CHARS]
                await checkpoint()
            if self._usage is not told and self._usage is not None:
                told = self._usage
                yield told
            if ended:
                break
        if self._failure is not None:
            raise self._failure


def _unnamed_file(models: Sequence[ModelOptions]) -> IO[bytes]:
    """A file that holds the options with the keys and has no name by which it could be opened."""
    file: IO[bytes]
    if sys.platform == "linux":
        file = os.fdopen(os.memfd_create("model"), "wb")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - ModelProcess closes it
    file.write(json.dumps([plain_data(options) for options in models]).encode())
    file.flush()
    return file


async def _lines(stream: ByteReceiveStream) -> AsyncIterator[str]:
    rest = b""
    with suppress(*_GONE):
        async for data in stream:
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[-_SHOWN_CHARS:]
            for line in lines:
                if text := line.decode(errors="replace").strip():
                    yield text[:_SHOWN_CHARS]
