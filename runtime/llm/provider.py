"""Models of every provider, through litellm.

litellm takes seconds and some hundred megabytes to import: it is imported in a thread, at `warm_up` or at the first
request. Its own retries are off. Ours happen only before the first piece: one that was read has had effects.
"""

from __future__ import annotations

import os
import random
import re
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Self

import anyio
import anyio.to_thread
import httpx

from runtime.core.clock import Clock
from runtime.core.errors import (
    ContextTooLong,
    LLMError,
    LLMRateLimited,
    LLMRefused,
    LLMTimeout,
    LLMUnavailable,
)
from runtime.llm.client import ChatMessage, CompletionRequest, Usage
from runtime.llm.price import priced

_MAX_CACHE_MARKS = 4
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_LONGEST_ASKED_PAUSE_S = 60.0
_LEAVE_LIMIT_S = 1.0
_NO_KEY = "none"
_PREFIX = re.compile(r"(?:(?:litellm\.)?\w+(?:Error|Exception): )*(?:\w+Exception - )?")
"""What litellm puts before a provider's words, such as "litellm.APIError: APIError: OpenAIException - "."""


@dataclass(frozen=True, slots=True)
class ModelTimeouts:
    """Seconds: to connect, from the request to the first piece, between two pieces, and for the whole answer."""

    connect_s: float = 10.0
    first_piece_s: float = 90.0
    between_pieces_s: float = 45.0
    whole_s: float = 600.0


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Which model, and how it is asked.

    `name` is litellm's (`openai/gpt-…`, `anthropic/claude-…`). `base_url` ends before `/chat/completions`; with it a
    missing `api_key` is sent as a placeholder. None for `temperature` or `max_output_tokens` leaves the provider's.
    """

    name: str
    base_url: str | None = None
    api_key: str | None = None
    timeouts: ModelTimeouts = ModelTimeouts()
    max_retries: int = 4
    temperature: float | None = None
    max_output_tokens: int | None = None


class LiteLLMClient:
    """A client of one model. Entering it costs nothing; leaving it closes the connections that litellm keeps."""

    def __init__(self, options: ModelOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._litellm: ModuleType | None = None
        self._constrains: bool | None = None

    @property
    def model(self) -> str:
        """litellm's name of the model."""
        return self._options.name

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.aclose()

    async def warm_up(self) -> None:
        """Import litellm now, so that the first request need not. May be given up at any time."""
        if self._litellm is None:
            self._litellm = await anyio.to_thread.run_sync(_import_litellm, abandon_on_cancel=True)

    async def aclose(self) -> None:
        """Close what litellm keeps open. The client can be used again."""
        if self._litellm is None:
            return
        with anyio.move_on_after(_LEAVE_LIMIT_S, shield=True):
            await self._litellm.close_litellm_async_clients()
        # What was closed stays in the cache otherwise, and the next request would be given it.
        self._litellm.in_memory_llm_clients_cache.flush_cache()

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[LiteLLMCompletion]:
        """The answer to `request`; the request is made when it is iterated."""
        await self.warm_up()
        assert self._litellm is not None
        price = partial(priced, self._litellm, self._options.name)
        completion = LiteLLMCompletion(self._opener(request), self._options, self._clock, price)
        try:
            yield completion
        finally:
            await completion.aclose()

    def _opener(self, request: CompletionRequest) -> Callable[[], Awaitable[Any]]:
        litellm, options = self._litellm, self._options
        assert litellm is not None
        arguments: dict[str, Any] = {
            "model": options.name,
            "messages": _messages(request.messages, marks=_is_anthropic(options.name)),
            "stream": True,
            "stream_options": {"include_usage": True},
            "timeout": httpx.Timeout(options.timeouts.whole_s, connect=options.timeouts.connect_s),
            "max_retries": 0,
            "num_retries": 0,
            "stop": list(request.stop) or None,
            "temperature": request.temperature if options.temperature is None else options.temperature,
            "max_tokens": options.max_output_tokens,
            "base_url": options.base_url,
            "api_key": options.api_key or (_NO_KEY if options.base_url else None),
        }
        given = {name: value for name, value in arguments.items() if value is not None}
        if request.schema is None or not self._may_constrain():
            return lambda: litellm.acompletion(**given)
        return partial(self._constrained, given, request.schema)

    def _may_constrain(self) -> bool:
        """Whether the model can be held to a schema, as far as is known: a server of one's own is asked once."""
        if self._constrains is None:
            assert self._litellm is not None
            known = self._litellm.supports_response_schema(model=self._options.name)
            self._constrains = bool(known or self._options.base_url)
        return self._constrains

    async def _constrained(self, given: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
        """The answer held to a schema; without it where the server does not know how to."""
        assert self._litellm is not None
        form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema)}}
        try:
            return await self._litellm.acompletion(**given, response_format=form)
        except Exception as error:
            if getattr(error, "status_code", None) not in (400, 422):
                raise
            self._constrains = False
            return await self._litellm.acompletion(**given)


