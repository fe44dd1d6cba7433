"""Escapes for text that mrkdwn shall show literally. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

_LINK_SCHEMES = frozenset({"http", "https", "mailto", "tel", "slack"})
_ASTERISK_OPERATOR = "\u2217"
_FULL_WIDTH = str.maketrans("&<>", "\uff06\uff1c\uff1e")


def escape(text: str) -> str:
    """Text that Slack shows literally (docs.slack.dev/messaging/formatting-message-text, escaping)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def full_width(text: str) -> str:
    """Text with full-width forms instead of characters that need escapes."""
    return text.translate(_FULL_WIDTH)


def bold(text: str) -> str:
    """One line in bold."""
    return f"*{escape(text).replace('*', _ASTERISK_OPERATOR)}*"


def is_link(url: str) -> bool:
    """Whether Slack accepts it as a link's target."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in _LINK_SCHEMES and bool(parts.netloc or parts.path)


def link_target(url: str) -> str:
    """A link's target for angle brackets."""
    return url.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C").replace(" ", "%20")
