"""Models of every provider, through litellm.

litellm takes seconds and more than a hundred megabytes to import: it is imported in a thread, at `warm_up` or at the
first request. Its own retries are off.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import AsyncGenerator, Mapping
from types import ModuleType
from typing import Any

import anyio
import anyio.to_thread
import httpx
from msgspec.structs import replace

from runtime.core.errors import LLMError, LLMKeyRefused, LLMRefused
from runtime.llm.client import CompletionRequest, ModelOptions, ModelProvider, TokenPrices, Usage
from runtime.llm.worker import failures
from runtime.llm.worker.openai_server import CUT, NO_KEY, known, messages_data, priced, schema_data

_LEAVE_LIMIT_S = 1.0
_NO_PROVIDER, _MISSING_KEY = "LLM Provider NOT provided", "Missing credentials"
"""By which litellm's own refusals are known."""

_PREFIX = re.compile(r"(?:(?:litellm\.)?\w+(?:Error|Exception): )*(?:\w+Exception - )?")
"""litellm's prefix of a provider's text, such as "litellm.APIError: APIError: OpenAIException - "."""


class LiteLLMProvider(ModelProvider):
    def __init__(self, options: ModelOptions) -> None:
        self._options = options
        self._litellm: ModuleType | None = None
        self._constrains: bool | None = None

    async def warm_up(self) -> None:
        if self._litellm is None:
            self._litellm = await anyio.to_thread.run_sync(_import_litellm, abandon_on_cancel=True)

    async def sees(self) -> bool | None:
        await self.warm_up()
        assert self._litellm is not None
        return known(self._litellm, self._options.name).sees

    def prices(self) -> TokenPrices | None:
        return None if self._litellm is None else known(self._litellm, self._options.name).prices

    def is_known(self) -> bool:
        if self._litellm is None:
            return True
        try:
            self._litellm.get_llm_provider(self._options.name, api_base=self._options.base_url)
        except Exception as error:  # noqa: BLE001 - litellm's own, told apart by its text
            return _NO_PROVIDER not in str(error)
        return True

    async def aclose(self) -> None:
        """Close what litellm keeps open. The provider can be used again."""
        if self._litellm is None:
            return
        with anyio.move_on_after(_LEAVE_LIMIT_S, shield=True):
            await self._litellm.close_litellm_async_clients()
        # What was closed stays in the cache otherwise, and the next request would be given it.
        self._litellm.in_memory_llm_clients_cache.flush_cache()

    async def answer(self, request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        await self.warm_up()
        response: Any = None
        heard, cut = False, False
        try:
            response = await self._open(request)
            if response is None:  # what litellm 1.106 makes of a status 422
                raise LLMRefused(f"The model {self._options.name} rejects the request and does not say why.")
            async for chunk in response:
                cut = cut or any(choice.finish_reason == CUT for choice in chunk.choices)
                for part in self._parts(chunk):
                    heard = heard or bool(part)
                    yield replace(part, cut=cut) if isinstance(part, Usage) else part
            if not heard:  # of a page, or of a server that does not stream, litellm makes nothing, not even a count
                raise failures.unreachable("it sent no answer; check the address", self._options.name)
        except LLMError:
            raise
        except Exception as error:
            raise _translated(error, self._options.name) from error
        finally:
            if response is not None:
                with anyio.move_on_after(_LEAVE_LIMIT_S, shield=True):
                    await response.aclose()

    async def _open(self, request: CompletionRequest) -> Any:
        assert self._litellm is not None
        options = self._options
        arguments: dict[str, Any] = {
            "model": options.name,
            "messages": messages_data(request.messages, options.name),
            "stream": True,
            "stream_options": {"include_usage": True},
            "timeout": httpx.Timeout(options.timeouts.whole_s, connect=options.timeouts.connect_s),
            "max_retries": 0,
            "num_retries": 0,
            "stop": list(request.stop) or None,
            "temperature": request.temperature if options.temperature is None else options.temperature,
            "max_tokens": options.max_output_tokens,
            "base_url": options.base_url,
            "api_key": options.api_key or (NO_KEY if options.base_url else None),
        }
        given = {name: value for name, value in arguments.items() if value is not None}
        if request.schema is not None and self._constrains is None:  # your own server is asked once
            known = self._litellm.supports_response_schema(model=options.name)
            self._constrains = bool(known or options.base_url)
        if request.schema is None or not self._constrains:
            return await self._litellm.acompletion(**given)
        return await self._constrained(self._litellm, given, request.schema)

    async def _constrained(self, litellm: ModuleType, given: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
        """The answer by the schema, or without it if the server does not know schemas."""
        try:
            return await litellm.acompletion(**given, response_format=schema_data(schema))
        except Exception as error:
            if getattr(error, "status_code", None) not in (400, 422):
                raise
            self._constrains = False
            return await litellm.acompletion(**given)

    def _parts(self, chunk: Any) -> list[str | Usage]:
        parts: list[str | Usage] = []
        if chunk.choices:
            if chunk.choices[0].finish_reason == "content_filter":
                raise failures.withheld(self._options.name)
            parts.append(chunk.choices[0].delta.content or "")
        if (usage := getattr(chunk, "usage", None)) is not None:
            parts.append(self._counted(usage))
        return parts

    def _counted(self, usage: Any) -> Usage:
        assert self._litellm is not None
        details = getattr(usage, "prompt_tokens_details", None)
        counted = Usage(
            input_tokens=usage.prompt_tokens or 0,
            output_tokens=usage.completion_tokens or 0,
            cached_tokens=getattr(details, "cached_tokens", None) or 0,
        )
        return priced(self._litellm, self._options.name, counted)


def _import_litellm() -> ModuleType:
    """litellm, quiet: no hints on stdout, plain httpx connections."""
    import litellm  # noqa: PLC0415 - seconds and more than a hundred megabytes, see the module's text

    # Said once on stderr, when pydantic builds litellm's types at the first chunk; nothing that anybody here can mend.
    warnings.filterwarnings("ignore", message=r"Item '.*' on TypedDict class 'ChatCompletion", category=UserWarning)
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    litellm.disable_aiohttp_transport = True
    module: ModuleType = litellm
    return module


def _translated(error: Exception, model: str) -> LLMError:
    """The error of a failure, by litellm's class names and the HTTP status."""
    said = _PREFIX.sub("", str(error).strip())
    if _NO_PROVIDER in said:
        return LLMRefused(
            f'The model "{model}" names no known provider; write provider/model, such as openai/gpt-4.1-mini or '
            "ollama_chat/qwen3."
        )
    if _MISSING_KEY in said:
        return LLMKeyRefused(
            f"There is no key for {model}; set its provider's variable, such as OPENAI_API_KEY, or "
            "PARLEY_MODEL_API_KEY."
        )
    is_long = any(kind.__name__ == "ContextWindowExceededError" for kind in type(error).__mro__)
    text, status = failures.words_of(said) or type(error).__name__, getattr(error, "status_code", None)
    return failures.failure_of(status, text, model, _retry_after_s(error), said, is_long=is_long)


def _retry_after_s(error: Exception) -> float | None:
    for source in (error, getattr(error, "response", None)):
        headers = getattr(source, "litellm_response_headers", None) or getattr(source, "headers", None) or {}
        if (pause_s := failures.retry_after_s(headers)) is not None:
            return pause_s
    return None
