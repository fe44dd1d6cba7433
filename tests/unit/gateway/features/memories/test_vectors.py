"""The nearest of many vectors."""

from __future__ import annotations

import random

from benchmarks.programs.memories import MOST_MS, made_vectors, nearest_ms
from gateway.features.memories.meanings import Vectors


def signed(numbers: list[int]) -> bytes:
    return bytes(number & 0xFF for number in numbers)


def cosine(one: bytes, other: bytes) -> float:
    ours, theirs = (memoryview(vector).cast("b") for vector in (one, other))
    product = sum(a * b for a, b in zip(ours, theirs, strict=True))
    return float(product / (sum(a * a for a in ours) * sum(b * b for b in theirs)) ** 0.5)


def test_the_nearest_come_first_and_none_that_is_farther_than_asked_for() -> None:
    rng, vectors = random.Random(3), Vectors()
    asked = signed([rng.randint(-127, 127) for _ in range(256)])
    near = [signed([n if rng.random() < part else rng.randint(-127, 127) for n in asked]) for part in (0.9, 0.6, 0.75)]
    others = [signed([rng.randint(-127, 127) for _ in range(256)]) for _ in range(500)]
    all_of_them = [*others[:200], *near, *others[200:]]
    for vector in all_of_them:
        vectors.add(vector)
    found = vectors.nearest(asked, 8, 0.4)
    assert found == sorted(found, key=lambda number: -cosine(all_of_them[number], asked))
    assert set(found) == {number for number, one in enumerate(all_of_them) if cosine(one, asked) >= 0.4}
    assert vectors.nearest(asked, 2, 0.4) == found[:2]


def test_a_vector_of_nothing_is_near_to_nothing() -> None:
    vectors = Vectors()
    assert vectors.nearest(b"\x01\x02", 8, 0.1) == []
    vectors.add(b"\x00\x00")
    assert vectors.nearest(b"\x01\x02", 8, 0.1) == []


def test_one_of_ten_thousand_is_found_within_its_time() -> None:
    vectors, asked, wanted = made_vectors(random.Random(1))
    assert vectors.nearest(asked, 8, 0.3)[0] == wanted
    assert nearest_ms(vectors, asked) < 4 * MOST_MS
