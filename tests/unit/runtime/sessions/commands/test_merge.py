"""What comes of a fork goes back to where it was asked for, once."""

from functools import partial

from msgspec.structs import replace

from runtime.core.address import Address
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.sessions.commands.fork import MAX_RESULT_CHARS, ForkResult
from runtime.tape.tape import tape_owner
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.people.talk import Model, Talk, block, talking
from tests.unit.runtime.sessions.commands.test_fork import fork, seen_at
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point
from tests.unit.runtime.sessions.crashes.test_crashes import check, run
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program

RESULT = "🌱 The conversation in the second place has ended. Its last words: “{text}”"


def ender() -> Program:
    code = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", "heard " + message["text"])
            if message["text"] == "end":
                await EndProgram()
"""
    return program(agent("Main", MAIN, code=code))


async def ended(talk: Talk, *said: str) -> Address:
    """A fork in which these words are said, and "end"."""
    await talk.say("hi")
    await talk.say("one")
    place = await fork(talk)
    for text in (*said, "end"):
        await talk.say(text, at=place)
    return place


async def test_the_result_of_a_fork_comes_back_as_one_message_with_its_range() -> None:
    async with talking(ender(), Model()) as talk:
        await ended(talk, "two")
        assert seen_at(talk, ADDRESS)[-1] == RESULT.format(text="heard end")
        (merged,) = [fact for fact in talk.world.facts if fact.kind == "merged"]
        child = {fact.seq: fact.kind for fact in talk.world.facts if tape_owner(fact.tape) == merged.data["session"]}
    first, last = merged.data["first"], merged.data["last"]
    assert child[first] == "branch"
    assert "ended" in [child[seq] for seq in range(first, last + 1)]
    assert tape_owner(merged.tape) != merged.data["session"]


async def test_the_agent_of_the_original_knows_of_it_with_the_next_message() -> None:
    chat = program(agent("Main", llm("Main", "01:QUE Do what is said; YLD for user unless told to end", begins=True)))

    def said(text: str, end: str = 'await Yld("user")') -> tuple[str, ...]:
        return ('await Step("Main:01:QUE")', f'await Say("user", "{text}")', end)

    model = Model(
        block(*said("Hello")),
        block(*said("In the copy", 'await Yld("exit")')),
        block(*said("I know")),
    )
    async with talking(chat, model, after="hi") as talk:
        place = await fork(talk)
        await talk.say("what then?", at=place)
        assert await talk.say("so?") == ["I know"]
    assert "has ended. Said last there: In the copy" in model.told(2)


async def test_a_conversation_that_is_no_fork_gives_nothing_back() -> None:
    async with talking(ender(), Model(), after="hi") as talk:
        assert await talk.say("end") == ["heard end"]
        assert talk.facts("merged", "returned") == []


async def test_where_nobody_is_any_more_a_result_is_let_go() -> None:
    async with talking(ender(), Model(), after="hi") as talk:
        place = await fork(talk)
        await talk.say("end")
        before = len(talk.chat)
        await talk.say("end", at=place)
        assert seen_at(talk, ADDRESS)[-1] == "heard end"
        assert len(talk.chat) == before + 1
        assert talk.world.discarded == []


async def test_a_fork_of_a_fork_gives_back_to_the_fork() -> None:
    async with talking(ender(), Model(), after="hi") as talk:
        first = await fork(talk)
        await talk.say("deeper", at=first)
        second = await fork(talk, at=first)
        await talk.say("end", at=second)
        assert seen_at(talk, first)[-1] == RESULT.format(text="heard end")
        assert RESULT.format(text="heard end") not in seen_at(talk, ADDRESS)


MERGED = Case(
    ender(),
    ("hi", "one", "fork:Another way", "at:t1:end", "and here"),
    (
        "heard one",
        "🌱 This conversation now also continues in a second place: [Another way](at:test:1#t1). Nothing changes here.",
        "🌱 This continues another conversation, from after Ada said “one”. What is said here stays here. "
        "[Where it began](at:test:1)",
        "heard end",
        RESULT.format(text="heard end"),
        "heard and here",
    ),
    in_order=False,
)


async def test_a_result_comes_back_once_whenever_the_process_dies(sandbox: MontySandbox) -> None:
    def check_merged(world: World) -> None:
        check(world, MERGED)
        assert len([fact for fact in world.facts if fact.kind == "merged"]) == 1
        assert len([fact for fact in world.facts if fact.kind == "returned"]) == 1

    await dying_at_each_point(partial(run, MERGED, sandbox), check_merged)


def test_a_result_is_read_as_it_was_written() -> None:
    result = ForkResult.read(str(ForkResult.read("s1 3 17 two words\nand a line")))
    assert (result.session, result.first, result.last, result.text) == ("s1", 3, 17, "two words\nand a line")
    assert ForkResult.read(str(replace(result, text=""))).text == ""
    assert MAX_RESULT_CHARS > 100
