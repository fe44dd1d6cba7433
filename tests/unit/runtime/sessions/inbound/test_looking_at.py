"""What somebody has open in their client while writing is a fact with their message, and the model reads it."""

from tests.fakes.crashes.world import World
from tests.fakes.models.providers import ScriptedProvider, chain_of
from tests.fakes.people.talk import talking
from tests.unit.runtime.execution.processor.walking import compiled, main

ASKS = main("- Ask the user what to do", "- Tell the user what was done", "- End program")


async def test_the_model_reads_it_and_after_a_restart_too() -> None:
    world, model = World(()), ScriptedProvider("What shall I do?", "Done with #general.")
    chain = chain_of(world.clock, {"a": model, "b": ScriptedProvider()})
    async with talking(await compiled(ASKS), chain, world=world) as talk:
        await talk.say("hi")
    async with talking(await compiled(ASKS), chain, world=world) as talk:
        assert await talk.say("sum this up", looking_at="the channel #general") == ["Done with #general."]
        assert [fact for fact in world.facts if "'view': 'the channel #general'" in str(fact.data)]
    assert "(looking at the channel #general)\nsum this up" in "\n".join(m.content for m in model.asked[-1].messages)
