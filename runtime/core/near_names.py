"""What to say about a name or a file that does not exist: the one that is probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


def name_advice(wrong: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a sentence about a wrong name: the nearest of the known ones, else `otherwise`, else all of them."""
    names = list(known)
    begun = [name for name in names if wrong and name.startswith(wrong)]
    near = get_close_matches(wrong, names, n=1) or begun
    return f'did you mean "{near[0]}"?' if near else otherwise or f"there are: {', '.join(names)}."


def file_advice(missing: Path, endings: tuple[str, ...], otherwise: str) -> str:
    """A sentence about a file or folder that is not there: the nearest beside it of these endings, or folder, if there
    is one.
    """
    try:
        beside = sorted(one.name for one in missing.parent.iterdir() if one.name.endswith(endings) or one.is_dir())
    except (OSError, ValueError):  # a name that no file can have
        beside = []
    beside.sort(key=lambda name: name.endswith(missing.suffix))  # of two of one name, the one that ends alike
    bare = {_bare(name, endings): name for name in beside}  # endings are alike where names are not
    near = get_close_matches(_bare(missing.name, endings), bare, n=1)
    return f"Did you mean {missing.parent / bare[near[0]]}?" if near else otherwise


def _bare(name: str, endings: tuple[str, ...]) -> str:
    return next((name.removesuffix(ending) for ending in endings if ending and name.endswith(ending)), name)


def mistakes_between(one: str, other: str, most: int) -> int | None:
    """The number of mistakes by which one word comes of the other: a letter more, less or another, or two exchanged.
    None for more than `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, theirs in enumerate(other, 1):
            cost = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (letter != theirs))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == theirs:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        before, last = last, now
        if min(now) > most:
            return None
    return last[-1] if last[-1] <= most else None