class LiteLLMCompletion:
    """One answer. It can be iterated once."""

    def __init__(
        self,
        open_stream: Callable[[], Awaitable[Any]],
        options: ModelOptions,
        clock: Clock,
        price: Callable[[Usage], Usage],
    ) -> None:
        self._open_stream = open_stream
        self._options = options
        self._clock = clock
        self._price = price
        self._response: Any = None
        self._iteration: AsyncGenerator[str, None] | None = None
        self._usage = Usage()
        self._whole_until = 0.0

    @property
    def usage(self) -> Usage:
        """Tokens as the provider counts them; complete when the iteration has ended."""
        return self._usage

    def __aiter__(self) -> AsyncIterator[str]:
        self._iteration = self._pieces()
        return self._iteration

    async def _pieces(self) -> AsyncGenerator[str, None]:
        piece = await self._first_piece()
        while piece is not None:
            if piece:
                yield piece
            piece = await self._next_piece(self._options.timeouts.between_pieces_s, "the next piece")

    async def aclose(self) -> None:
        """Stop the request if it still runs."""
        if self._iteration is not None:
            await self._iteration.aclose()
        await self._hang_up()

    async def _hang_up(self) -> None:
        response, self._response = self._response, None
        if response is not None:
            with anyio.move_on_after(_LEAVE_LIMIT_S, shield=True):
                await response.aclose()

    async def _first_piece(self) -> str | None:
        """Ask until a first piece comes, an error is for good, or the tries are used up."""
        tried = 0
        while True:
            self._whole_until = anyio.current_time() + self._options.timeouts.whole_s
            try:
                return await self._ask()
            except (LLMRateLimited, LLMUnavailable) as error:
                await self._hang_up()
                pause_s = _pause_s(tried, error)
                if tried >= self._options.max_retries or pause_s > _LONGEST_ASKED_PAUSE_S:
                    raise
            tried += 1
            await self._clock.sleep_until(self._clock.monotonic() + pause_s)

    async def _ask(self) -> str | None:
        """Make the request and read until there is text; None when it ends without any."""
        limit_s = self._options.timeouts.first_piece_s
        until = anyio.current_time() + limit_s
        self._response = await self._within(limit_s, "the start of an answer", self._open_stream)
        if self._response is None:  # what litellm 1.106 makes of a status 422
            raise LLMRefused(f"The model {self._options.name} rejects the request and does not say why.")
        piece: str | None = ""
        while piece == "":
            piece = await self._next_piece(until - anyio.current_time(), "the first piece")
        return piece

    async def _next_piece(self, limit_s: float, what: str) -> str | None:
        """Text of the next chunk, empty where it has none; None at the end."""
        chunk = await self._within(limit_s, what, lambda: anext(self._response, None))
        if chunk is None:
            return None
        self._count(getattr(chunk, "usage", None))
        if not chunk.choices:
            return ""
        if chunk.choices[0].finish_reason == "content_filter":
            raise LLMRefused(f"The provider withheld the answer of {self._options.name} (content filter).")
        return chunk.choices[0].delta.content or ""

    async def _within(self, limit_s: float, what: str, call: Callable[[], Awaitable[Any]]) -> Any:
        now = anyio.current_time()
        ends = min(now + limit_s, self._whole_until)
        try:
            with anyio.fail_after(max(0.0, ends - now)):
                return await call()
        except TimeoutError as error:
            raise LLMTimeout(f"The model {self._options.name} did not send {what} in {ends - now:.1f} s.") from error
        except Exception as error:
            raise _translated(error, self._options.name) from error

    def _count(self, usage: Any) -> None:
        if usage is None:
            return
        details = getattr(usage, "prompt_tokens_details", None)
        counted = Usage(
            input_tokens=usage.prompt_tokens or 0,
            output_tokens=usage.completion_tokens or 0,
            cached_tokens=getattr(details, "cached_tokens", None) or 0,
        )
        self._usage = self._price(counted)


