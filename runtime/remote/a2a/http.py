"""HTTP to a stranger's agent: what is read is bounded, and what certainly did not leave is known."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

from runtime.remote.http import ATTEMPT, secret_header

MAX_ANSWER_BYTES = 2 * 1024 * 1024
"""The most bytes of one answer, also of one stream of events; the rest is not read."""


class TooLong(httpx.HTTPError):
    """An answer has more than `MAX_ANSWER_BYTES`."""

    def __init__(self) -> None:
        super().__init__(f"its answer has more than {MAX_ANSWER_BYTES:,} bytes")


def http_client(header: str, secret: str | None, connect_s: float) -> httpx.AsyncClient:
    """A client that records on the attempt what happened to it, follows no redirects and uses no proxies. The caller
    limits the time."""
    headers = {"accept-encoding": "identity", **secret_header(header, secret)}
    timeout = httpx.Timeout(connect_s, read=None)
    return httpx.AsyncClient(headers=headers, timeout=timeout, transport=_Noting(), trust_env=False)


class _Noting(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        attempt = ATTEMPT.get()
        try:
            response = await super().handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            if attempt is not None:
                attempt.sent = False
            raise
        if attempt is not None:
            attempt.status = response.status_code
        response.headers.pop("content-encoding", None)  # nothing unpacks to more than was read
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Bounded(response.stream)
        return response


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._inner:
            read += len(chunk)
            if read > MAX_ANSWER_BYTES:
                raise TooLong
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
