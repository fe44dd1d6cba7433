"""Thumbs among reactions, as ratings of what an agent said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from runtime.core.message import Rating

UP: Final = "\N{THUMBS UP SIGN}"
DOWN: Final = "\N{THUMBS DOWN SIGN}"

_NAMES: Final = {"+1": UP, "thumbsup": UP, "-1": DOWN, "thumbsdown": DOWN}


def rating_of_all(marks: Iterable[str]) -> Rating:
    """The rating by all the marks that a person has on a message now. A thumb up goes before one down."""
    thumbs = {_thumb(mark) for mark in marks}
    return "up" if "up" in thumbs else "down" if "down" in thumbs else "none"


def rating_of_one(mark: str, *, there: bool) -> Rating | None:
    """The rating by one mark that a person has put on a message, or taken away; None for other marks."""
    thumb = _thumb(mark)
    if thumb is None or there:
        return thumb
    return "not_up" if thumb == "up" else "not_down"


def _thumb(mark: str) -> Literal["up", "down"] | None:
    """A thumb of any colour, as an emoji or by one of its names between colons."""
    name = mark.strip(":").partition("::")[0]
    emoji = _NAMES.get(name, mark)
    return "up" if emoji.startswith(UP) else "down" if emoji.startswith(DOWN) else None
