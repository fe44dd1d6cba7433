"""Requests over python-telegram-bot's HTTP layer: time limits, flood control, no token in any log."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from telegram import InputFile
from telegram.request import HTTPXRequest, RequestData

from adapters.telegram.api.failures import FloodWait

UNTOLD_PAUSE_S: Final = 5.0
"""The pause where flood control does not say how long."""

UNREADABLE: Final = (TypeError, ValueError, AttributeError, LookupError)
"""The exceptions of an unexpected answer, the library's included."""

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


class Parameters:
    """What a call is given, with the properties of the library's RequestData that its documentation names; how one of
    those is made, it keeps to itself. Values that are None are left out, files are sent beside the others."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = {name: value for name, value in values.items() if value is not None}

    @property
    def contains_files(self) -> bool:
        """Whether a file is uploaded."""
        return bool(self.multipart_data)

    @property
    def json_parameters(self) -> dict[str, str]:
        """Everything but files: texts as they are, all else as JSON."""
        plain = {name: value for name, value in self._values.items() if not isinstance(value, InputFile)}
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in plain.items()}

    @property
    def multipart_data(self) -> dict[str, Any]:
        """The files."""
        return {name: value.field_tuple for name, value in self._values.items() if isinstance(value, InputFile)}


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
