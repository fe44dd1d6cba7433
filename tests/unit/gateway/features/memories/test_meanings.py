"""Memories are found by what they mean, with vectors that are made when somebody asks. A newer memory about the same
thing replaces an older one. The nearest of many vectors.
"""

import random
from collections.abc import Sequence

import pytest

from benchmarks.programs.memories import MOST_MS, made_vectors, nearest_ms
from gateway.features.memories.books import MADE_AT_ONCE, Meanings, Vectors, replaced_by
from gateway.models.answers import BilledPerson
from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.stores.memories import MemoryScope, StoredMemory
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.models.meanings import Embedding

ADAS = MemoryScope("person", "cook", "test:Ada")
PAYER = BilledPerson(SessionId("s"), Address("test", "1"), "test:Ada")
QUESTION = "What shall we cook for her?"


def memories(*texts: str) -> list[StoredMemory]:
    return [StoredMemory(text, ADAS, "test:Ada", "", text, 1.0, "test:1", SessionId("s")) for text in texts]


async def kept(*texts: str) -> tuple[MemoryMemories, Sequence[StoredMemory]]:
    store = MemoryMemories()
    for memory in memories(*texts):
        await store.keep(memory, keep_s=1000)
    return store, list(await store.all(ADAS))


async def found(meanings: Meanings, of: Sequence[StoredMemory], question: str = QUESTION) -> list[str]:
    return [memory.text for memory in await meanings.found(of, question, 8, PAYER)]


async def test_a_memory_that_shares_no_word_is_found_and_each_text_is_asked_for_once() -> None:
    store, own = await kept("plays the cello", "is vegetarian")
    model = Embedding()
    meanings = Meanings(store, model, 0.3)
    assert await found(meanings, own) == ["is vegetarian"]
    assert await found(meanings, own) == ["is vegetarian"]
    assert await found(meanings, own, "Who makes music?") == ["plays the cello"]
    assert model.asked == [[QUESTION, "plays the cello", "is vegetarian"], ["Who makes music?"]]
    assert model.paid == [PAYER, PAYER]


async def test_another_node_reads_the_vectors_and_asks_only_for_the_question() -> None:
    store, own = await kept("is vegetarian")
    await found(Meanings(store, Embedding(), 0.3), own)
    model = Embedding()
    assert await found(Meanings(store, model, 0.3), own) == ["is vegetarian"]
    assert model.asked == [[QUESTION]]


async def test_another_model_makes_its_own_vectors() -> None:
    store, own = await kept("is vegetarian")
    await found(Meanings(store, Embedding(), 0.3), own)
    model = Embedding("openai/other")
    assert await found(Meanings(store, model, 0.3), own) == ["is vegetarian"]
    assert model.asked == [[QUESTION, "is vegetarian"]]


async def test_vectors_of_another_length_are_made_again() -> None:
    store, own = await kept("is vegetarian", "plays the cello")
    await found(Meanings(store, Embedding(), 0.3), own)
    model = Embedding()
    model.numbers = 128
    meanings = Meanings(store, model, 0.3)
    await found(meanings, own)
    assert await found(meanings, own) == ["is vegetarian"]
    assert model.asked == [[QUESTION], ["is vegetarian", "plays the cello"]]


async def test_without_an_answer_nothing_is_found_and_the_next_question_finds_it() -> None:
    store, own = await kept("is vegetarian")
    model = Embedding()
    model.answers = False
    meanings = Meanings(store, model, 0.3)
    assert await found(meanings, own) == []
    model.answers = True
    assert await found(meanings, own) == ["is vegetarian"]


async def test_of_many_new_memories_some_are_read_with_each_question_the_newest_first() -> None:
    store, own = await kept("is vegetarian", *(f"fact {number}" for number in range(MADE_AT_ONCE)))
    model = Embedding()
    meanings = Meanings(store, model, 0.3)
    assert await found(meanings, own) == []
    assert await found(meanings, own) == ["is vegetarian"]
    assert [len(texts) for texts in model.asked] == [1 + MADE_AT_ONCE, 1]


async def test_a_forgotten_memory_is_no_longer_found_and_a_new_one_is() -> None:
    store, own = await kept("is vegetarian", "plays the cello")
    meanings = Meanings(store, Embedding(), 0.3)
    await found(meanings, own)
    await store.forget(ADAS, ["is vegetarian"])
    (new,) = memories("eats no meat")
    await store.keep(new, keep_s=1000)
    assert await found(meanings, list(await store.all(ADAS))) == ["eats no meat"]
    assert {id_ for _, id_ in store.made} == {"plays the cello", "eats no meat"}


async def test_nothing_is_asked_where_there_is_nothing_to_find() -> None:
    store, own = await kept("is vegetarian")
    model = Embedding()
    assert await found(Meanings(store, model, 0.3), []) == []
    assert await found(Meanings(store, model, 0.3), own, "  ") == []
    assert model.asked == []


def memory(text: str, owner: str = "a", about: str = "") -> StoredMemory:
    """A memory of this text, which is its id."""
    return StoredMemory(text, MemoryScope("person", "p", "a"), owner, about, text, 1.0, "c", SessionId("s"))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user lives in Oslo", "The user lives in Bergen now"),
        ("The user lives in Oslo", "Moved to Bergen in May"),
        ("The user works at Acme", "The user works at Initech"),
        ("The user is called Jo", "The user is called Joanna"),
        ("The user's favourite colour is blue", "The user's favourite colour is green"),
        ("Their birthday is 2 May", "Their birthday is 3 May"),
        ("The user is vegetarian", "The user is vegan"),
        ("The user eats fish", "The user no longer eats fish"),
        ("Prefers window seats on flights", "Prefers aisle seats on flights"),
        ("likes tea", "The user likes tea"),
    ],
)
def test_of_two_about_the_same_thing_the_newer_one_counts(older: str, newer: str) -> None:
    assert replaced_by(newer, "a", "", [memory(older)]) == (older,)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user likes tea", "The user likes jazz"),
        ("The user lives in Oslo", "The user works at Acme"),
        ("The user has a dog", "The user has a cat"),
        ("The user is vegetarian", "The user eats out on Fridays"),
        ("The user's favourite colour is blue", "The user's favourite food is pasta"),
        ("Has a dog named Rex", "Has a sister named Anna"),
    ],
)
def test_what_is_about_different_things_stays(one: str, other: str) -> None:
    assert replaced_by(other, "a", "", [memory(one)]) == ()


def test_what_belongs_to_another_or_is_about_another_is_not_replaced() -> None:
    known = [memory("The user lives in Oslo", owner="b"), memory("lives in Oslo", about="Carol")]
    assert replaced_by("The user lives in Bergen", "a", "", known) == ()


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
