"""A server that speaks OpenAI's protocols: its connections, the model's price, and what a failure means."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import anyio.to_thread

from runtime.core.errors import LLMError
from runtime.core.json_text import read_json
from runtime.llm.options import ModelOptions
from runtime.llm.worker import failures
from runtime.llm.worker.prices import ListedPrice
from runtime.llm.worker.prompt import NO_KEY

_MAX_ERROR_BYTES = 64 * 1024
_PIECE_BYTES = 48 * 1024


class ServedModel:
    """One model at one address; `connections` to it may be open at once, 0 means any number."""

    def __init__(self, options: ModelOptions, *, connections: int) -> None:
        self._options = options
        self._address = (options.base_url or "").rstrip("/")
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._price: ListedPrice | None = None

    async def warm_up(self) -> None:
        """Read the model's price."""
        if self._price is None:
            self._price = await anyio.to_thread.run_sync(ListedPrice.of, self._options.name, abandon_on_cancel=True)

    async def aclose(self) -> None:
        """Close the connections. The server can be asked again."""
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
        """The server's text, and its meaning as an error."""
        said = (await response.content.read(_MAX_ERROR_BYTES)).decode(errors="replace")
        text = failures.words_of(said) or f"status {response.status}"
        headers = {name.lower(): value for name, value in response.headers.items()}
        return said, failures.failure_of(response.status, text, self._options.name, headers, said)
