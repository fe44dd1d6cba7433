"""What is remembered is found by its meaning too, where a model says what texts mean."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gateway.features.memories.books import Meanings
from gateway.features.memories.node import memories_part
from gateway.features.memories.settings import MemorySettings
from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.stores.memories import MemoryScope, StoredMemory
from tests.fakes.crashes.world import World
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.models.meanings import Embedding
from tests.fakes.people.talk import Model, Reply, Talk, talking
from tests.fakes.remembering import memories_of, remembering
from tests.unit.runtime.sessions.programs import agent, program, walked

ELSEWHERE = Address("fake", "another private chat")
NONE = "nothing"


@asynccontextmanager
async def telling(
    store: MemoryMemories,
    made: Program | None = None,
    *,
    meanings: Meanings,
    world: World | None = None,
    model: Model | None = None,
    **more: Any,
) -> AsyncIterator[Talk]:
    world = world or World(())
    kept = memories_of(store, world.clock, **more)
    around: dict[str, Any] = {"features": [memories_part(kept, meanings)]}
    async with talking(made or remembering(), model or Model(), world=world, **around) as talk:
        yield talk


async def test_what_shares_no_word_with_a_question_is_recalled_by_its_meaning() -> None:
    store, embedding = MemoryMemories(), Embedding()
    meanings = Meanings(store, embedding, 0.3)
    question = "What does she like when she spends her Sundays?"
    async with telling(store, meanings=meanings) as talk:
        await talk.say("remember Plays the cello in an orchestra")
        await talk.say("remember Has a red bicycle")
        assert embedding.asked == []
        assert await talk.say(f"recall {question}", at=ELSEWHERE) == ["Plays the cello in an orchestra"]
        assert await talk.say(f"recall {question} bicycle", at=ELSEWHERE) == [
            "Has a red bicycle; Plays the cello in an orchestra"
        ]
        assert await talk.say("recall music", name="Bob") == [NONE]
        embedding.answers = False
        assert await talk.say("recall how she spends her sundays", at=ELSEWHERE) == [NONE]
        assert await talk.say("recall bicycles", at=ELSEWHERE) == ["Has a red bicycle"]
    assert {payer.person for payer in embedding.paid} == {"test:Ada"}


async def test_what_is_undone_or_forgotten_has_no_vector_left() -> None:
    store = MemoryMemories()
    async with telling(store, meanings=Meanings(store, Embedding(), 0.3)) as talk:
        await talk.say("remember Plays the cello")
        await talk.say("recall music", at=ELSEWHERE)
        assert len(store.made) == 1
        scope = MemoryScope("person", "test", "test:Ada")
        await store.forget(scope, [memory.id for memory in await store.all(scope)])
        assert await talk.say("recall music", at=ELSEWHERE) == [NONE]
    assert store.made == {}


async def test_a_model_is_told_by_meaning_what_matters_of_many_and_of_few_nothing_is_asked() -> None:
    store, embedding, model, world = MemoryMemories(), Embedding(), Model(Reply("Hm."), Reply("Hm.")), World(())
    made = program(agent("Cook", walked("Main", "01:QUE Say(user, Propose something)", "02:YLD for user", begins=True)))
    scope = MemoryScope("person", "test", "test:Ada")
    limits = MemorySettings(told=2)

    async def kept(*texts: str) -> None:
        for text in texts:
            memory = StoredMemory(
                text, scope, "test:Ada", "", text, world.clock.now().timestamp(), "fake:1", SessionId("s")
            )
            await store.keep(memory, keep_s=1e9)

    await kept("Plays the cello", "Has a red bicycle")
    meanings = Meanings(store, embedding, 0.3)
    async with telling(store, made, world=world, model=model, limits=limits, meanings=meanings) as talk:
        await talk.say("Let us have some music")
        assert "Plays the cello" in model.told(0)
        assert embedding.asked == []
        await kept("Lives in Berlin", "Owns a boat")
        await talk.say("Let us have some music", at=ELSEWHERE)
        assert "Plays the cello" in model.told(1)
        assert "Owns a boat" not in model.told(1)
    assert len(embedding.asked) == 1
