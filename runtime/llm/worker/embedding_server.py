"""A server that tells what texts mean, by OpenAI's protocol.

https://platform.openai.com/docs/api-reference/embeddings (`/embeddings`). Servers of one's own speak it too: llama.cpp,
Ollama, vLLM, text-embeddings-inference.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import aiohttp

from runtime.llm.client import MAX_ANSWER_CHARS, CompletionRequest, Usage
from runtime.llm.options import ModelOptions
from runtime.llm.worker import failures
from runtime.llm.worker.model_server import ServedModel

MAX_NUMBERS = 4_096
"""The longest vector."""

_CONNECTIONS = 100
_CHARS_PER_NUMBER = 30
_LARGEST = 127


class EmbeddingServer(ServedModel):
    """One model at one address."""

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options, connections=_CONNECTIONS)
        self._model = options.name.partition("/")[2]

    async def answer(self, request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        """A line for each message of the request, see `runtime.llm.client.EMBED`."""
        await self.warm_up()
        texts = [message.content for message in request.messages]
        try:
            async with self._post("/embeddings", json={"model": self._model, "input": texts}) as response:
                if response.status != 200:
                    raise (await self._failure(response))[1]
                most_bytes = len(texts) * MAX_NUMBERS * _CHARS_PER_NUMBER
                found = await self._json(response, most_bytes, "it sent more than vectors have")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise failures.unreachable(str(error) or type(error).__name__, self._options.name) from error
        yield "".join(f"{line}\n" for line in self._lines(found, len(texts)))
        yield self._counted(found)

    def _lines(self, found: Mapping[str, Any], count: int) -> Sequence[str]:
        """The vectors in the order of the texts."""
        given, lines, numbers = found.get("data"), dict[int, str](), set[int]()
        for at, one in enumerate(given if isinstance(given, list) else ()):
            index = one.get("index", at) if isinstance(one, dict) else None
            vector = one.get("embedding") if isinstance(one, dict) else None
            if isinstance(index, int) and isinstance(vector, list) and (written := _written(vector)):
                lines[index] = written
                numbers.add(len(vector))
        chars = sum(map(len, lines.values()))
        if sorted(lines) != list(range(count)) or len(numbers) != 1 or chars > MAX_ANSWER_CHARS:
            raise failures.unreachable("it sent something other than a vector for each text", self._options.name)
        return [lines[index] for index in range(count)]

    def _counted(self, found: Mapping[str, Any]) -> Usage:
        assert self._price is not None
        used = found.get("usage")
        tokens = used.get("prompt_tokens", used.get("total_tokens")) if isinstance(used, dict) else None
        return self._price.priced(Usage(input_tokens=tokens if isinstance(tokens, int) else 0))


def _written(vector: Sequence[Any]) -> str:
    """A vector as Base64 of signed bytes, the largest number as 127; "" for what is none."""
    if len(vector) > MAX_NUMBERS or not all(isinstance(number, int | float) for number in vector):
        return ""
    largest = max(map(abs, vector), default=0)
    if not largest or not math.isfinite(sum(vector)):
        return ""
    return base64.b64encode(struct.pack(f"{len(vector)}b", *(round(n * _LARGEST / largest) for n in vector))).decode()
