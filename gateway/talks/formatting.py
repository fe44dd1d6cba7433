"""Talk files laid out in one way: headings, marks of items, blank lines. No word changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gateway.talks.parsing.document import Source, Title, blocks, source_of
from gateway.talks.parsing.items import Item
from runtime.language.diagnostics import Diagnostic, ProgramRejected, Span

_LINE_END = re.compile(r"\r\n|\n|\r")
_BULLETS = ("*", "+", "-")


def formatted_talks(content: bytes, path: Path) -> str:
    """The text of a talk file, laid out. Raises ProgramRejected for one that cannot be read.

    What is indented below an item, prose, fences and comments stay as they are to the character.
    """
    source = source_of(content, path)
    text = content.decode("utf-8")
    end = "\r\n" if "\r\n" in text else "\n"
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    new = mark + "".join(row + end for row in _rows(source, _LINE_END.split(text.removeprefix("\ufeff"))))
    if _said(source_of(new.encode("utf-8"), path)) != _said(source):
        hint = "It is left as it is. This is a fault of Parley: please report it with the talk."
        raise ProgramRejected([Diagnostic("formatting would change what this says", Span(str(path), 1), hint=hint)])
    return new


def _said(source: Source) -> list[tuple[str, str]]:
    """What stands in a talk file, without its places."""
    return [
        (f"{'#' * one.level} {one.title}", "") if isinstance(one, Title) else (one.first, one.text(""))
        for one in blocks(source.lines)
    ]


def _rows(source: Source, rows: list[str]) -> Iterator[str]:
    found = {one.line.number - 1: one for one in blocks(source.lines)}
    blank, begun, after_title = 0, False, False
    at = 0
    while at < len(rows):
        one = found.get(at)
        if one is None and not rows[at].strip():
            blank, at = blank + 1, at + 1
            continue
        known = after_title or isinstance(one, Title)
        apart = 1 if known else blank if one is None else min(blank, 1)
        yield from [""] * (apart if begun else 0)
        taken = [rows[at]] if one is None else _laid_out(one, rows[at])
        yield from taken
        blank, begun, after_title, at = 0, True, isinstance(one, Title), at + len(taken)


def _laid_out(one: Title | Item, row: str) -> list[str]:
    """A heading or an item, with what is indented below it up to its last words."""
    if isinstance(one, Title):
        return [f"{'#' * one.level} {one.title}"]
    mark = row.split(maxsplit=1)[0]
    more = list(one.more)
    while more and not more[-1].strip():
        more.pop()
    return [f"{'-' if mark in _BULLETS else mark} {one.first.lstrip()}".rstrip(), *more]
