"""A model at a server that speaks OpenAI's protocol, read without a library; and what all readers of that protocol
share: connections, the model's price, messages in its form, what a failure means.

A piece costs a hundredth of what it costs through litellm (decision 24). The protocol:
https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import anyio.to_thread
from msgspec.structs import replace

from runtime.core.errors import LLMError
from runtime.core.json_text import read_json
from runtime.llm.client import ChatMessage, CompletionRequest, ModelOptions, ModelProvider, TokenPrices, Usage
from runtime.llm.worker import failures

_LIST = "model_prices_and_context_window_backup.json"


def priced(litellm: ModuleType, model: str, usage: Usage) -> Usage:
    """`usage` with its price in US dollars and the model's window; None and 0 where litellm does not know them."""
    usage = replace(usage, window_tokens=known(litellm, model).window_tokens)
    try:
        given, made = litellm.cost_per_token(
            model=model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cache_read_input_tokens=usage.cached_tokens,
        )
    except Exception:  # noqa: BLE001 - litellm raises whatever its lists lead to; an answer is worth more than its price
        return usage
    return replace(usage, cost_usd=float(given) + float(made))


def known(litellm: ModuleType, model: str) -> ListedPrice:
    """What litellm knows of a model."""
    try:
        return ListedPrice(litellm.get_model_info(model))
    except Exception:  # noqa: BLE001 - see above
        return ListedPrice({})


class ListedPrice:
    """One model's row of litellm's list, read without litellm. A model without a row has no price."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row

    @classmethod
    def of(cls, model: str) -> ListedPrice:
        """The row of `openai/<name>`, or of the name alone. Reads three megabytes: call it in a thread."""
        found = find_spec("litellm")
        if found is None or found.origin is None:
            return cls({})
        try:
            rows = json.loads((Path(found.origin).parent / _LIST).read_bytes())
        except (OSError, ValueError):  # another litellm: an answer is worth more than its price
            return cls({})
        return cls(rows.get(model) or rows.get(model.partition("/")[2]) or {})

    def priced(self, usage: Usage) -> Usage:
        usage = replace(usage, window_tokens=self.window_tokens)
        if "input_cost_per_token" not in self._row:
            return usage
        given, cached = self._usd("input_cost_per_token"), self._usd("cache_read_input_token_cost")
        fresh_tokens = usage.input_tokens - usage.cached_tokens
        cost_usd = fresh_tokens * given + usage.cached_tokens * (cached or given)
        return replace(usage, cost_usd=cost_usd + usage.output_tokens * self._usd("output_cost_per_token"))

    def of_amount(self, key: str, amount: float) -> float | None:
        """The price of so many seconds of a recording, or of so many characters to speak, by the key that the list has
        for one of them, in US dollars; None where the row has none."""
        return amount * self._usd(key) if key in self._row else None

    @property
    def window_tokens(self) -> int:
        return int(self._row.get("max_input_tokens") or 0)

    @property
    def prices(self) -> TokenPrices | None:
        costs = ("input_cost_per_token", "cache_read_input_token_cost", "output_cost_per_token")
        given, cached, made = (self._usd(key) * 1_000_000 for key in costs)
        return TokenPrices(given, cached or given, made) if given or made else None

    @property
    def sees(self) -> bool | None:
        return bool(self._row.get("supports_vision")) if self._row else None

    def _usd(self, key: str) -> float:
        return float(self._row.get(key) or 0.0)


MAX_LINE_BYTES = 1024 * 1024
CUT = "length"
"""Why an answer ends that has reached its greatest length."""

_PATH = "/chat/completions"
_JSON = {"content-type": "application/json"}
_DONE = b"[DONE]"
_EVENTS = "text/event-stream"
_MAY_BE_UNKNOWN = ("response_format", "stream_options", "temperature")
"""Parameters that a server may refuse, and without which an answer is still possible."""

_MAX_ERROR_BYTES = 64 * 1024
_PIECE_BYTES = 48 * 1024

_MAX_CACHE_MARKS = 4

NO_KEY = "none"
"""A placeholder for servers that need no key, because the protocol requires one."""


class ServedModel(ModelProvider):
    """One model at one address; `connections` to it may be open at once, 0 means any number."""

    def __init__(self, options: ModelOptions, *, connections: int) -> None:
        self._options = options
        self._address = (options.base_url or "").rstrip("/")
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._price: ListedPrice | None = None

    async def warm_up(self) -> None:
        if self._price is None:
            self._price = await anyio.to_thread.run_sync(ListedPrice.of, self._options.name, abandon_on_cancel=True)

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _post(self, path: str, **body: Any) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """A request with the model's key; `body` is as aiohttp takes it."""
        timeouts = self._options.timeouts
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections),
                timeout=aiohttp.ClientTimeout(total=timeouts.whole_s, sock_connect=timeouts.connect_s),
                headers={"authorization": f"Bearer {self._options.api_key or NO_KEY}"},
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=True,
            )
        return self._session.post(self._address + path, **body)

    async def _json(self, response: aiohttp.ClientResponse, most_bytes: int, too_long: str) -> Mapping[str, Any]:
        """The object that the server sent. Raises LLMRefused with `too_long`, and LLMUnavailable for anything else."""
        data = bytearray()
        while piece := await response.content.read(_PIECE_BYTES):
            data += piece
            if len(data) > most_bytes:
                raise failures.refused(None, too_long, self._options.name)
        try:
            found = read_json(bytes(data))
        except ValueError as error:
            raise failures.unreachable("it sent something that is not JSON", self._options.name) from error
        if not isinstance(found, dict):
            raise failures.unreachable("it sent something that is not a JSON object", self._options.name)
        return found

    async def _failure(self, response: aiohttp.ClientResponse) -> tuple[str, LLMError]:
        said = (await response.content.read(_MAX_ERROR_BYTES)).decode(errors="replace")
        text = failures.words_of(said) or f"status {response.status}"
        headers = {name.lower(): value for name, value in response.headers.items()}
        return said, failures.failure_of(
            response.status, text, self._options.name, failures.retry_after_s(headers), said
        )


