"""Servers that write down recordings, speak texts, or tell what texts mean, by OpenAI's protocol.

https://platform.openai.com/docs/api-reference/audio (`/audio/transcriptions` and `/audio/speech`) and
https://platform.openai.com/docs/api-reference/embeddings (`/embeddings`). Servers of one's own speak it too:
whisper.cpp, speaches, vLLM, Kokoro; llama.cpp, Ollama, text-embeddings-inference.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import aiohttp

from runtime.llm.client import MAX_ANSWER_CHARS, CompletionRequest, ModelOptions, Usage, VoiceRecording
from runtime.llm.worker import failures
from runtime.llm.worker.openai_server import ServedModel

MAX_TRANSCRIPT_BYTES = 1024 * 1024
MAX_SPEECH_BYTES = 4 * 1024 * 1024
_PIECE_BYTES = 48 * 1024

_CONNECTIONS = 100
_CANNOT_BE_VERBOSE = ("gpt-", "voxtral")
"""Models that refuse `verbose_json` (API reference, Create transcription); of others it is tried once."""
_SPEAKER = "alloy"
_LONGEST_S = 1e9

MAX_NUMBERS = 4_096
"""The longest vector."""


_CHARS_PER_NUMBER = 30
_LARGEST = 127


class VoiceServer(ServedModel):
    """One model at one address, which listens or speaks. What it refuses of the request is no longer sent."""

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options, connections=_CONNECTIONS)
        self._model = options.name.partition("/")[2]
        self._verbose = not self._model.startswith(_CANNOT_BE_VERBOSE)

    async def answer(self, request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        """The transcript of the request's recording, or its text as speech; see the purposes of requests."""
        await self.warm_up()
        recording = request.recording
        try:
            async for part in (
                self._spoken(request.messages[-1].content) if recording is None else self._written(recording)
            ):
                yield part
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise failures.unreachable(str(error) or type(error).__name__, self._options.name) from error

    async def _written(self, recording: VoiceRecording) -> AsyncGenerator[str | Usage, None]:
        data = base64.b64decode(recording.data)
        while True:
            form = aiohttp.FormData()
            form.add_field("file", data, filename=recording.name, content_type=recording.media_type)
            form.add_field("model", self._model)
            form.add_field("response_format", "verbose_json" if self._verbose else "json")
            async with self._post("/audio/transcriptions", data=form) as response:
                if response.status == 200:
                    found = await self._json(response, MAX_TRANSCRIPT_BYTES, "its transcript is longer than any speech")
                    break
                said, failed = await self._failure(response)
            if not (self._verbose and response.status in (400, 422) and "response_format" in said):
                raise failed
            self._verbose = False
        text, language = found.get("text"), found.get("language") or _first(found.get("languages"))
        if not isinstance(text, str):
            raise failures.unreachable("it sent no text", self._options.name)
        yield json.dumps({"text": text, "language": language if isinstance(language, str) else ""})
        yield self._counted(found)

    async def _spoken(self, text: str) -> AsyncGenerator[str | Usage, None]:
        asked = {
            "model": self._model,
            "input": text,
            "voice": self._options.speaker or _SPEAKER,
            "response_format": "opus",
        }
        async with self._post("/audio/speech", json=asked) as response:
            if response.status != 200:
                raise (await self._failure(response))[1]
            data = await response.content.read(4)
            while len(data) <= MAX_SPEECH_BYTES and (piece := await response.content.read(_PIECE_BYTES)):
                data += piece
        if not data.startswith(b"OggS") or len(data) > MAX_SPEECH_BYTES:
            what = "more than can be sent" if len(data) > MAX_SPEECH_BYTES else "something that is not an Ogg file"
            raise failures.refused(None, f"it sent {what}", self._options.name)
        assert self._price is not None
        for start in range(0, len(data), _PIECE_BYTES):
            yield base64.b64encode(data[start : start + _PIECE_BYTES]).decode("ascii")
        yield Usage(cost_usd=self._price.of_amount("input_cost_per_character", len(text)))

    def _counted(self, found: Mapping[str, Any]) -> Usage:
        """What was used, by seconds or by tokens, as the server says."""
        assert self._price is not None
        used = found.get("usage")
        used = used if isinstance(used, dict) else {}
        seconds = used.get("seconds") or found.get("duration")
        if isinstance(seconds, int | float) and 0 <= seconds < _LONGEST_S:
            return Usage(cost_usd=self._price.of_amount("input_cost_per_second", float(seconds)))
        given, made = used.get("input_tokens"), used.get("output_tokens")
        if not (isinstance(given, int) and isinstance(made, int)):
            return Usage()
        return self._price.priced(Usage(input_tokens=given, output_tokens=made))


class EmbeddingServer(ServedModel):
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


def _first(value: object) -> object:
    """The first of the languages, which newer models give in a list, each a code or an object that has one."""
    first = value[0] if isinstance(value, list) and value else None
    return first.get("language", first.get("code")) if isinstance(first, dict) else first


def _written(vector: Sequence[Any]) -> str:
    """A vector as Base64 of signed bytes, the largest number as 127; "" for what is none."""
    if len(vector) > MAX_NUMBERS or not all(isinstance(number, int | float) for number in vector):
        return ""
    largest = max(map(abs, vector), default=0)
    if not largest or not math.isfinite(sum(vector)):
        return ""
    return base64.b64encode(struct.pack(f"{len(vector)}b", *(round(n * _LARGEST / largest) for n in vector))).decode()
