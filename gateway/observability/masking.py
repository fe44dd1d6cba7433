"""Removes secrets from text that others will read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MASK = "********"
SHORTEST_SECRET = 6

SECRET_KEY = re.compile(r"token$|password|secret|api_key|authorization|cookie", re.IGNORECASE)
"""The names of secret values."""

_SECRET_TEXT = re.compile(r"(?<!\d)\d{6,}+:[\w-]{30,}|\bsk-[\w-]{8,}|(?<=://)[^/\s@]*(?=@)")
"""Telegram tokens, the usual keys of model providers, and logins inside URLs."""


class Masking:
    """Knows texts that must never be shown, and the usual forms of secrets."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = sorted((secret for secret in secrets if secret), key=len, reverse=True)

    def hide(self, secrets: Iterable[str]) -> None:
        """Hide more texts. One that is too short to be a secret stays visible, since hiding it would make lines
        unreadable.
        """
        more = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        self._secrets = sorted({*self._secrets, *more}, key=len, reverse=True)

    def masked(self, value: Any) -> str:
        """The text of a value without secrets."""
        text = str(value)
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return _SECRET_TEXT.sub(MASK, text)
