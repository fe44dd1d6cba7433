"""Excerpts: a piece of an entry's text around the words that were found, and where they stand in it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from gateway.tapes.search.words import Meant, Phrase, placed_words, texts_in

BEFORE_CHARS = 60
"""The length of the text before the first word that was found."""

EXCERPT_CHARS = 220

_LOOKED_AT = 20_000
"""The first characters of a text, in which words are looked for."""

_CUT = "…"

Piece = dict[str, Any]
"""`text`, and whether it is what was `found`."""


def excerpts(payloads: Sequence[Any], parts: Meant) -> list[list[Piece]]:
    """An excerpt of each payload."""
    return [_excerpt(payload, parts) for payload in payloads]


def _excerpt(payload: Any, parts: Meant) -> list[Piece]:
    """The pieces of the text that has most of what was asked for, in order; nothing where no single text has it."""
    best: tuple[int, str, list[tuple[int, int]]] = 0, "", []
    for whole in texts_in(payload):
        text = unicodedata.normalize("NFC", whole[:_LOOKED_AT])
        words = list(placed_words(text))
        found = [list(_places(words, part)) for part in parts]
        count = sum(bool(places) for places in found)
        if count > best[0]:
            best = count, text, sorted(place for places in found for place in places)
    _, text, places = best
    return _cut(text, places) if places else []


def _places(words: Sequence[tuple[str, int, int]], part: Sequence[Phrase]) -> Iterator[tuple[int, int]]:
    for phrase in part:
        *firsts, last = phrase.words
        for at in range(len(words) - len(firsts)):
            word = words[at + len(firsts)][0]
            if not (word == last or (phrase.begins and word.startswith(last))):
                continue
            if all(words[at + number][0] == first for number, first in enumerate(firsts)):
                start, end = words[at][1], words[at + len(firsts)][2]
                yield start, start + 1 if phrase.begins else end


def _cut(text: str, places: Sequence[tuple[int, int]]) -> list[Piece]:
    first = places[0][0]
    start = max(0, first - BEFORE_CHARS)
    if start:
        start = text.find(" ", start, first) + 1 or start
    stop = min(len(text), start + EXCERPT_CHARS)
    pieces: list[Piece] = [{"text": _CUT, "found": False}] if start else []
    at = start
    for begins, ends in places:
        begins, ends = max(begins, at), min(ends, stop)
        if begins >= ends:
            continue
        if begins > at:
            pieces.append({"text": text[at:begins], "found": False})
        pieces.append({"text": text[begins:ends], "found": True})
        at = ends
    if at < stop:
        pieces.append({"text": text[at:stop], "found": False})
    return [*pieces, {"text": _CUT, "found": False}] if stop < len(text) else pieces
