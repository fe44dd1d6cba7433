"""Takes secrets out of what is written down for others to read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MASK = "********"
SHORTEST_SECRET = 6

SECRET_KEY = re.compile(r"token$|password|secret|api_key|authorization|cookie", re.IGNORECASE)
"""The names of secret values."""

_SECRET_TEXT = re.compile(r"\d{6,}:[\w-]{30,}|\bsk-[\w-]{8,}|(?<=://)[^/\s@]*(?=@)")
"""Telegram's tokens, the usual keys of model providers, and who logs in inside a URL."""


class Masking:
    """Knows texts that are never to be shown, and what others usually look like."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = sorted((secret for secret in secrets if secret), key=len, reverse=True)

    def hide(self, secrets: Iterable[str]) -> None:
        """More texts never to be shown. One too short to be a secret would make lines unreadable, and is."""
        more = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        self._secrets = sorted({*self._secrets, *more}, key=len, reverse=True)

    def masked(self, value: Any) -> str:
        """The text of a value without secrets."""
        text = str(value)
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return _SECRET_TEXT.sub(MASK, text)
