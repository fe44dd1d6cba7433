"""What to say about a name or a file that does not exist: the one that is probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


def name_advice(wrong: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a sentence about a wrong name: the nearest of the known ones, else `otherwise`, else all of them."""
    names = list(known)
    near = get_close_matches(wrong, names, n=1)
    return f'did you mean "{near[0]}"?' if near else otherwise or f"there are: {', '.join(names)}."


def file_advice(missing: Path, endings: tuple[str, ...], otherwise: str) -> str:
    """A sentence about a file or folder that is not there: the nearest beside it of these endings, or folder, if there
    is one.
    """
    try:
        beside = [one.name for one in missing.parent.iterdir() if one.name.endswith(endings) or one.is_dir()]
    except (OSError, ValueError):  # a name that no file can have
        beside = []
    near = get_close_matches(missing.name, sorted(beside), n=1)
    return f"Did you mean {missing.parent / near[0]}?" if near else otherwise
