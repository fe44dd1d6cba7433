"""Deliveries by HTTP: Slack's requests, answered by Bolt once what they bring is safe.

docs.slack.dev/apis/events-api/using-http-request-urls.
"""

from __future__ import annotations

from typing import Final

from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from adapters.adapter import NOT_UNDERSTOOD, HttpAnswer, HttpRequest
from adapters.slack.inbound.bolt import BoltApp

SAFE_WITHIN_S: Final = 2.5
"""The time limit for storing a delivery. Slack waits for 3 s and repeats the event after a failure."""

_READ: Final = frozenset({"content-type", "cookie"})
_SLACKS: Final = "x-slack-"
_BOLTS: Final = "x-slack-bolt-"
"""Headers by which Bolt calls itself, to which nobody else has a right."""


async def answer_http(bolt: BoltApp, request: HttpRequest) -> HttpAnswer:
    """401 for a request that is not Slack's, 503 for a delivery that is not stored in time, else 200."""
    if request.method != "POST":
        return HttpAnswer(405)
    try:
        given = bolt_request(request)
    except NOT_UNDERSTOOD:
        return HttpAnswer(400, b"This cannot be read.\n")
    return http_answer(await bolt.dispatch(given, within_s=SAFE_WITHIN_S))


def bolt_request(request: HttpRequest) -> AsyncBoltRequest:
    """The request as Bolt takes it. Raises as NOT_UNDERSTOOD says."""
    headers = {name: value for name, value in request.headers.items() if _is_read(name)}
    return AsyncBoltRequest(body=request.body.decode(), query=dict(request.query), headers=dict(headers))


def http_answer(response: BoltResponse) -> HttpAnswer:
    """Bolt's response as an answer of ours."""
    return HttpAnswer(response.status, response.body.encode(), response.first_headers())


def _is_read(header: str) -> bool:
    return header in _READ or (header.startswith(_SLACKS) and not header.startswith(_BOLTS))
