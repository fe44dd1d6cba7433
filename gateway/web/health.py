"""`/healthz`, `/readyz` and `/metrics`: what monitoring asks of every process, whatever its role."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gateway.web.guard import METRICS, Guard, allowed_hosts

_BEARER = "bearer"

NotReady = Callable[[], Sequence[str]]
"""The reasons why the service is not ready, one line each; empty when it is."""


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


def health_routes(not_ready: NotReady, scrape: Scrape | None) -> list[Route]:
    """The routes; without `scrape` there are no metrics."""

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def readyz(_: Request) -> Response:
        reasons = list(not_ready())
        status = {"status": "waiting" if reasons else "ready", "reasons": reasons}
        return JSONResponse(status, status_code=503 if reasons else 200)

    numbers = [] if scrape is None else [Route(METRICS, scrape.answer)]
    return [Route("/healthz", healthz), Route("/readyz", readyz), *numbers]


def build_health(not_ready: NotReady, scrape: Scrape | None, bind_host: str, hosts: Sequence[str]) -> Starlette:
    """The application of a process that no person talks with; serve it with gateway.web.server.serve."""
    guard = Middleware(Guard, hosts=allowed_hosts(bind_host, hosts))
    return Starlette(routes=[*health_routes(not_ready, scrape)], middleware=[guard])
