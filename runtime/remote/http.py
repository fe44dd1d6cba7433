"""An MCP server behind a URL, and the state of each request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass

import httpx2

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""The most bytes of one answer; the rest is not read."""

ATTEMPT: ContextVar[RequestAttempt | None] = ContextVar("ATTEMPT", default=None)
"""The attempt of this task's requests. The SDK passes a task's context on to its requests."""


@dataclass(slots=True)
class RequestAttempt:
    """The known state of one request. `sent` is False if it certainly reached nobody; `status` is HTTP's."""

    sent: bool = True
    status: int | None = None


def secret_header(header: str, secret: str | None) -> dict[str, str]:
    """The header that carries a secret, if there is one."""
    if secret is None:
        return {}
    return {header: f"Bearer {secret}" if header.lower() == "authorization" else secret}


def http_client(header: str, secret: str | None, connect_s: float) -> httpx2.AsyncClient:
    """A client that records on the attempt what happened to it. The caller limits the time."""
    timeout = httpx2.Timeout(connect_s, read=None)
    return httpx2.AsyncClient(headers=secret_header(header, secret), timeout=timeout, transport=_Noting())


class _Noting(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        attempt = ATTEMPT.get()
        try:
            response = await super().handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            if attempt is not None:
                attempt.sent = False
            raise
        if attempt is not None:
            attempt.status = response.status_code
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _Bounded(response.stream)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: object) -> None:
        assert isinstance(inner, httpx2.AsyncByteStream)
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._inner:
            read += len(chunk)
            if read > MAX_ANSWER_BYTES:
                raise httpx2.ReadError(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
