"""Valid keys of a browser's subscription, and the room in a notification."""

from __future__ import annotations

MAX_CONTENT = 3_000
"""The bytes of a notification; services take 4,096 with all that is around them."""


class BadSubscription(ValueError):
    """The keys that a browser sent are not those of a subscription."""
