"""Slack as it calls an app: requests, signed, that must be answered within 3 s."""

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import aiohttp
import anyio

from runtime.core.clock import Clock
from tests.fakes.slack.events import Post
from tests.fakes.slack.platform import SIGNING_SECRET

ANSWER_WITHIN_S = 3.0

Send = Callable[[Mapping[str, str], bytes], Awaitable[tuple[int, bytes]]]
"""Sends a body with headers, to wherever the app is; the answer's status and body."""


def request(clock: Clock, kind: str, body: Mapping[str, Any], attempt: int = 0) -> tuple[dict[str, str], bytes]:
    """The headers, in lower case, and the body of a request."""
    if kind == "events_api":
        content, raw = "application/json", json.dumps(body).encode()
    else:
        form = {"payload": json.dumps(body)} if kind == "interactive" else dict(body)
        content, raw = "application/x-www-form-urlencoded", urlencode(form).encode()
    stamp = str(int(clock.now().timestamp()))
    signature = hmac.new(SIGNING_SECRET.encode(), f"v0:{stamp}:".encode() + raw, "sha256").hexdigest()
    headers = {
        "content-type": content,
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": f"v0={signature}",
    }
    if attempt:
        headers |= {"x-slack-retry-num": str(attempt), "x-slack-retry-reason": "http_error"}
    return headers, raw


def posting(clock: Clock, send: Send) -> Post:
    """What `EventQueue.post` needs; status 0 stands for no answer in time."""

    async def post(kind: str, body: Mapping[str, Any], attempt: int) -> tuple[int, Any]:
        headers, raw = request(clock, kind, body, attempt)
        try:
            with anyio.fail_after(ANSWER_WITHIN_S):
                status, answer = await send(headers, raw)
        except (TimeoutError, aiohttp.ClientError, OSError):
            return 0, None
        return status, json.loads(answer) if answer.startswith(b"{") else None

    return post


def to_url(session: aiohttp.ClientSession, url: str) -> Send:
    """Sends over the network."""

    async def send(headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        async with session.post(url, data=body, headers=headers) as answer:
            return answer.status, await answer.read()

    return send
