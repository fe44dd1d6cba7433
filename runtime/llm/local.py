"""Models without a provider: none at all, and a GGUF file served from inside this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

import anyio
import anyio.to_thread

from runtime.core.errors import ConfigError, NoModelSet, NotInstalled
from runtime.llm.client import Completion, CompletionRequest, Usage

_CONTEXT_TOKENS = 16_384


class NoModelClient:
    """Takes the place of a model: every request fails with the reason, which says what to set."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    @property
    def model(self) -> str:
        """The name for logs."""
        return "none"

    def stream(self, _request: CompletionRequest, /) -> AbstractAsyncContextManager[Completion]:
        """A completion that raises NoModelSet when it is iterated."""
        return _Unavailable(self.reason)


class _Unavailable:
    usage = Usage()

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def __aiter__(self) -> AsyncIterator[str]:
        raise NoModelSet(self._reason)


class LocalGGUF:
    """Serves a GGUF file with llama.cpp's server, inside this process, on a free loopback port.

    Entering loads the file (seconds); `base_url` is then for the provider `openai/…`. Raises ConfigError when the
    extra is not installed or the file cannot be loaded.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._server: Any = None

    @property
    def base_url(self) -> str:
        """The server's address, which ends in /v1."""
        return f"{self._server.listening_address}/v1"

    async def __aenter__(self) -> Self:
        if not await anyio.Path(self._file).is_file():
            raise ConfigError(f"The GGUF file {self._file} does not exist.")
        xllamacpp = _import_xllamacpp()
        try:
            self._server = await anyio.to_thread.run_sync(self._load, xllamacpp)
        except (RuntimeError, ValueError, OSError) as error:
            raise ConfigError(f"The GGUF file {self._file} cannot be loaded: {error}") from error
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self._server = None  # the last reference: its destructor stops the server's threads

    def _load(self, xllamacpp: ModuleType) -> Any:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(self._file)
        parameters.n_ctx = _CONTEXT_TOKENS
        parameters.n_parallel = 1
        parameters.port = 0
        return xllamacpp.Server(parameters)


def _import_xllamacpp() -> ModuleType:
    try:
        import xllamacpp  # noqa: PLC0415 - an extra, used by few
    except ImportError as error:
        raise NotInstalled(
            "A GGUF file needs the extra 'local': install parley-gateway[local], or choose another model."
        ) from error
    module: ModuleType = xllamacpp
    return module
