"""Tasks recall what their orderer's place may use, remember nothing, and never have more than their order gave them."""

from msgspec.structs import replace

from gateway.features.memories.books import Memories, Silence
from gateway.features.memories.node import memories_part
from runtime.core.address import Address
from runtime.core.ids import AgentId, PersonId, SessionId
from runtime.execution.standing import may_still_recall
from runtime.language.program import Program
from runtime.stores.memories import MemoryScope
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.people import MessageHeard, PersonMet
from runtime.tape.facts.session import AgentCreated, SessionBranched
from runtime.tape.facts.tasks import OrderTaken
from runtime.tape.fold import apply
from runtime.tape.state.session import SessionState
from tests.fakes.crashes.world import World
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.people.talk import Model, Reply, Talk, talking
from tests.fakes.remembering import memories_of
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python, walked

HERE, HALL = Address("fake", "here"), Address("fake", "hall")
ORDERING = """
async def Main():
    texts = [agent.state.startup_message]
    while True:
        for text in texts:
            what, _, rest = text.partition(" ")
            if what == "remember":
                await Say("user", await Remember(rest))
            else:
                await Say("user", await Result(await Spawn("Cook", what, {"question": rest})))
        texts = [message["text"] for message in await WaitForMessage("user")]
"""
COOK = """
async def Recall_it(question):
    return "; ".join(await Recall(question)) or "nothing"

async def Keep(question):
    return await Remember(question)

async def Answer_it(question):
    await Answer()
    return "answered"
"""


def ordering() -> Program:
    """What people say is `remember TEXT`, or a playbook of the cook and what it is asked."""
    names = ("Recall_it", "Keep", "Answer_it")
    answer = walked("Answer", "01:QUE Say(user, Suggest a dish to the user)")
    cook = agent("Cook", *(python(name, "question", public=True) for name in names), answer, code=COOK)
    main = agent("Main", MAIN, code=ORDERING)
    return replace(program(main, cook), metadata={"memory": True})


def kept(world: World) -> Memories:
    return memories_of(MemoryMemories(), world.clock)


async def said(talk: Talk, text: str, at: Address = HERE, *, private: bool = True, name: str = "Ada") -> str:
    """What the program says last to what somebody says."""
    return (await talk.say(text, at=at, private=private, name=name))[-1]


async def test_a_task_recalls_what_its_orderers_place_may_use_and_nothing_else() -> None:
    world = World(())
    async with talking(ordering(), Model(), world=world, features=[memories_part(kept(world))]) as talk:
        assert await said(talk, "remember is vegetarian") == "remembered"
        assert await said(talk, "remember likes rye", HALL, private=False) == "remembered"
        assert await said(talk, "Recall_it vegetarian") == "is vegetarian"
        assert await said(talk, "Recall_it vegetarian", Address("fake", "later")) == "is vegetarian"
        assert await said(talk, "Recall_it vegetarian rye", HALL, private=False) == "likes rye"
        assert await said(talk, "Recall_it rye", HALL, private=False, name="Bob") == "nothing"
        assert await said(talk, "Recall_it vegetarian", Address("fake", "bobs"), name="Bob") == "nothing"


async def test_a_task_remembers_nothing_and_says_who_can() -> None:
    world = World(())
    async with talking(ordering(), Model(), world=world, features=[memories_part(kept(world))]) as talk:
        refused = await said(talk, "Keep likes rye")
        assert refused == "not remembered: a task only recalls; return it, and who has ordered the task can remember it"
        assert await said(talk, "Recall_it rye") == "nothing"


async def test_the_model_of_a_task_is_told_what_is_remembered() -> None:
    world, model = World(()), Model(Reply("A curry."))
    async with talking(ordering(), model, world=world, features=[memories_part(kept(world))]) as talk:
        await said(talk, "remember is vegetarian")
        await said(talk, "Answer_it dish")
        assert '"is vegetarian"' in model.told(0)


async def test_who_turned_memory_off_is_not_recalled_by_a_task_either() -> None:
    world = World(())
    silence = Silence(MemoryRecords())
    memories = memories_of(MemoryMemories(), world.clock, silence=silence)
    async with talking(ordering(), Model(), world=world, features=[memories_part(memories)]) as talk:
        await said(talk, "remember is vegetarian")
        await silence.begin("test", "test:Ada")
        assert await said(talk, "Recall_it vegetarian") == "nothing"


ADA, BOB = PersonId("test:Ada"), PersonId("test:Bob")
SCOPE = MemoryScope("person", "test", ADA)
ORDER = OrderTaken(1, SessionId("o"), HERE, HERE, 60.0, 1, scope=SCOPE.key, owner=ADA)


def state_of(*facts: FactContent) -> SessionState:
    """The state that facts add up to."""
    state = SessionState()
    for number, content in enumerate(facts, 1):
        apply(state, number, content)
    return state


def test_a_session_that_goes_on_from_a_task_elsewhere_recalls_nothing_of_its_orderer() -> None:
    assert state_of(ORDER).order.scope == SCOPE.key  # type: ignore[union-attr]
    branched = state_of(ORDER, SessionBranched("t", 1, "fork")).order
    assert branched is not None
    assert (branched.scope, branched.owner) == ("", "")


def test_a_task_that_is_ordered_again_recalls_private_words_only_where_nobody_has_come_to_it() -> None:
    met = PersonMet(ADA, "Ada", 1.0)
    created = AgentCreated(AgentId("1000"), "Main")
    alone = (met, created, MessageHeard("in.1", AgentId("1000"), ADA, "Ada", private=True, text="hi", platform_id="m1"))
    assert may_still_recall(state_of(*alone), SCOPE.key)
    assert not may_still_recall(state_of(*alone, PersonMet(BOB, "Bob", 1.0)), SCOPE.key)
    assert may_still_recall(state_of(*alone, PersonMet(BOB, "Bob", 1.0)), MemoryScope("place", "test", HALL.key).key)
    assert not may_still_recall(state_of(*alone), "")
