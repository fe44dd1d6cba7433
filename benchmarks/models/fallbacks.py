"""The time until the next model of a chain is asked: `python -m benchmarks.models.fallbacks`.

A page of a whole gateway reads one answer. Its chain has five models at servers of their own: two of them die in the
middle of their words, two answer 503, and the last one brings the answer to its end. Measured is the time from each
failure until the next server has the request. The floor is the same request to such a server, by httpx alone.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx

from benchmarks.table import Row, show
from tests.e2e.gateway_process import ROOT, Room, gateway
from tests.fakes.models.openai_server import OpenAIServer, Reply

DYING = (0, 3)
BUSY = (1, 2)
MODELS = 5
PROGRAM = ROOT / "examples" / "hello.pb"
WORDS = "Hello! I am the greeter of this house, and I ask you for your name. "
LAST = "That is all."


@dataclass
class Models:
    """The servers of a chain, and when each was asked and has failed."""

    asked: dict[int, float] = field(default_factory=dict)
    failed: dict[int, float] = field(default_factory=dict)
    server: list[OpenAIServer] = field(default_factory=list)

    def reply(self, number: int) -> Reply:
        """What a model does with its request."""
        self.asked.setdefault(number, time.perf_counter())
        if number == MODELS - 1:
            return Reply(LAST)
        if number in BUSY:
            self.failed.setdefault(number, time.perf_counter())
            return Reply(status=503)
        return Reply(WORDS * 2, hold_after_chars=len(WORDS), drop_after_chars=len(WORDS))

    def settings(self) -> Mapping[str, str]:
        """The chain."""
        found = {"PARLEY_MODELS__DEFAULT": ",".join(f"m{number}" for number in range(MODELS))}
        for number, server in enumerate(self.server):
            found[f"PARLEY_MODELS__M{number}__MODEL"] = f"openai/m{number}"
            found[f"PARLEY_MODELS__M{number}__BASE_URL"] = server.base_url
        return found


async def fall_through(folder: Path) -> Models:
    """One answer, by all models."""
    models = Models()
    async with AsyncExitStack() as stack:
        for number in range(MODELS):

            def script(_: Mapping[str, Any], number: int = number) -> Reply:
                return models.reply(number)

            models.server.append(await stack.enter_async_context(OpenAIServer(script)))
        running = await stack.enter_async_context(gateway(folder, PROGRAM, models.settings()))
        room = Room(await stack.enter_async_context(running.page()))
        await room.join()
        await room.say("hi")
        for number in DYING:
            server = models.server[number]
            await server.until(partial(_is_held, server))
            models.failed[number] = time.perf_counter()
            server.release()
        await room.until_that(lambda: any(LAST in text for text in room.texts()))
    return models


async def bare() -> float:
    """A request alone, in milliseconds, until its server has it."""
    at = list[float]()

    def script(_: Mapping[str, Any]) -> Reply:
        at.append(time.perf_counter())
        return Reply(LAST)

    async with OpenAIServer(script) as server, httpx.AsyncClient(trust_env=False) as http:
        begun = time.perf_counter()
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": WORDS}]}
        await http.post(f"{server.base_url}/chat/completions", json=body)
    return (at[0] - begun) * 1000


async def measure() -> list[Row]:
    """The figures."""
    floor_ms = await bare()
    with tempfile.TemporaryDirectory() as folder:
        models = await fall_through(Path(folder))

    def most_ms(failing: Sequence[int]) -> float:
        return max((models.asked[number + 1] - models.failed[number]) * 1000 for number in failing)

    return [
        Row(
            "the next model is asked after one died in mid-answer, at most",
            most_ms(DYING),
            "ms",
            floor_ms,
            "bare",
            "< 200",
        ),
        Row("the next model is asked after an overload, at most", most_ms(BUSY), "ms", floor_ms, "bare", "< 200"),
    ]


def _is_held(server: OpenAIServer) -> bool:
    return server.held > 0


def run() -> list[Row]:
    """The figures."""
    return anyio.run(measure)


if __name__ == "__main__":
    print(show(run()))
