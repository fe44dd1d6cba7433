"""The words by which memories are found: stems, and pairs of characters where a script has no spaces between words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_RUNS = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+"
    r"|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]+"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]")

_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a about all also am an and any anything are as at be been being but by can could did do does done each"
        " else ever everything few for from had has have he her here him his how i if in into is it its itself just"
        " know known me mine more most much my myself no not now of on one only or other our out over own person"
        " people please recall remember said say says she should so some something still such tell than that the"
        " their them then there these they thing things this those to too up us user very was we were what when"
        " where which who whom whose why will with would yes you your s t re ve ll d m don didn doesn isn won",
    )
)
"""Words by which nothing is found."""

_ENDINGS = (
    ("ational", "ate"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("arians", "arian"),
    ("ically", "ic"),
    ("ingly", ""),
    ("fully", ""),
    ("ness", ""),
    ("ments", ""),
    ("ment", ""),
    ("ings", ""),
    ("ing", ""),
    ("iest", "y"),
    ("ies", "y"),
    ("ied", "y"),
    ("ers", ""),
    ("er", ""),
    ("ed", ""),
    ("ly", ""),
    ("es", ""),
    ("s", ""),
)
_LEAST_STEM = 3


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """The part of an English word that its forms share: "allergies" and "allergy", "working" and "works"."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    if len(word) > _LEAST_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > _LEAST_STEM else word


def runs(text: str) -> Iterator[str]:
    """The words of a text in small letters without accents; a run of Chinese, Japanese or Korean is one."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    yield from _RUNS.findall(unicodedata.normalize("NFC", "".join(c for c in plain if not unicodedata.combining(c))))


def is_unspaced(word: str) -> bool:
    """Whether it is a run of a script that puts no spaces between words."""
    return _UNSPACED.match(word) is not None


def tokens(text: str) -> list[str]:
    """What a text is found by, in order: stems, and of scripts without spaces each pair of characters."""
    found: list[str] = []
    for word in runs(text):
        if is_unspaced(word):
            found += [word] if len(word) == 1 else [word[at : at + 2] for at in range(len(word) - 1)]
        elif word not in _EMPTY:
            found.append(stem(word))
    return found
