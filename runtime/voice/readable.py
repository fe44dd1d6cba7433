"""The part of a text that can be read aloud: no code, no tables, no marks, and no more than is listened to."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_FENCED: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*\s*$|\Z)", re.MULTILINE | re.DOTALL)
_TABLE: Final = re.compile(r"^\s*\|.*\|\s*$\n?", re.MULTILINE)
_INDENTED: Final = re.compile(r"(?:\A|(?<=\n\n))(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+")
_PICTURE: Final = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")
_LINK: Final = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_ADDRESS: Final = re.compile(r"<?https?://[^\s>)]+>?")
_CODE: Final = re.compile(r"`+([^`\n]+)`+")
_LINE: Final = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+]\s+|\d{1,3}[.)]\s+|[-*_]{3,}\s*$)", re.MULTILINE)
_MARKS: Final = re.compile(r"(?<!\w)[*_~]{1,3}(?=\S)|(?<=\S)[*_~]{1,3}(?!\w)")
_SENTENCE: Final = re.compile(r"[.!?…]+[\"'”\u2019)\]]*(?=\s|$)|[\u3002\uff01\uff1f]+[\u300d\u300f\uff09]*")


def readable(text: str, chars: int) -> str:
    """What of an answer in Markdown is read aloud: whole sentences, at most `chars` characters; "" where nothing is."""
    for pattern in (_FENCED, _TABLE, _INDENTED, _PICTURE):
        text = pattern.sub("", text)
    text = _LINK.sub(r"\1", text)
    text = _CODE.sub(r"\1", _ADDRESS.sub("", text))
    text = _MARKS.sub("", _LINE.sub("", text))
    text = "".join(char for char in text if unicodedata.category(char) not in ("So", "Sk", "Cs", "Co", "Cf"))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    whole = " ".join(_ended(line) for line in lines if any(map(str.isalnum, line)))
    return _cut(whole, chars)


def _ended(line: str) -> str:
    """A line with a sentence's end, so that a pause follows it."""
    return line if line[-1] in ".!?…:;,\u3002\uff01\uff1f\uff0c\uff1a\uff1b" else f"{line}."


def _cut(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    ends = [found.end() for found in _SENTENCE.finditer(text[:chars])]
    if ends:
        return text[: ends[-1]]
    words = text[: chars - 1].rpartition(" ")[0] or text[: chars - 1]
    return f"{words}…"
