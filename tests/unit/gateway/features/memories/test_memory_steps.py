"""Memories in the English of steps, carried out by the runtime."""

import pytest
from msgspec.structs import replace

from gateway.features.memories.node import memories_part
from runtime.language.lowering.classifier import Classifier
from runtime.language.lowering.scope import Reach
from runtime.language.program import OpCode, Program
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from tests.fakes.crashes.world import World
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.people.talk import Model, Reply, answered, talking
from tests.fakes.remembering import memories_of
from tests.unit.runtime.sessions.programs import compiled

COOK = """---
memory: {memory}
---
# Cook

## Main
### Triggers
- At the beginning
### Steps
{steps}
- End program
"""


async def cook(*steps: str, memory: str = "true") -> Program:
    text = COOK.format(memory=memory, steps="\n".join(f"- {step}" for step in steps))
    return replace(await compiled(text), name="test")


@pytest.mark.parametrize(
    ("step", "call"),
    [
        ("Remember that the user is vegetarian", 'Remember("the user is vegetarian")'),
        ("Remember that the user likes $drink.", 'Remember(f"the user likes {$drink}")'),
        ('Remember that the user is called "Jo"', r'Remember("the user is called \"Jo\"")'),
        ("Then memorize that we meet on Tuesdays", 'Remember("we meet on Tuesdays", about="place")'),
        ("Remember $fact", "Remember($fact)"),
        ("What do you know about the user's diet?", 'Recall("the user\'s diet")'),
        ("$diet = what do you remember about the user's diet?", '$diet = Recall("the user\'s diet")'),
        ("Recall the user's diet as $diet:list", '$diet:list = Recall("the user\'s diet")'),
        ("Recall the user's diet and store it in $diet", '$diet = Recall("the user\'s diet")'),
    ],
)
def test_steps_that_remember_and_recall_become_calls(step: str, call: str) -> None:
    program = parse(read_text(COOK.format(memory="true", steps="- Wait"), "test.pb"))
    found = Classifier(Reach(program.agents[0], program)).classify(step)
    assert (found.op, found.text.partition("): ")[0] + ")") == (OpCode.QUE, call)


@pytest.mark.parametrize("step", ["Remember that the user is vegetarian", "Recall the user's diet"])
def test_in_a_program_that_says_nothing_of_memory_they_mean_what_they_did(step: str) -> None:
    for said in ("false", "off"):
        program = parse(read_text(COOK.format(memory=said, steps="- Wait"), "test.pb"))
        found = Classifier(Reach(program.agents[0], program)).classify(step)
        assert "Remember(" not in found.text
        assert "Recall(" not in found.text


async def test_what_one_conversation_remembers_another_one_recalls_without_a_model() -> None:
    made = await cook(
        "Recall the user's favourite drink as $known",
        'Say(user, "I know: {$known}")',
        '$drink = "green tea"',
        "Remember that the user's favourite drink is $drink",
    )
    store, world = MemoryMemories(), World(())
    async with talking(made, Model(), world=world, features=[memories_part(memories_of(store, world.clock))]) as talk:
        assert await talk.say("hi") == ["I know: []"]
        assert await talk.say("hi") == ['I know: ["the user\'s favourite drink is green tea"]']
    assert store.texts() == ["the user's favourite drink is green tea"]


async def test_what_is_recalled_is_known_when_the_next_step_is_worded() -> None:
    made = await cook(
        "Remember that the user is vegetarian", "What do you know about the user's diet?", "Suggest a dish to the user"
    )
    world = World(())
    model = Model(Reply("Try the lentils."))
    kept = memories_of(MemoryMemories(), world.clock)
    assert await answered(made, model, "hi", world=world, features=[memories_part(kept)]) == ["Try the lentils."]
    assert "the user is vegetarian" in model.told(0)
