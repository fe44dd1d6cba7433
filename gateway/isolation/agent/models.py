"""The models of a task's process: it asks its node for them, at `/model/v1`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from gateway.clients.model.door import PREFIX
from gateway.isolation.handover import Handover
from runtime.core.errors import ContextTooLong, LLMError, LLMRateLimited, LLMRefused, LLMTimeout, LLMUnavailable
from runtime.llm.client import MAX_ANSWER_CHARS, ChatMessage, CompletionRequest, Usage

Sees = Callable[[str], Awaitable[bool]]

_CONNECT_S = 10.0
_MORE_S = 60.0
"""What the node may need beyond the time of its model, for its own pauses and tries."""


@asynccontextmanager
async def door_clients(
    handover: Handover, models: Mapping[str, str], sees: Sees
) -> AsyncIterator[dict[str, DoorClient]]:
    """A client for each of the models by its name; their values are what people call them. `sees` says of a name
    whether its model is to be given pictures."""
    timeout = httpx.Timeout(handover.manner.model_answer_s + _MORE_S, connect=_CONNECT_S)
    host = {"host": handover.host} if handover.host else {}
    headers = {"authorization": f"Bearer {handover.token}", **host}
    async with httpx.AsyncClient(base_url=handover.url, headers=headers, timeout=timeout, trust_env=False) as http:
        yield {name: DoorClient(http, name, title, sees) for name, title in models.items()}


class DoorClient:
    """Implements `runtime.llm.client.LLMClient`. The node has tried again already what may pass."""

    def __init__(self, http: httpx.AsyncClient, name: str, title: str, sees: Sees) -> None:
        self._sees = sees
        self._http = http
        self._name = name
        self._title = title

    @property
    def model(self) -> str:
        """What people call it."""
        return self._title

    async def sees(self, _purpose: str = "execute", _model: str = "", /) -> bool | None:
        """See `runtime.llm.client.KnowsSight`."""
        return await self._sees(self._name)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[_Answer]:
        answer = _Answer(self._http, _asked(self._name, request), self._title)
        try:
            yield answer
        finally:
            await answer.aclose()


class _Answer:
    """One answer. It can be iterated once."""

    def __init__(self, http: httpx.AsyncClient, asked: Mapping[str, Any], title: str) -> None:
        self._http = http
        self._asked = asked
        self._title = title
        self._pieces: AsyncGenerator[str, None] | None = None
        self.usage = Usage(model=title)

    def __aiter__(self) -> AsyncIterator[str]:
        self._pieces = self._read()
        return self._pieces

    async def aclose(self) -> None:
        """Stop the request if it is still running."""
        if self._pieces is not None:
            await self._pieces.aclose()

    async def _read(self) -> AsyncGenerator[str, None]:
        chars = 0
        try:
            async with self._http.stream("POST", f"{PREFIX}/chat/completions", json=self._asked) as response:
                if response.status_code != 200:
                    raise _failure(response.status_code, (await response.aread()), response.headers)
                async for line in response.aiter_lines():
                    text = self._text(line)
                    chars += len(text)
                    if chars > MAX_ANSWER_CHARS:
                        raise LLMRefused(f"The answer is longer than {MAX_ANSWER_CHARS:,} characters.")
                    if text:
                        yield text
        except httpx.TimeoutException as error:
            raise LLMTimeout(f"The model {self._title} did not answer in time.") from error
        except (httpx.HTTPError, ValueError) as error:
            raise LLMUnavailable(f"The gateway's models cannot be reached: {error}") from error

    def _text(self, line: str) -> str:
        """The words of one line. Raises LLMError, and ValueError for what is no JSON."""
        data = line.removeprefix("data: ")
        if not line.startswith("data: ") or data == "[DONE]":
            return ""
        found = json.loads(data)
        if "error" in found:
            raise LLMUnavailable(str(found["error"]["message"]))
        if used := found.get("usage"):
            cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            self.usage = Usage(used["prompt_tokens"], used["completion_tokens"], cached, model=self._title)
        return "".join(choice["delta"].get("content") or "" for choice in found.get("choices", ()))


def _asked(name: str, request: CompletionRequest) -> dict[str, Any]:
    """A request as the door takes it."""
    asked: dict[str, Any] = {
        "model": name,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.stop:
        asked["stop"] = list(request.stop)
    if request.temperature is not None:
        asked["temperature"] = request.temperature
    if request.schema is not None:
        asked["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": request.schema}}
    return asked


def _message(message: ChatMessage) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "text", "text": message.content}
    if message.cacheable:
        part["cache_control"] = {"type": "ephemeral"}
    pictures = [{"type": "image_url", "image_url": {"url": picture.url}} for picture in message.pictures]
    return {"role": message.role, "content": [part, *pictures]}


def _failure(status: int, body: bytes, headers: Mapping[str, str]) -> LLMError:
    try:
        text = str(json.loads(body)["error"]["message"])
    except (ValueError, LookupError, TypeError):
        text = f"The gateway's models answer with status {status}."
    if status == 429:
        after = headers.get("retry-after", "")
        return LLMRateLimited(text, retry_after_s=float(after) if after.isdecimal() else None)
    kinds: dict[int, type[LLMError]] = {400: ContextTooLong, 413: ContextTooLong, 502: LLMRefused, 504: LLMTimeout}
    return kinds.get(status, LLMUnavailable)(text)
