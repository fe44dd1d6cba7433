"""Meanings of texts as vectors of signed bytes, and the nearest of many.

The signs of all numbers are compared first, as bits of one integer, and only the nearest of those in full.
"""

from __future__ import annotations

from heapq import nlargest, nsmallest
from math import sqrt
from operator import mul

IN_FULL = 24
"""So many vectors are compared in full."""

_SIGNS = bytes(ord("0") if byte < 0x80 else ord("1") for byte in range(256))


class Vectors:
    """Vectors of one length, numbered from 0 in the order in which they are added."""

    def __init__(self) -> None:
        self._vectors: list[bytes] = []
        self._signs: list[int] = []
        self._lengths: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._vectors)

    def add(self, vector: bytes) -> None:
        """Add a vector."""
        self._vectors.append(vector)
        self._signs.append(_signs(vector))

    def nearest(self, vector: bytes, limit: int, alike: float) -> list[int]:
        """The numbers of the vectors whose cosine with this one is at least `alike`, the nearest first."""
        signs, count = _signs(vector), max(IN_FULL, limit)
        apart = [(other ^ signs).bit_count() for other in self._signs]
        near = nsmallest(count, range(len(apart)), key=apart.__getitem__)
        length = _length(vector)
        found = [(self._cosine(number, vector, length), number) for number in near]
        return [number for cosine, number in nlargest(limit, found) if cosine >= alike]

    def _cosine(self, number: int, vector: bytes, length: float) -> float:
        own = self._vectors[number]
        if number not in self._lengths:
            self._lengths[number] = _length(own)
        lengths = self._lengths[number] * length
        return _product(own, vector) / lengths if lengths else 0.0


def _signs(vector: bytes) -> int:
    return int(vector.translate(_SIGNS), 2)


def _length(vector: bytes) -> float:
    return sqrt(_product(vector, vector))


def _product(one: bytes, other: bytes) -> int:
    return sum(map(mul, memoryview(one).cast("b"), memoryview(other).cast("b")))
