"""Requests from platforms: `/hooks/<platform>/…`, handed to the adapter, whose signature check is the guard."""

from __future__ import annotations

from collections.abc import Mapping

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from adapters.adapter import AnswersHttp, HttpRequest
from runtime.core.errors import ParleyError
from runtime.core.plain_text import whole_number

MAX_BODY_BYTES = 1024 * 1024
"""The longest request body. Platforms send far less."""

BODY_TIMEOUT_S = 10.0
"""The time for a request to arrive before it is refused: a platform's server is quick, and a slow client holds
our memory."""

AT_ONCE = 100
"""The number of simultaneous requests; the platform repeats a refused one. Telegram opens 40 connections at most (Bot
API, setWebhook).
"""

ANSWER_TIMEOUT_S = 30.0
"""The time limit of an adapter, after which the platform is asked to repeat the request."""

METHODS = ("GET", "POST", "PUT", "DELETE")


class Hooks:
    def __init__(self, receivers: Mapping[str, AnswersHttp]) -> None:
        self._receivers = receivers
        self._at_once = anyio.CapacityLimiter(AT_ONCE)

    async def answer(self, request: Request) -> Response:
        """Hand the request to its platform's adapter.

        404 for an unknown platform, 408 and 413 for too slow and too long a body, 503 when it cannot be taken now: then
        platforms repeat it.
        """
        receiver = self._receivers.get(request.path_params["platform"])
        if receiver is None:
            return PlainTextResponse("No platform sends updates to this address.\n", status_code=404)
        try:
            self._at_once.acquire_on_behalf_of_nowait(request)
        except anyio.WouldBlock:
            return _not_now()
        try:
            return await self._handed(request, receiver)
        finally:
            self._at_once.release_on_behalf_of(request)

    async def _handed(self, request: Request, receiver: AnswersHttp) -> Response:
        try:
            body = await body_within(request, MAX_BODY_BYTES, BODY_TIMEOUT_S)
        except ClientDisconnect:
            return Response(status_code=400)
        except TimeoutError:
            return slow_body()
        if body is None:
            return PlainTextResponse(f"The limit is {MAX_BODY_BYTES} bytes.\n", status_code=413)
        taken = HttpRequest(
            method=request.method,
            path="/" + request.path_params.get("path", ""),
            query=dict(request.query_params),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=body,
        )
        try:
            with anyio.fail_after(ANSWER_TIMEOUT_S):
                answer = await receiver.receive(taken)
        except (ParleyError, TimeoutError):
            return _not_now()
        return Response(answer.body, status_code=answer.status, headers=dict(answer.headers))


def hook_routes(receivers: Mapping[str, AnswersHttp]) -> list[Route]:
    hooks = Hooks(receivers)
    paths = ("/hooks/{platform}", "/hooks/{platform}/{path:path}")
    return [Route(path, hooks.answer, methods=METHODS) for path in paths]


def _not_now() -> Response:
    return PlainTextResponse("This cannot be accepted now. Send it again.\n", status_code=503)


def slow_body() -> Response:
    """Ends the connection of a request whose body nobody reads to the end."""
    return PlainTextResponse("This arrived too slowly.\n", status_code=408, headers={"connection": "close"})


async def body_within(request: Request, max_bytes: int, timeout_s: float) -> bytes | None:
    """The body of a request; None as soon as it is known to be too long. Raises TimeoutError and ClientDisconnect."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and whole_number(declared, max_bytes) is None:
        return None
    body = bytearray()
    with anyio.fail_after(timeout_s):
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                return None
    return bytes(body)
