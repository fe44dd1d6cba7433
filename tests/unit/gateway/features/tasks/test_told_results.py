"""A result that nobody waits for, told to a model."""

from runtime.stores.orders import TaskLimits
from tests.fakes.people.talk import Model, Reply, talking
from tests.unit.runtime.sessions.programs import agent, llm, program, python

STUDY = """
async def Study(topic):
    await Sleep(60)
    return "all about " + topic
"""
MAIN = """
async def Main():
    await Spawn("Researcher", "Study", ["tides"])
"""


async def test_a_model_that_is_told_a_result_tells_it_to_the_people() -> None:
    researcher = agent("Researcher", python("Study", "topic", public=True), code=STUDY)
    main = agent("Main", python("Main", trigger="BGN When program starts"), llm("Chat", "01:QUE Say"), code=MAIN)
    model = Model(Reply("The study of the tides is done."))
    async with talking(program(main, researcher), model, tasks=TaskLimits(), after="hi") as talk:
        await talk.until(lambda: bool(talk.chat))
        assert talk.chat == ["The study of the tides is done."]
        assert "all about tides" in model.told(0)
