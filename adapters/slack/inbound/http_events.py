"""Deliveries by HTTP: Slack's requests, signed, answered once what they bring is safe.

docs.slack.dev/apis/events-api/using-http-request-urls and /authentication/verifying-requests-from-slack.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import anyio
from slack_sdk.signature import Clock as SlackClock
from slack_sdk.signature import SignatureVerifier

from adapters.adapter import HttpAnswer, HttpRequest
from adapters.slack.inbound.deliveries import Deliveries, delivery_of
from runtime.core.clock import Clock

SAFE_WITHIN_S: Final = 2.5
"""The time limit for storing a delivery. Slack waits for 3 s and repeats the event after a failure."""

_LATER: Final = HttpAnswer(503, b"Not safe yet; please send it again.\n")
_TAKEN: Final = HttpAnswer(200)


class _Now(SlackClock):
    """The current time, for the library's check of a request's age."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.now().timestamp()


class HttpEvents:
    """Takes Slack's requests, into what `deliveries` is at the time: None while nobody listens."""

    def __init__(self, signing_secret: str, clock: Clock) -> None:
        self._verifier = SignatureVerifier(signing_secret, _Now(clock))

    async def answer(self, request: HttpRequest, deliveries: Deliveries | None) -> HttpAnswer:
        """401 for a request that is not Slack's, 503 for a delivery that is not stored in time, else 200."""
        if request.method != "POST" or not self._is_slacks(request):
            return HttpAnswer(401, b"This is not signed with the app's signing secret.\n")
        found = _content(request)
        if found is None:
            return HttpAnswer(400, b"This cannot be read.\n")
        kind, body = found
        if body.get("type") == "url_verification":
            return HttpAnswer(200, str(body.get("challenge", "")).encode(), {"content-type": "text/plain"})
        delivery = delivery_of(kind, body, again="x-slack-retry-num" in request.headers)
        if delivery is None:
            return _TAKEN
        if deliveries is None:
            return _LATER
        settled = anyio.Event()
        answer = _LATER

        async def confirm(safe: bool, words: Mapping[str, Any] | None) -> None:
            nonlocal answer
            if safe:
                answer = _TAKEN if words is None else _spoken(words)
            settled.set()

        with anyio.move_on_after(SAFE_WITHIN_S):
            await deliveries.take(delivery, confirm)
            await settled.wait()
        return answer

    def _is_slacks(self, request: HttpRequest) -> bool:
        try:
            return self._verifier.is_valid_request(request.body, dict(request.headers))
        except (ValueError, TypeError):  # a time stamp that is no number, a body or a signature that is no text
            return False


def _spoken(words: Mapping[str, Any]) -> HttpAnswer:
    return HttpAnswer(200, json.dumps(words).encode(), {"content-type": "application/json"})


def _content(request: HttpRequest) -> tuple[str, Mapping[str, Any]] | None:
    """The kind and the body of a request."""
    try:
        if "json" in request.headers.get("content-type", ""):
            kind, body = "events_api", json.loads(request.body)
        else:
            form = dict(parse_qsl(request.body.decode(), keep_blank_values=True))
            kind = "interactive" if "payload" in form else "slash_commands"
            body = json.loads(form["payload"]) if "payload" in form else form
    except (ValueError, RecursionError):
        return None
    return (kind, body) if isinstance(body, dict) else None
