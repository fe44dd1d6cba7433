"""What the keys of a browser's subscription may be, and how much a notification holds."""

from __future__ import annotations

MAX_CONTENT = 3_000
"""The bytes of a notification; services take 4,096 with all that is around them."""


class BadSubscription(ValueError):
    """What a browser sent are no keys of a subscription."""
