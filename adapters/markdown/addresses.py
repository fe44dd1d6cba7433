"""Web addresses in a text, from scheme to end.

An address ends as on GitHub (its Markdown specification, extended autolinks): punctuation at the end is none of it,
brackets are if they are balanced. It also ends before CJK punctuation, marks of strong text and footnotes.
"""

from __future__ import annotations

import regex

_NONE = r"\s<>()\[\]\"`|\\\p{Cc}\u200b\ufeff\u201c\u201d\u2018\u2019\u2026[[\p{EA=W}\p{EA=F}]&&\p{P}]"
_END = r"?!.,:;*_~'"
_INSIDE = rf"(?:(?:(?!\*\*|~~)[{_END}])*+[^{_NONE}{_END}])"
_INNER = rf"\((?:{_INSIDE}|[{_END}]*+\([^{_NONE}]*+\))*+[{_END}]*+\)"
_ROUND = rf"\((?:{_INSIDE}|[{_END}]*+{_INNER})*+[{_END}]*+\)"
ADDRESS = regex.compile(
    rf"(?<![A-Za-z0-9+.-])https?://(?=[\p{{L}}\p{{N}}\[])(?:{_INSIDE}|[{_END}]*+(?:{_ROUND}|\[(?!\^)[^{_NONE}]*+\])|/)*+",
    regex.V1 | regex.IGNORECASE,
)
