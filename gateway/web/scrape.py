"""`/metrics`: metrics for requests with the token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

_BEARER = "bearer"


@dataclass(frozen=True, slots=True)
class Scrape:
    """Answers requests that carry `token` as `Authorization: Bearer <token>` with `text`, of `content_type`."""

    token: str
    text: Callable[[], Awaitable[bytes]]
    content_type: str

    async def answer(self, request: Request) -> Response:
        """The metrics, or 401."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        known = hmac.compare_digest(token.strip().encode(), self.token.encode())
        if scheme.lower() != _BEARER or not known:
            headers = {"www-authenticate": "Bearer"}
            return PlainTextResponse("The token of [metrics] is required.\n", status_code=401, headers=headers)
        return Response(await self.text(), headers={"content-type": self.content_type, "cache-control": "no-store"})
