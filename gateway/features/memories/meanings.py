"""Memories found by what they mean: vectors that a model makes when somebody asks, and that can be made again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from heapq import nlargest, nsmallest
from math import sqrt
from operator import mul
from typing import Protocol

import anyio.lowlevel
from msgspec import Struct, field

from gateway.features.memories.books import AT_ONCE, indexed_text
from gateway.models.answers import BilledPerson
from runtime.stores.memories import MemoryScope, StoredMemory, VectorStore

IN_FULL = 24
"""So many vectors are compared in full."""

_SIGNS = bytes(ord("0") if byte < 0x80 else ord("1") for byte in range(256))

MADE_AT_ONCE = 31
"""So many memories are put into vectors with one question."""

MAX_CHARS = 1_000
"""So much of a question is read."""

VECTORS_KEPT = 20_000
"""The vectors that stay in memory, those of the scopes that were asked last."""

_QUESTIONS_KEPT = 256


class Vectors:
    """Vectors of one length, numbered from 0 in the order in which they are added."""

    def __init__(self) -> None:
        self._vectors: list[bytes] = []
        self._signs: list[int] = []
        self._lengths: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._vectors)

    def add(self, vector: bytes) -> None:
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


class Embedder(Protocol):
    """The model that puts texts into vectors."""

    @property
    def model(self) -> str:
        """The model's name: vectors of another one are of no use."""

    async def embed(self, texts: Sequence[str], payer: BilledPerson, /) -> Sequence[bytes] | None:
        """A vector of signed bytes for each text, within a time limit; None where there are none now."""


class _Shelf(Struct, frozen=True):
    """The vectors of an owner's memories in a scope. `numbered` are the memories that `nearest` numbers."""

    known: Mapping[str, bytes] = field(default_factory=dict)
    numbered: Sequence[StoredMemory] = ()
    vectors: Vectors = field(default_factory=Vectors)


class Meanings(Struct, eq=False):
    """Finds memories that share no word with a question. What they need is asked for with the question itself, so
    nothing waits for it but the answer to that question."""

    _store: VectorStore
    _embedder: Embedder
    _alike: float
    """The least cosine of what is found."""
    _shelves: OrderedDict[tuple[MemoryScope, str], _Shelf] = field(default_factory=OrderedDict)
    _questions: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    _length: int = 0
    """How long the model's vectors are: others that are kept come from before, and are made again."""

    async def found(
        self, memories: Sequence[StoredMemory], question: str, limit: int, payer: BilledPerson
    ) -> list[StoredMemory]:
        """The memories of an owner in a scope whose meaning is near a question, the nearest first; none where the model
        does not answer.

        Raises StorageUnavailable.
        """
        question = question.strip()[:MAX_CHARS]
        if not memories or not question:
            return []
        of = memories[0].scope, memories[0].owner
        shelf = self._shelves.get(of) or _Shelf()
        if shelf.numbered != memories:
            shelf = await self._shelved(memories, await self._known(memories, shelf.known))
        new = [] if shelf.numbered == memories else [one for one in memories if one.id not in shelf.known]
        shelf = await self._with_new(memories, shelf, new[-MADE_AT_ONCE:], question, payer)
        self._keep(of, shelf)
        vector = self._questions.get(question)
        if vector is None:
            return []
        return [shelf.numbered[number] for number in shelf.vectors.nearest(vector, limit, self._alike)]

    async def _known(self, memories: Sequence[StoredMemory], known: Mapping[str, bytes]) -> dict[str, bytes]:
        """The vectors that are made already, by the memories' ids."""
        found = {memory.id: known[memory.id] for memory in memories if memory.id in known}
        others = [memory for memory in memories if memory.id not in found]
        for start in range(0, len(others), AT_ONCE):
            some = others[start : start + AT_ONCE]
            found |= await self._store.vectors(some[0].scope, some, self._embedder.model)
        return self._of_now(found)

    def _of_now(self, vectors: Mapping[str, bytes]) -> dict[str, bytes]:
        return {id_: vector for id_, vector in vectors.items() if self._length in (0, len(vector))}

    async def _with_new(
        self,
        memories: Sequence[StoredMemory],
        shelf: _Shelf,
        new: Sequence[StoredMemory],
        question: str,
        payer: BilledPerson,
    ) -> _Shelf:
        """The shelf with the vectors of new memories; that of the question is kept as well."""
        asked = [] if question in self._questions else [question]
        made = await self._embedder.embed([*asked, *map(indexed_text, new)], payer) if asked or new else None
        if made is None:
            return shelf
        if self._length != len(made[0]):
            self._length = len(made[0])
            self._questions.clear()
            self._shelves.clear()
        if asked:
            self._questions[question] = made[0]
            while len(self._questions) > _QUESTIONS_KEPT:
                self._questions.popitem(last=False)
        vectors = list(zip(new, made[len(asked) :], strict=True))
        if vectors:
            await self._store.keep_vectors(new[0].scope, vectors, self._embedder.model)
        known = self._of_now(shelf.known) | {memory.id: vector for memory, vector in vectors}
        return shelf if known == shelf.known else await self._shelved(memories, known)

    async def _shelved(self, memories: Sequence[StoredMemory], known: Mapping[str, bytes]) -> _Shelf:
        """A shelf with vectors in the order of their memories."""
        numbered, vectors = [memory for memory in memories if memory.id in known], Vectors()
        for number, memory in enumerate(numbered, 1):
            vectors.add(known[memory.id])
            if number % AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()
        return _Shelf(known, numbered, vectors)

    def _keep(self, of: tuple[MemoryScope, str], shelf: _Shelf) -> None:
        self._shelves[of] = shelf
        self._shelves.move_to_end(of)
        while len(self._shelves) > 1 and sum(len(one.known) for one in self._shelves.values()) > VECTORS_KEPT:
            self._shelves.popitem(last=False)
