"""Going on with a message that broke off: what people have read is its beginning, and a model writes the rest.

Models do not always do as they are asked: some write the whole message again, some begin with the last words once more.
So the beginning and the rest are compared where they meet.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

LEAST_CHARS = 60
"""The length below which a message is written again from its start, which costs little."""

_SAME_CHARS = 20
"""The common length from which a rest counts as the whole message again."""

_OVERLAP_CHARS = 500
"""The distance within which the last words are searched for in the rest."""


def beginning(stands: str) -> str:
    """The part of a visible text that can be continued: its whole words, with the space after them. "" if that is not
    worthwhile.
    """
    end = max(stands.rfind(" "), stands.rfind("\n")) + 1
    return stands[:end] if end >= LEAST_CHARS else ""


async def joined(stands: str, pieces: AsyncIterator[str]) -> AsyncIterator[str]:
    """A message of which `stands` was seen, gone on with by `pieces`: all of it. Nothing comes before it is known how
    the two meet."""
    begun, rest, met = beginning(stands), "", False
    async for piece in pieces:
        if met:
            yield piece
            continue
        rest += piece
        text = _met(begun, rest.lstrip(), final=False)
        if text is not None:
            met = True
            yield text
    if not met:
        yield _met(begun, rest.strip(), final=True) or stands.rstrip()


def _met(begun: str, rest: str, *, final: bool) -> str | None:
    """The start and the rest as one text; None while more of the rest is needed, or if there is none."""
    same = _common_chars(begun, rest)
    whole = begun.rstrip()
    if same == len(rest) and same < len(whole):  # it may be the message from its beginning
        if not final or not rest:
            return None
        return whole if same >= _SAME_CHARS else begun + rest
    if same >= min(_SAME_CHARS, len(whole)):
        return rest
    repeated = _repeated(whole, rest, final=final)
    if repeated is None:
        return None
    return whole + rest[len(repeated) :] if repeated else begun + rest


def _repeated(whole: str, rest: str, *, final: bool) -> str | None:
    """The last words of the start that the rest repeats; None while there may be more."""
    near = whole[-_OVERLAP_CHARS:]
    starts = [at for at in range(len(near)) if not near[at].isspace() and (not at or near[at - 1].isspace())]
    for tail in (near[at:] for at in starts):
        if len(rest) <= len(tail) and tail.startswith(rest) and not final:
            return None
        after = rest[len(tail) : len(tail) + 1]
        if rest.startswith(tail) and not (after.isalnum() and tail[-1].isalnum()):
            return tail
    return ""


def _common_chars(one: str, other: str) -> int:
    """The length of their common beginning."""
    count = min(len(one), len(other))
    return next((at for at in range(count) if one[at] != other[at]), count)