class OpenAIServerReader(ServedModel):
    """One model at one address. A parameter that the server refuses is no longer sent."""

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options, connections=0)
        self._model = options.name.removeprefix("openai/")
        self._unknown: set[str] = set()

    async def sees(self) -> bool | None:
        await self.warm_up()
        assert self._price is not None
        return self._price.sees

    def prices(self) -> TokenPrices | None:
        return None if self._price is None else self._price.prices

    async def answer(self, request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        await self.warm_up()
        asked = self._asked(request)
        try:
            while True:
                body = json.dumps(asked).encode()
                async with self._post(_PATH, data=body, headers=_JSON) as response:
                    if response.status == 200:
                        async for part in self._read(response):
                            yield part
                        return
                    said, failed = await self._failure(response)
                if not self._leaves_out(asked, response.status, said):
                    raise failed
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise failures.unreachable(str(error) or type(error).__name__, self._options.name) from error

    def _asked(self, request: CompletionRequest) -> dict[str, Any]:
        options = self._options
        asked = {
            "model": self._model,
            "messages": messages_data(request.messages, options.name),
            "stream": True,
            "stream_options": {"include_usage": True},
            "stop": list(request.stop) or None,
            "temperature": request.temperature if options.temperature is None else options.temperature,
            "max_tokens": options.max_output_tokens,
            "response_format": None if request.schema is None else schema_data(request.schema),
        }
        return {name: value for name, value in asked.items() if value is not None and name not in self._unknown}

    def _leaves_out(self, asked: dict[str, Any], status: int, said: str) -> bool:
        """Whether the request can do without a parameter that the server does not know."""
        if status not in (400, 422) or failures.too_long(said):
            return False
        for name in _MAY_BE_UNKNOWN:
            if name in asked and (name == "response_format" or name in said):
                del asked[name]
                self._unknown.add(name)
                return True
        return False

    async def _read(self, response: aiohttp.ClientResponse) -> AsyncIterator[str | Usage]:
        finished, cut, streamed, rest = False, False, False, bytearray()
        async for data in _events(response, rest):
            if data == _DONE:
                return
            streamed, chunk = True, self._chunk(data)
            for choice in _first(chunk):
                finished = finished or choice.get("finish_reason") is not None
                cut = cut or choice.get("finish_reason") == CUT
                yield self._text(choice.get("delta"), choice.get("finish_reason"))
            if (usage := chunk.get("usage")) is not None:
                yield replace(self._counted(usage), cut=cut)
        if not finished:
            for part in self._whole(b"" if streamed else bytes(rest), response.content_type):
                yield part

    def _whole(self, data: bytes, media_type: str) -> Sequence[str | Usage]:
        """The answer of a server that does not stream. Raises LLMUnavailable for anything else that it sent."""
        if not data.strip() or (media_type == _EVENTS and not data.lstrip().startswith(b"{")):
            raise failures.unreachable("the answer broke off", self._options.name)
        if not data.lstrip().startswith((b"{", b"[")):
            what = f"it sent {media_type} where an answer was expected; check the address"
            raise failures.unreachable(failures.titled(what, data.decode(errors="replace")), self._options.name)
        found = self._chunk(data)
        parts: list[str | Usage] = [self._text(one.get("message"), one.get("finish_reason")) for one in _first(found)]
        if not parts:
            raise failures.unreachable("it sent JSON that has no answer", self._options.name)
        if (usage := found.get("usage")) is not None:
            cut = any(choice.get("finish_reason") == CUT for choice in _first(found))
            parts.append(replace(self._counted(usage), cut=cut))
        return parts

    def _text(self, message: Mapping[str, Any] | None, finish_reason: str | None) -> str:
        """The text of a message or of a piece of one. Models that think may send it in parts, beside their thoughts."""
        if finish_reason == "content_filter":
            raise failures.withheld(self._options.name)
        content = (message or {}).get("content") or ""
        if isinstance(content, list):
            content = "".join(part.get("text") or "" for part in content if part.get("type") == "text")
        if not isinstance(content, str):
            raise failures.unreachable("it sent something that is not a text", self._options.name)
        return content

    def _chunk(self, data: bytes) -> Mapping[str, Any]:
        try:
            chunk = json.loads(data)
        except ValueError as error:
            raise failures.unreachable("it sent something that is not JSON", self._options.name) from error
        if not isinstance(chunk, dict):
            raise failures.unreachable("it sent something that is not a JSON object", self._options.name)
        if (told := chunk.get("error")) is not None:
            status = told.get("code") if isinstance(told, dict) else None
            raise failures.failure_of(
                status, failures.words_in(chunk) or "it failed", self._options.name, None, data.decode(errors="replace")
            )
        return chunk

    def _counted(self, usage: Mapping[str, Any]) -> Usage:
        assert self._price is not None
        details = usage.get("prompt_tokens_details") or {}
        counted = Usage(
            input_tokens=_number(usage.get("prompt_tokens")),
            output_tokens=_number(usage.get("completion_tokens")),
            cached_tokens=_number(details.get("cached_tokens")),
        )
        return self._price.priced(counted)


def messages_data(messages: tuple[ChatMessage, ...], model: str) -> list[dict[str, Any]]:
    """The messages for the request. Anthropic's models get cache marks at the last cacheable messages, of which they
    accept four.
    """
    cacheable = [index for index, message in enumerate(messages) if message.cacheable]
    marked = set(cacheable[-_MAX_CACHE_MARKS:]) if "anthropic" in model or "claude" in model else set()
    return [
        {"role": message.role, "content": _content(message, index in marked)} for index, message in enumerate(messages)
    ]


def schema_data(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}


def _number(counted: object) -> int:
    """A count of tokens. A server may send anything; what is no count says nothing."""
    return counted if isinstance(counted, int) and counted > 0 else 0


def _first(chunk: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The first choice, if the chunk has it. Nobody asks for others."""
    return [choice for choice in chunk.get("choices") or () if not choice.get("index")]


async def _events(response: aiohttp.ClientResponse, other: bytearray) -> AsyncIterator[bytes]:
    """The data of server-sent events, one line each, in the form of OpenAI's protocol. What is none goes to `other`."""
    rest = b""
    async for data in response.content.iter_any():
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise aiohttp.ClientPayloadError(f"it sent a line of more than {MAX_LINE_BYTES} bytes")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip()
            elif len(other) <= MAX_LINE_BYTES:
                other += line + b"\n"
    other += rest


def _content(message: ChatMessage, marked: bool) -> str | list[dict[str, Any]]:
    """A text alone as it is; with pictures or a mark, as parts, the mark at the last one."""
    if not message.pictures and not marked:
        return message.content
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}]
    parts += [{"type": "image_url", "image_url": {"url": picture.url}} for picture in message.pictures]
    if marked:
        parts[-1]["cache_control"] = {"type": "ephemeral"}
    return parts
