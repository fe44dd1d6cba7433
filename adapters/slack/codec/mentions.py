"""Text that Slack shows literally, links `[@Name](person:slack:<workspace>:<person>)` as Slack's mentions, and Markdown
for its streams. Pure.

Slack reads the Markdown of streams itself, and code in it literally: code, addresses and packages' names stay as they
are. Elsewhere what would ping is broken up.
"""

from __future__ import annotations

import re

import regex

from adapters.markdown.mentions import code_pieces
from adapters.markdown.reading import ADDRESS, PACKAGE
from adapters.markdown.tables import ROW_BEGUN

MAX_HELD = 300
"""The number of characters for which an incomplete mention, a row of a table, or code without an end is held back."""
EDGE = "\u200b"
"""A zero-width space, which keeps two characters from being read together."""
MENTION_LINK = re.compile(r"\[@([^\]\n]*)\]\((person:[^)\s]*)\)")
"""The name and the target of a link that mentions a person."""
_PINGS = regex.compile(
    rf"(?P<kept>{ADDRESS.pattern})|(?P<package>{PACKAGE.pattern})"
    r"|<(?=@[UWB]|#[CDG]|!(?:here|channel|everyone|group|subteam|date)\b)|(?<!\w)@(?=(?:here|channel|everyone)\b)",
    ADDRESS.flags & ~regex.IGNORECASE,
)
_UNFINISHED = re.compile(
    r"(?:\[@?[^\]\n]*(?:\](?:\([^)\s]*)?)?|<[@#!]?\w{0,10}|(?<!\w)@[\w./-]*"
    r"|(?<![A-Za-z0-9])(?:ht{0,2}|https?:?/?|https?://\S*))\Z"
)
_PERSON = re.compile(r"person:slack:([TE][A-Z0-9]+):([UW][A-Z0-9]+)")

SCHEMES = frozenset({"http", "https", "mailto", "tel", "slack"})
_ASTERISK_OPERATOR = "\u2217"
FULL_WIDTH = str.maketrans("&<>", "\uff06\uff1c\uff1e")


def escape(text: str) -> str:
    """Text that Slack shows literally (docs.slack.dev/messaging/formatting-message-text, escaping)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def bold(text: str) -> str:
    return f"*{escape(text).replace('*', _ASTERISK_OPERATOR)}*"


def link_target(url: str) -> str:
    return url.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C").replace(" ", "%20")


def person_of(target: str) -> str | None:
    """The mention for a link's target; None for another link."""
    found = _PERSON.fullmatch(target)
    return None if found is None else f"<@{found[2]}>"


def harmless(text: str, team: str, since: int = 0) -> str:
    """Markdown that pings only the people of the workspace that it mentions by our links; the part from `since` on."""
    shown, end = "", 0
    for piece, code in code_pieces(text, growing=False):
        start, end = end, end + len(piece)
        rest = piece[max(0, since - start) :]
        shown += rest if code else _mentioned(rest, team)
    return shown


def certain(text: str) -> int:
    """The length of the part of a growing text that is read the same whatever follows."""
    end = 0
    for piece, code in code_pieces(text, growing=True):
        last = end + len(piece) == len(text) and len(piece) <= MAX_HELD
        if code and last and piece.startswith("`") and not piece.endswith("\n"):
            break
        end += len(piece)
    tail = _UNFINISHED.search(text, max(0, end - MAX_HELD), end)
    end = end if tail is None else tail.start()
    row = _before_half_row(text, end)
    return row if len(text) - row <= MAX_HELD else end


def _before_half_row(text: str, end: int) -> int:
    """`end`, or the start of the row of a table that it is in; of the head, as long as nothing stands below it."""
    start = text.rfind("\n", 0, end) + 1
    if start < end and not ROW_BEGUN.match(text, start, end):
        return end
    head = text.rfind("\n", 0, max(0, start - 1)) + 1
    above = text.rfind("\n", 0, max(0, head - 1)) + 1
    alone = head < start and ROW_BEGUN.match(text, head) and not (above < head and ROW_BEGUN.match(text, above))
    return head if alone else start


def _mentioned(text: str, team: str) -> str:
    shown, position = "", 0
    for link in MENTION_LINK.finditer(text):
        person = _PERSON.fullmatch(link[2])
        mention = f"<@{person[2]}>" if person is not None and person[1] == team else _disarmed(f"@{link[1]}")
        shown += _disarmed(text[position : link.start()]) + mention
        position = link.end()
    return shown + _disarmed(text[position:])


def _disarmed(text: str) -> str:
    return str(_PINGS.sub(_shown, text))


def _shown(found: regex.Match[str]) -> str:
    return found["kept"] or (f"`{found[0]}`" if found["package"] else found[0] + EDGE)