def _import_litellm() -> ModuleType:
    """litellm, quiet: no price list from the network, no hints on stdout, plain httpx connections."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # noqa: TID251 - litellm has no other switch for it
    import litellm  # noqa: PLC0415 - seconds and 190 MB, see the module's text

    # Said once on stderr, when pydantic builds litellm's types at the first chunk; nothing that anybody here can mend.
    warnings.filterwarnings("ignore", message=r"Item '.*' on TypedDict class 'ChatCompletion", category=UserWarning)
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    litellm.disable_aiohttp_transport = True
    module: ModuleType = litellm
    return module


_MAY_PASS = frozenset({408, 409, 425})


def _translated(error: Exception, model: str) -> LLMError:
    """What a failure means for us, by litellm's class names and the HTTP status.

    Everything not known to be final may pass: time-outs of the connection, 5xx, a stream that broke off.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    said = _PREFIX.sub("", str(error).strip())
    text = said.splitlines()[0][:500] if said else type(error).__name__
    status = getattr(error, "status_code", None)
    if "RateLimitError" in names:
        return LLMRateLimited(f"The model {model} is rate-limited: {text}", retry_after_s=_retry_after_s(error))
    if "ContextWindowExceededError" in names:
        return ContextTooLong(f"The prompt is too long for the model {model}: {text}")
    if "BudgetExceededError" in names or (isinstance(status, int) and 400 <= status < 500 and status not in _MAY_PASS):
        return LLMRefused(f"The model {model} rejects the request: {text}")
    return LLMUnavailable(f"The model {model} cannot be reached: {text}")


def _retry_after_s(error: Exception) -> float | None:
    """The Retry-After header in seconds; its date form, which no model provider sends, counts as absent."""
    for source in (error, getattr(error, "response", None)):
        headers = getattr(source, "litellm_response_headers", None) or getattr(source, "headers", None) or {}
        try:
            return max(0.0, float(headers["retry-after"]))
        except (KeyError, TypeError, ValueError):
            continue
    return None


def _pause_s(tried: int, error: LLMError) -> float:
    """What the provider asks for, else twice as long each time, with jitter so that clients spread out."""
    asked_s = error.retry_after_s if isinstance(error, LLMRateLimited) else None
    if asked_s is not None:
        return asked_s
    longest_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0**tried)
    return longest_s * random.uniform(0.5, 1.0)


def _is_anthropic(model: str) -> bool:
    return "anthropic" in model or "claude" in model


def _messages(messages: tuple[ChatMessage, ...], *, marks: bool) -> list[dict[str, Any]]:
    """As the wire wants them; with `marks`, Anthropic's cache marks at the last cacheable ones (it takes four)."""
    cacheable = [index for index, message in enumerate(messages) if message.cacheable]
    marked = set(cacheable[-_MAX_CACHE_MARKS:]) if marks else set()
    return [
        {"role": message.role, "content": _marked(message.content) if index in marked else message.content}
        for index, message in enumerate(messages)
    ]


def _marked(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
