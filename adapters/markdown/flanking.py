"""Which runs of `*`, `_` and `~` may open or close emphasis.

CommonMark's rules with the CJK-friendly amendments (github.com/tats-u/markdown-cjk-friendly, specification), because in
Chinese, Japanese and Korean no space stands beside a mark. Of a sum such as `2*3*4` or `a*b*c` the stars are signs.
"""

from __future__ import annotations

from functools import lru_cache

import regex

_WIDE = regex.compile(
    r"[[\p{EA=W}\p{EA=F}\p{EA=H}]--\p{Emoji_Presentation}]|\p{Hangul}|[\U000e0100-\U000e01ef]", regex.V1
)
_PUNCTUATION = regex.compile(r"[\p{P}\p{S}]")
_SELECTOR = regex.compile(r"[\ufe00-\ufe0e]")
_PRODUCT = regex.compile(r"(?:(?:[^\w]|\b)[A-Za-z]\*[A-Za-z](?:[^A-Za-z]|\Z)|.?\)\*[A-Za-z0-9])")
_PATH = regex.compile(r"[(\"'\[]*+(?:(?:[a-z0-9-]+\.)+[a-z]{2,}/|\.{0,2}/|~/)\S*+", regex.IGNORECASE)
_PATH_MAX = 200
_WIDE_QUOTE = regex.compile(r"[\u2018\u2019\u201c\u201d]\ufe01")


@lru_cache(maxsize=4096)
def _is_wide(char: str) -> bool:
    return _WIDE.match(char) is not None


@lru_cache(maxsize=4096)
def _is_punctuation(char: str) -> bool:
    return _PUNCTUATION.match(char) is not None


def flanks(text: str, start: int, end: int, until: int) -> tuple[bool, bool]:
    """Whether the run `text[start:end]` may open and may close; `until` is where its block ends."""
    last, after = text[start - 1 : start] or " ", text[end] if end < until else " "
    before = text[start - 2] if start > 1 and _SELECTOR.match(last) else last
    if text[start] == "*" and (
        _is_sign(before, after, end - start) or _PRODUCT.match(text, max(0, start - 2), end + 2)
    ):
        return False, False
    if text[start] == "_" and (after in "/" or after.isalnum()) and _is_in_path(text, start):
        return False, False
    wide_before = _is_wide(before) or _is_wide(last) or _WIDE_QUOTE.match(before + last) is not None
    mark_before, mark_after = _is_punctuation(before), _is_punctuation(after)
    hard_before, hard_after = mark_before and not wide_before, mark_after and not _is_wide(after)
    left = not after.isspace() and (not hard_after or before.isspace() or hard_before or wide_before)
    right = not before.isspace() and (not hard_before or after.isspace() or hard_after or _is_wide(after))
    if text[start] != "_":
        return left, right
    return left and (not right or mark_before), right and (not left or mark_after)


def _is_in_path(text: str, at: int) -> bool:
    """Whether an address without a scheme, or the path of a file, goes on here."""
    since = max(0, at - _PATH_MAX)
    begun = max(since, text.rfind(" ", since, at) + 1, text.rfind("\n", since, at) + 1)
    return _PATH.fullmatch(text, begun, at) is not None


def _is_sign(before: str, after: str, length: int) -> bool:
    around = before + after
    return around.isascii() and around.isalnum() and (around.isdigit() if length > 1 else not around.isalpha())
