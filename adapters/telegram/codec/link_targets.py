"""What a link may lead to on Telegram. Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_SCHEMES = frozenset({"http", "https", "mailto", "tel"})
"""The schemes of links. Without tg, whose links to `user?id=` mention people."""

PERSON = re.compile(r"person:telegram:(\d+)")
"""The target of a link that mentions a person."""


def is_link(url: str) -> bool:
    """Whether Telegram accepts it as a link's target."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in _SCHEMES and bool(parts.netloc or parts.path)
