"""The memories of a node: read from the store, indexed once, and searched; and found by what they mean: vectors that a
model makes when somebody asks, and that can be made again.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest, nsmallest
from math import sqrt
from operator import mul
from typing import Protocol, Self

import anyio
import anyio.lowlevel
from msgspec import Struct, field

from adapters.records import Records
from gateway.features.memories.index import MemoryIndex, tokens
from gateway.features.memories.settings import MemorySettings
from gateway.models.answers import BilledPerson
from runtime.core.clock import Clock
from runtime.stores.memories import MemoryScope, MemoryStore, StoredMemory, VectorStore

_ALIKE = 0.6
"""The part of the words of two texts that has to be common to both."""

_LEAST_COMMON = 2

_SINGLE = re.compile(
    r"\b(?:(?:lives?|living|moved|resides?) (?:in|at|to)|(?:works?|working) (?:at|for|as)|is (?:called|named)"
    r"|goes by|(?:prefers|wants) to be called|was born (?:in|on)|speaks mostly)\b",
    re.IGNORECASE,
)
"""What a person does in one place, or has one of, at a time."""

_SINGLE_KEYS = {"moved": "live", "live": "live", "lives": "live", "living": "live", "reside": "live", "resides": "live"}

_ATTRIBUTE = re.compile(
    r"^(?:(?:the )?(?:user|person|\w+)['\u2019]s|their|his|her|my|your|our|the) (.{2,60}?) (?:is|are|was|were) ",
    re.IGNORECASE,
)
"""The beginning of "Her favourite colour is green"."""

_KINDS = (
    frozenset(tokens("vegetarian vegan pescatarian omnivore")),
    frozenset(tokens("married single divorced widowed engaged")),
)
"""Of each of these a person is one at a time."""

BOOKS_KEPT = 256
"""The books that stay in memory, those that were read last."""

AT_ONCE = 200
"""The memories that are indexed before others have their turn."""
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


def replaced_by(text: str, owner: str, about: str, known: Sequence[StoredMemory]) -> tuple[str, ...]:
    """The ids of the memories that a new text of this owner replaces."""
    new = _read(text)
    return tuple(
        old.id for old in known if (old.owner, old.about) == (owner, about) and new.is_about_the_same(_read(old.text))
    )


class _Told:
    """What a text tells, as far as it matters here."""

    def __init__(self, text: str) -> None:
        self._words = frozenset(tokens(text))
        single = _SINGLE.search(text)
        self._does = "" if single is None else _key(single[0])
        attribute = _ATTRIBUTE.match(text.strip())
        self._attribute = frozenset() if attribute is None else frozenset(tokens(attribute[1]))
        self._kinds = frozenset(number for number, kind in enumerate(_KINDS) if kind & self._words)

    def is_about_the_same(self, older: _Told) -> bool:
        if self._does and self._does == older._does:
            return True
        if self._attribute and self._attribute == older._attribute:
            return True
        if self._kinds & older._kinds:
            return True
        common = len(self._words & older._words)
        either = len(self._words | older._words)
        whole = bool(self._words) and self._words == older._words
        return whole or (common >= _LEAST_COMMON and common / either >= _ALIKE)


@lru_cache(maxsize=4096)
def _read(text: str) -> _Told:
    return _Told(text)


def _key(does: str) -> str:
    first, *more = does.lower().split()
    return _SINGLE_KEYS.get(first) or " ".join([first.removesuffix("s").removesuffix("ing"), *more])


class Silence(Struct, frozen=True):
    """The people who do not want to be remembered, by program; without `records` nobody. Raises StorageUnavailable."""

    _records: Records | None = None

    async def holds(self, program: str, person: str) -> bool:
        """Whether nothing of a person is remembered or used."""
        return self._records is not None and await self._records.get(f"{person} {program}") is not None

    async def begin(self, program: str, person: str) -> None:
        if self._records is not None:
            await self._records.put(f"{person} {program}", "off")

    async def end(self, program: str, person: str) -> None:
        if self._records is not None:
            await self._records.remove(f"{person} {program}")


class Book(Struct):
    """The memories of one scope, the oldest first, and those of them that no newer one replaces."""

    memories: Sequence[StoredMemory] = ()
    current: list[StoredMemory] = field(default_factory=list)
    index: MemoryIndex = field(default_factory=MemoryIndex)
    version: str = ""

    @classmethod
    def of_all(cls, memories: Sequence[StoredMemory]) -> Self:
        current = current_of(memories)
        return cls(memories, current, MemoryIndex(map(indexed_text, current)))

    def of(self, owner: str) -> list[StoredMemory]:
        return [memory for memory in self.current if memory.owner == owner]

    def found(self, question: str, owner: str, limit: int) -> list[StoredMemory]:
        """The current memories of an owner that fit a question, the best first."""
        several = limit if all(memory.owner == owner for memory in self.current) else len(self.current)
        numbers = self.index.search(question, several)
        hits = (self.current[number] for number in numbers if number < len(self.current))  # it may have grown since
        return [memory for memory in hits if memory.owner == owner][:limit]


class Memories(Struct, frozen=True):
    """The memories of all sessions of a node. `_on` says of each program whether it remembers anything."""

    store: MemoryStore
    clock: Clock
    _on: Callable[[str], bool | None]
    silence: Silence
    limits: MemorySettings = field(default_factory=MemorySettings)
    _books: OrderedDict[MemoryScope, Book] = field(default_factory=OrderedDict)
    _indexing: anyio.Lock = field(default_factory=anyio.Lock)

    def on(self, program: str) -> bool:
        return bool(self._on(program))

    def off(self) -> Memories:
        return Memories(self.store, self.clock, lambda _: False, self.silence, self.limits)

    async def book(self, scope: MemoryScope) -> Book:
        """The memories of a scope as they are now. Those that are too old are deleted."""
        version = await self.store.version(scope)
        known = self._books.get(scope)
        oldest_s = self.clock.now().timestamp() - self.limits.keep_s
        if known is None or known.version != version or any(one.made_s < oldest_s for one in known.memories[:1]):
            known = await self._read(scope, version, known)
        self._books[scope] = known
        self._books.move_to_end(scope)
        while len(self._books) > BOOKS_KEPT:
            self._books.popitem(last=False)
        return known

    async def trim(self, scope: MemoryScope) -> None:
        """Forget the oldest of those that newer ones replace, where they are as many as a scope may have memories."""
        book = await self.book(scope)
        replaced = [memory.id for memory in book.memories if memory not in book.current]
        excess = len(replaced) - self.limits.bound(scope)
        if excess > 0:
            await self.store.forget(scope, replaced[:excess])

    async def _read(self, scope: MemoryScope, version: str, known: Book | None) -> Book:
        kept = sorted(await self.store.all(scope), key=lambda memory: memory.made_s) if version else []
        oldest_s = self.clock.now().timestamp() - self.limits.keep_s
        old = [memory.id for memory in kept if memory.made_s < oldest_s]
        if old:
            await self.store.forget(scope, old)
            version = await self.store.version(scope)
            kept = [memory for memory in kept if memory.made_s >= oldest_s]
        current = current_of(kept)
        async with self._indexing:
            return Book(kept, current, await self._indexed(current, known), version)

    async def _indexed(self, current: Sequence[StoredMemory], known: Book | None) -> MemoryIndex:
        """An index over memories: that of a book which had the first of them, with the others."""
        grown = known is not None and known.current == current[: len(known.current)]
        index = known.index if known is not None and grown and len(known.index) <= len(current) else MemoryIndex()
        for number, memory in enumerate(current[len(index) :], 1):
            index.add(indexed_text(memory))
            if number % AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()
        return index


def current_of(memories: Sequence[StoredMemory]) -> list[StoredMemory]:
    """Those that no newer one replaces."""
    replaced = {id_ for memory in memories for id_ in memory.replaces}
    return [memory for memory in memories if memory.id not in replaced]


def indexed_text(memory: StoredMemory) -> str:
    """The words by which a memory is found."""
    return f"{memory.about} {memory.text}" if memory.about else memory.text


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
