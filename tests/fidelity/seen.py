"""What is seen of a text: its characters, each with how it looks and where it leads."""

from collections.abc import Sequence
from urllib.parse import unquote

from msgspec import Struct

INVISIBLE = "\u200b\u2060"
PERSON = "person"
"""Where a mention leads."""
NAME = "Ada Lovelace"
_ALIKE = str.maketrans("\u2217\u02cd\u223c\u02cb", "*_~`")
"""What looks like a sign, and the sign."""


class Seen(Struct, frozen=True):
    """A character. `looks` has b, i, s for emphasis, c for code, d for the signs around a formula."""

    char: str
    looks: frozenset[str] = frozenset()
    target: str | None = None


def seen(text: str, looks: str = "", target: str | None = None) -> list[Seen]:
    """The characters of a text, without white space."""
    kept = text if "c" in looks else text.translate(dict.fromkeys(map(ord, INVISIBLE)))
    return [Seen(char, frozenset(looks), target) for char in kept.translate(_ALIKE) if not char.isspace()]


def words(characters: Sequence[Seen]) -> str:
    return "".join(one.char for one in characters)


def code(characters: Sequence[Seen]) -> str:
    return "".join(one.char for one in characters if "c" in one.looks)


def targets(characters: Sequence[Seen]) -> list[tuple[str, str]]:
    """The links in order: what leads somewhere, and where."""
    found: list[tuple[str, str]] = []
    before: str | None = None
    for one in characters:
        target = None if one.target is None else unquote(one.target)
        if target is not None and target == before:
            found[-1] = (found[-1][0] + one.char, target)
        elif target is not None:
            found.append((one.char, target))
        before = target
    return found


def without_rules(characters: Sequence[Seen]) -> list[Seen]:
    """The characters with one dash for each line of dashes that a table in code has below its head."""
    kept: list[Seen] = []
    for one in characters:
        rule = one.char in "-+" and "c" in one.looks and kept and kept[-1].char == "-" and "c" in kept[-1].looks
        kept += [] if rule else [one]
    return kept


def equal_looks(shown: Sequence[Seen], meant: Sequence[Seen]) -> int:
    """How many characters have the emphasis that was meant."""
    return sum((one.looks - {*"cd"}) == (two.looks - {*"cd"}) for one, two in zip(shown, meant, strict=False))
