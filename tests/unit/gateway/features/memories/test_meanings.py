"""Memories are found by what they mean, with vectors that are made when somebody asks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateway.features.memories.meanings import MADE_AT_ONCE, Meanings
from gateway.models.answers import Payer
from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.stores.memories import Memory, Scope
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.models.meanings import Embedding

pytestmark = pytest.mark.anyio

ADAS = Scope("person", "cook", "test:Ada")
PAYER = Payer(SessionId("s"), Address("test", "1"), "test:Ada")
QUESTION = "What shall we cook for her?"


def memories(*texts: str) -> list[Memory]:
    return [Memory(text, ADAS, "test:Ada", "", text, 1.0, "test:1", SessionId("s")) for text in texts]


async def kept(*texts: str) -> tuple[MemoryMemories, Sequence[Memory]]:
    store = MemoryMemories()
    for memory in memories(*texts):
        await store.keep(memory, keep_s=1000)
    return store, list(await store.all(ADAS))


async def found(meanings: Meanings, of: Sequence[Memory], question: str = QUESTION) -> list[str]:
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
