"""What a person sees of Slack's blocks: tables of rich text, and mrkdwn.

Of mrkdwn (docs.slack.dev, formatting message text): `<target|label>`, marks at the edges of words, code as
it is, three escapes. A zero-width space is an edge.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.fidelity.seen import NAME, PERSON, Seen, seen

_BLOCK = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_TOKEN = re.compile(r"`([^`\n]+)`|<([^<>|]+)(?:\|([^<>]*))?>|([*_~])")
_LOOKS = {"*": "b", "_": "i", "~": "s"}


_STYLES = {"bold": "b", "italic": "i", "strike": "s", "code": "c"}


def read_blocks(blocks: Sequence[Mapping[str, Any]]) -> list[Seen]:
    shown: list[Seen] = []
    for block in blocks:
        shown += _table(block) if block["type"] == "table" else read(block["text"]["text"])
    return shown


def _table(block: Mapping[str, Any]) -> list[Seen]:
    shown: list[Seen] = []
    for row in block["rows"]:
        for piece in (piece for cell in row for part in cell["elements"] for piece in part["elements"]):
            looks = "".join(_STYLES[style] for style in piece.get("style", ()))
            shown += (
                _person(piece["user_id"], looks)
                if piece["type"] == "user"
                else seen(piece["text"], looks, piece.get("url"))
            )
    return shown


def _person(number: str, looks: str) -> list[Seen]:
    assert number == "U1", "it pings"
    return seen(f"@{NAME}", looks, PERSON)


def read(mrkdwn: str) -> list[Seen]:
    shown: list[Seen] = []
    at = 0
    for block in _BLOCK.finditer(mrkdwn):
        shown += _prose(mrkdwn[at : block.start()]) + seen(_unescaped(block[1]), "c")
        at = block.end()
    return shown + _prose(mrkdwn[at:])


def _prose(text: str) -> list[Seen]:
    return [one for line in text.split("\n") for one in _line(re.sub(r"^(?:> ?)?[ ]*(?:• )?", "", line), "", None)]


def _line(line: str, looks: str, target: str | None) -> list[Seen]:
    shown: list[Seen] = []
    at = 0
    while at < len(line):
        found = _TOKEN.match(line, at)
        close = _closing(line, at) if found and found[4] else -1
        if found is None or (found[4] and close < 0):
            entity = re.match(r"&(?:amp|lt|gt);", line[at:])
            size = entity.end() if entity else 1
            shown += seen(_unescaped(line[at : at + size]), looks, target)
            at += size
        elif found[4]:
            shown += _line(line[at + 1 : close], looks + _LOOKS[found[4]], target)
            at = close + 1
        elif found[1] is not None:
            shown += seen(_unescaped(found[1]), looks + "c", target)
            at = found.end()
        elif found[2].startswith("@"):
            shown += _person(found[2][1:], looks)
            at = found.end()
        else:
            assert re.match(r"https?:|mailto:|tel:", found[2]), "it pings"
            link = _unescaped(found[2])
            shown += _line(found[3], looks, link) if found[3] is not None else seen(link, looks, link)
            at = found.end()
    return shown


def _closing(line: str, at: int) -> int:
    """Where the mark at `at` is closed; -1 where it is a sign."""
    mark, before, after = line[at], line[at - 1 : at], line[at + 1 : at + 2]
    if before.isalnum() or not after or after.isspace() or after == mark:
        return -1
    for found in re.finditer(re.escape(mark), line):
        end = found.start()
        inside = "`" in line[at:end] and line[at:end].count("`") % 2
        in_link = line.rfind("<", at, end) > line.rfind(">", at, end)
        if (
            end > at + 1
            and not line[end - 1].isspace()
            and not line[end + 1 : end + 2].isalnum()
            and not inside
            and not in_link
        ):
            return end
    return -1


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
