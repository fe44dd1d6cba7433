"""Requests over python-telegram-bot's HTTP layer: time limits, flood control, no token in any log."""

from __future__ import annotations

import json
import logging
import re
from typing import Any, Final

from telegram.request import HTTPXRequest, RequestData

from adapters.telegram.failures import FloodWait

UNTOLD_PAUSE_S: Final = 5.0
"""The pause where flood control does not say how long."""

UNREADABLE: Final = (TypeError, ValueError, AttributeError, LookupError)
"""What is raised where an answer is not what is expected, by the library as well."""

_TOKEN_IN_URL: Final = re.compile(r"/bot[^\s/?#]+")


def _hide_token(record: logging.LogRecord) -> bool:
    """httpx logs the address of every request, and Telegram's addresses contain the token."""
    if isinstance(record.args, tuple):
        record.args = tuple(_TOKEN_IN_URL.sub("/bot…", str(a)) if "/bot" in str(a) else a for a in record.args)
    return True


logging.getLogger("httpx").addFilter(_hide_token)


class Transport(HTTPXRequest):
    """The library's, but that 429 is told by an error of ours."""

    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *args: Any, **kwargs: Any
    ) -> tuple[int, bytes]:
        code, payload = await super().do_request(url, method, request_data, *args, **kwargs)
        if code == 429:
            raise FloodWait(_retry_after_s(payload))
        return code, payload


def transport(connections: int, timeout_s: float) -> Transport:
    return Transport(
        connection_pool_size=connections,
        read_timeout=timeout_s,
        write_timeout=timeout_s,
        connect_timeout=timeout_s,
        pool_timeout=timeout_s,
    )


def _retry_after_s(payload: bytes) -> float:
    try:
        return float(json.loads(payload)["parameters"]["retry_after"])
    except UNREADABLE:
        return UNTOLD_PAUSE_S
