"""A sentence that broke off is finished in its place, or closed; nobody else's words come into it."""

from msgspec.structs import replace

from runtime.core.errors import LLMTimeout
from runtime.language.program import Program
from tests.fakes.people.talk import Model, Reply, answered, block, talking
from tests.unit.runtime.sessions.programs import agent, llm, program

HALF = Reply('```python\nawait Say("user", "the beginning of a long', breaks=LLMTimeout("the model fell silent"))


def free(*more: object) -> Program:
    return program(agent("Main", llm("Main", begins=True), *more))  # type: ignore[arg-type]


async def test_it_is_finished_in_its_place() -> None:
    whole = block('await Say("user", "the beginning of a long sentence")', 'await Yld("user")')
    assert await answered(free(), Model(HALF, whole), "hi") == ["the beginning of a long sentence"]


async def test_it_stays_above_other_words_in_its_place() -> None:
    whole = block('await Say("user", "something else, but whole")', 'await Yld("user")')
    async with talking(free(), Model(HALF, whole)) as talk:
        assert await talk.say("hi") == ["the beginning of a long ⏹\n\nsomething else, but whole"]
        assert talk.world.chat[0].texts[-1].startswith(talk.world.chat[0].texts[0])


async def test_words_to_somebody_else_do_not_come_into_it() -> None:
    meeting = replace(llm("Main", begins=True), metadata={"meeting": True})
    whole = block('await Say("meeting", "for all of you")', 'await Say("user", "for you alone")', 'await Yld("user")')
    async with talking(program(agent("Main", meeting)), Model(HALF, whole)) as talk:
        assert await talk.say("hi") == ["the beginning of a long ⏹\n\nfor you alone", "for all of you"]
        assert talk.world.chat[0].texts[0].startswith("the")
        assert all("you alone" not in text for text in talk.world.chat[1].texts)


async def test_it_is_closed_before_a_playbook_that_is_called_speaks() -> None:
    calls = block("x = await Recount()", 'await Say("user", f"and so {x}")', 'await Yld("user")')
    tells = block('await Say("user", "let me look")', 'await Var("__", "done")', "await Return(5)")
    half, *rest = await answered(free(llm("Recount")), Model(HALF, calls, tells), "hi")
    assert half.endswith(" ⏹")
    assert rest == ["let me look", "and so 5"]


async def test_it_is_closed_when_its_turn_ends_without_it() -> None:
    later = block('await Say("user", "a new sentence")', 'await Yld("user")')
    async with talking(free(), Model(HALF, block('await Yld("user")'), later)) as talk:
        (half,) = await talk.say("hi")
        assert half.endswith(" ⏹")
        assert await talk.say("well?") == ["a new sentence"]
