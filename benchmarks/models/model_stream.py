"""The cost of a model's text on its way into the gateway: `python -m benchmarks.models.model_stream`.

A server in a process of its own streams in OpenAI's protocol, each piece a chunk and an event of its own, as providers
send them. It is read by the model's process, and in one part by litellm in ours, as a program that uses it would.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager

import anyio
import httpx

from benchmarks.table import Row, show
from gateway.settings.tree import model_environment
from runtime.core.clock import SystemClock
from runtime.llm.answering import AnsweringClient
from runtime.llm.client import ChatMessage, CompletionRequest, ModelOptions, ModelProvider
from runtime.llm.process import ModelProcess
from runtime.llm.worker.library import LiteLLMProvider
from runtime.llm.worker.openai_server import OpenAIServerReader

STREAMS, SECONDS, PIECES_PER_S = 20, 5, 1_000
QUICK_PIECES = 5_000
TICK_S = 0.001
REQUEST = CompletionRequest((ChatMessage("user", "go"),))

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_END = b"data: [DONE]\n\n"


def _event(number: int) -> bytes:
    """One piece of five characters, no two alike in a row: litellm takes a hundred equal ones for a broken model."""
    text = f"{number:04d}" + ("\n" if number % 20 == 19 else " ")
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "test", "choices": [choice]}
    return _chunk(b"data: " + json.dumps(chunk).encode() + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def serve(pieces: int, pieces_per_s: float) -> None:
    """Stream `pieces` to everybody who asks, at that rate each; 0: as fast as they are taken."""
    events = [_event(number) for number in range(10_000)]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        writer.write(_HEAD)
        begun, sent = time.perf_counter(), 0
        while sent < pieces:
            due = pieces if not pieces_per_s else min(pieces, int((time.perf_counter() - begun) * pieces_per_s) + 1)
            while sent < due:
                writer.write(events[sent % 10_000])
                sent += 1
                if sent % 50 == 0:
                    await writer.drain()
            await asyncio.sleep(TICK_S if pieces_per_s else 0)
        writer.write(_chunk(_END) + b"0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def serving(pieces: int, pieces_per_s: float = 0) -> Iterator[str]:
    """A server of its own; its base URL."""
    command = [sys.executable, "-m", "benchmarks.models.model_stream", "--serve", f"{pieces}", f"{pieces_per_s}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


async def lateness(ends: anyio.Event) -> list[float]:
    """By how many milliseconds a loop comes back too late, each millisecond until the end."""
    late = []
    while not ends.is_set():
        begun = time.perf_counter()
        await asyncio.sleep(TICK_S)
        late.append((time.perf_counter() - begun - TICK_S) * 1_000)
    return late


async def chars_of(client: AnsweringClient) -> int:
    """Read one answer; its characters."""
    chars = 0
    async with client.stream(REQUEST) as completion:
        async for piece in completion:
            chars += len(piece)
    return chars


class Measured:
    """What reading some streams at once came to."""

    def __init__(self, pieces: int, seconds: float, cpu_s: float, late_ms: list[float]) -> None:
        self.pieces_per_s = pieces / seconds
        self.cpu_us = cpu_s / pieces * 1e6
        self.late_ms = max(late_ms)


async def reading(url: str, name: str, streams: int) -> Measured:
    """Read so many streams through the model's process."""
    options = ModelOptions(name, base_url=url)
    async with ModelProcess([options], model_environment(), SystemClock()) as process:
        await process.warm_up()
        client = AnsweringClient(process.provider(), options, SystemClock())
        ends, late, chars = anyio.Event(), list[float](), list[int]()

        async def tick() -> None:
            late.extend(await lateness(ends))

        async def read() -> None:
            chars.append(await chars_of(client))

        async with anyio.create_task_group() as ticking:
            ticking.start_soon(tick)
            begun, cpu = time.perf_counter(), time.process_time()
            async with anyio.create_task_group() as tasks:
                for _ in range(streams):
                    tasks.start_soon(read)
            seconds, used = time.perf_counter() - begun, time.process_time() - cpu
            ends.set()
        return Measured(sum(chars) // 5, seconds, used, late)


async def cpu_us(read: Callable[[], Awaitable[int]]) -> float:
    """CPU of this process for a piece, the second time, when everything is imported."""
    await read()
    cpu = time.process_time()
    pieces = await read()
    return (time.process_time() - cpu) / pieces * 1e6


async def _provider_us(provider: ModelProvider) -> float:
    async def read() -> int:
        async with aclosing(provider.answer(REQUEST)) as parts:
            return sum([bool(part) async for part in parts if isinstance(part, str)])

    return await cpu_us(read)


async def _httpx_us(url: str) -> float:
    async with httpx.AsyncClient(trust_env=False) as client:

        async def read() -> int:
            pieces = 0
            async with client.stream("POST", f"{url}/chat/completions", json={}) as response:
                async for line in response.aiter_lines():
                    pieces += line.startswith("data: {") and bool(json.loads(line[6:])["choices"][0]["delta"])
            return pieces

        return await cpu_us(read)


async def _bare_us(url: str) -> float:
    """The same bytes read from a bare socket, and the JSON of each event."""
    port = int(url.rpartition(":")[2].partition("/")[0])

    async def read() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
        pieces, rest = 0, b""
        while data := await reader.read(65_536):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.startswith(b"data: {"):
                    pieces += bool(json.loads(line[6:])["choices"][0]["delta"]["content"])
        writer.close()
        return pieces

    return await cpu_us(read)


async def readers(url: str) -> list[Row]:
    """What a piece costs whoever reads the provider's stream."""
    options = ModelOptions("openai/test", base_url=url)
    bare = await _bare_us(url)
    ours, litellm = OpenAIServerReader(options), LiteLLMProvider(options)
    rows = [
        Row("a piece, by our reader", await _provider_us(ours), "µs", bare, "bare socket and JSON"),
        Row("a piece, by httpx", await _httpx_us(url), "µs", bare, "bare socket and JSON"),
        Row("a piece, by litellm", await _provider_us(litellm), "µs", bare, "bare socket and JSON"),
    ]
    await ours.aclose()
    await litellm.aclose()
    return rows


def idle_late_ms() -> subprocess.Popen[str]:
    """A process that does nothing else, beside what is measured: the machine's own lateness."""
    code = (
        "import asyncio, anyio\n"
        "from benchmarks.models.model_stream import SECONDS, lateness\n"
        "async def main():\n"
        " ends = anyio.Event()\n"
        " asyncio.get_running_loop().call_later(SECONDS, ends.set)\n"
        " print(max(await lateness(ends)))\n"
        "asyncio.run(main())"
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def memory_mib(code: str) -> float:
    """The resident memory of a process that has run some code."""
    code += "; from pathlib import Path; print(Path('/proc/self/status').read_text())"
    environment = {**os.environ, **model_environment()}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"VmRSS:\s*(\d+) kB", done.stdout)
    assert found is not None
    return int(found[1]) / 1024


def run() -> list[Row]:
    """All figures."""
    os.environ.update(model_environment())  # litellm in this process asks nobody for prices either
    with serving(SECONDS * PIECES_PER_S, PIECES_PER_S) as url, idle_late_ms() as idle:
        paced = asyncio.run(reading(url, "openai/test", STREAMS))
        assert idle.stdout is not None
        idle_ms = float(idle.stdout.read())
    with serving(QUICK_PIECES) as url:
        quick = asyncio.run(reading(url, "openai/test", STREAMS))
        library = asyncio.run(reading(url, "custom_openai/test", 1))
        rows = asyncio.run(readers(url))
    name = f"{STREAMS} streams at {PIECES_PER_S} pieces/s: "
    return [
        Row(f"{name}the loop is late by at most", paced.late_ms, "ms", idle_ms, "an idle process", "< 50 ms"),
        Row(f"{name}a piece in the gateway", paced.cpu_us, "µs"),
        Row(f"{name}taken in all", paced.pieces_per_s, "/s", STREAMS * PIECES_PER_S, "sent"),
        Row("pieces through the model's process", quick.pieces_per_s, "/s", target="> 20,000/s"),
        Row("pieces through it with litellm", library.pieces_per_s, "/s", quick.pieces_per_s, "our reader"),
        Row("a piece in the gateway with litellm there", library.cpu_us, "µs"),
        *rows,
        Row("memory of the gateway's imports", memory_mib("import gateway.assembly.app, runtime.llm.process"), "MiB"),
        Row("the same with litellm", memory_mib("import gateway.assembly.app, litellm"), "MiB"),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=2, metavar=("PIECES", "RATE"))
    asked = parser.parse_args()
    if asked.serve:
        asyncio.run(serve(int(asked.serve[0]), float(asked.serve[1])))
    else:
        print(show(run()))
