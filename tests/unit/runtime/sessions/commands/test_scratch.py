"""A copy in a scratch room: it goes on from the past, its variables can be changed, and nobody hears of it."""

import anyio

from runtime.bus import Bus
from runtime.channels.extensions import ChannelExtension, ExtendedChannels
from runtime.core.address import SCRATCH, Address
from runtime.core.ids import AgentId, SessionId
from runtime.execution.calls.remote import call_of, with_calls
from runtime.language.program import Program
from runtime.sessions.commands.alter import VariableAlteration
from runtime.sessions.commands.fork import ForkOrigin
from runtime.stores.inbox import ALTERED, FORK
from runtime.tape.tape import tape_owner
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.people.talk import Model, Talk, block, talking
from tests.unit.runtime.sessions.commands.test_fork import fork, seen_at
from tests.unit.runtime.sessions.commands.test_merge import ender
from tests.unit.runtime.sessions.commands.test_undo import counter, turn, worker
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

ROOM = Address(SCRATCH, "c0ffee")
HOST = AgentId("1000")


async def copied(talk: Talk, seq: int, session: SessionId | None = None) -> None:
    """A copy of the first session, or of another one, from a fact on."""
    source = session or next(iter(talk.world._records))
    record = talk.world._records[source]
    await talk.say(str(ForkOrigin(record.at(seq), None)), kind=FORK, at=ROOM)


def rest_before(talk: Talk, words: str) -> int:
    """The last fact before somebody said these words."""
    for fact in talk.world.facts:
        if fact.kind == "exchange" and fact.data["text"] == words:
            return int(fact.data["seq"])
    raise AssertionError(words)


async def test_a_copy_goes_on_from_the_past_and_the_original_does_not_know() -> None:
    async with talking(counter(), Model()) as talk:
        for words in ("hi", "one", "two"):
            await talk.say(words)
        shown = seen_at(talk, ADDRESS)
        await copied(talk, rest_before(talk, "two"))
        assert list(talk.world._records)[-1] == SessionId("c0ffee")
        await talk.say("two instead", at=ROOM)
        assert seen_at(talk, ROOM)[-1] == "2: two instead"
        assert seen_at(talk, ADDRESS) == shown


async def test_what_is_said_to_a_copy_no_extension_hears() -> None:
    heard: list[str] = []
    watching = ChannelExtension("watch", on_message=[lambda message: heard.append(message.content)])
    extended = ExtendedChannels([watching], Bus(FakeClock()))
    async with anyio.create_task_group() as tasks, talking(counter(), Model(), extended=extended) as talk:
        tasks.start_soon(extended.run)
        for words in ("hi", "one"):
            await talk.say(words)
        await copied(talk, rest_before(talk, "one"))
        await talk.say("not for others", at=ROOM)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert "1: one" in heard
    assert not any("not for others" in words for words in heard)


async def test_a_variable_of_a_copy_gets_another_value_and_that_of_the_original_stays() -> None:
    async with talking(keeper(), Model(), after=("hi", "one")) as talk:
        await copied(talk, rest_before(talk, "one"))
        await talk.say(str(VariableAlteration(HOST, "count", 41)), kind=ALTERED, at=ROOM)
        await talk.say(str(VariableAlteration(HOST, "unknown", 1)), kind=ALTERED, at=ROOM)
        await talk.say("x", at=ROOM)
        assert seen_at(talk, ROOM)[-3:] == [
            "$count is now 41.",
            "There is no variable $unknown, so nothing was changed.",
            "42: x",
        ]
        assert await talk.say(str(VariableAlteration(HOST, "count", 99)), kind=ALTERED) == []
        assert await talk.say("two") == ["2: two"]


async def test_a_local_of_a_copy_gets_another_value_and_that_of_the_original_stays() -> None:
    says = block('await Say("user", f"{count} eggs")', 'await Yld("user")')
    model = Model(block("count = 7", 'await Say("user", "hello")', 'await Yld("user")'), says, says, says)
    asks = program(agent("Main", llm("Main", "01:YLD for user", begins=True)))
    async with talking(asks, model, after=("hi", "one")) as talk:
        await copied(talk, rest_before(talk, "one"))
        (frame,) = {fact.data["f"] for fact in talk.world.facts if fact.kind == "stmt"}
        for name, at in (("count", frame), ("unknown", frame), ("count", "none")):
            await talk.say(str(VariableAlteration(HOST, name, 41, at)), kind=ALTERED, at=ROOM)
        await talk.say("x", at=ROOM)
        nothing = "There is no variable $unknown, so nothing was changed."
        again = nothing.replace("unknown", "count")
        assert seen_at(talk, ROOM)[-4:] == ["$count is now 41.", nothing, again, "41 eggs"]
        assert await talk.say("two") == ["7 eggs"]


async def test_a_copy_of_a_fork_gives_nothing_back_when_it_ends() -> None:
    async with talking(ender(), Model(), after="hi") as talk:
        place = await fork(talk)
        of_fork = next(id_ for id_, record in talk.world._records.items() if record.address == place)
        head = max(fact.seq for fact in talk.world.facts if tape_owner(fact.tape) == of_fork)
        await copied(talk, head, of_fork)
        shown = seen_at(talk, ADDRESS), seen_at(talk, place)
        await talk.say("end", at=ROOM)
        assert seen_at(talk, ROOM)[-1] == "heard end"
        assert (seen_at(talk, ADDRESS), seen_at(talk, place)) == shown
        await talk.say("end", at=place)
        assert len(seen_at(talk, ADDRESS)) == len(shown[0]) + 1  # the fork itself does


async def test_a_copy_orders_no_task() -> None:
    code = """
async def Main():
    while True:
        await WaitForMessage("user")
        try:
            await Spawn("Main", "Other")
            await Say("user", "ordered")
        except Exception as error:
            await Say("user", "refused")

async def Other():
    pass
"""
    orders = program(agent("Main", MAIN, python("Other", public=True), code=code))
    async with talking(orders, Model(), after=("hi", "go")) as talk:
        assert seen_at(talk, ADDRESS)[-1] == "ordered"
        await copied(talk, rest_before(talk, "go"))
        await talk.say("go", at=ROOM)
        assert seen_at(talk, ROOM)[-1] == "refused"


async def test_what_a_copy_asks_of_a_model_is_charged_to_nobody() -> None:
    model = Model(turn("Hello."), turn("Noted."), turn("Noted here."))
    async with talking(worker(), model, after=("hi", "one")) as talk:
        await copied(talk, rest_before(talk, "one"))
        await talk.say("one", at=ROOM)  # as Ada, who said it then
        assert seen_at(talk, ROOM)[-1] == "Noted here."
        payers = [event.data["participant_id"] for event in talk.named("llm.answered")]
        assert payers == ["test:Ada", "test:Ada", None]


async def test_a_copy_makes_no_call_of_an_extension_but_those_that_only_read() -> None:
    code = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            try:
                await Say("user", f"{message['text']}: {await Look()} {await Book()}")
            except Exception as error:
                await Say("user", str(error))
"""
    made: list[str] = []

    def look() -> str:
        made.append("look")
        return "seen"

    def book() -> str:
        made.append("book")
        return "booked"

    calls = {"Look": call_of("Look", look, only_reads=True), "Book": call_of("Book", book)}
    desk = with_calls(program(agent("Main", MAIN, code=code)), calls)
    async with talking(desk, Model(), calls=calls, after=("hi", "one")) as talk:
        assert (seen_at(talk, ADDRESS)[-1], made) == ("one: seen booked", ["look", "book"])
        await copied(talk, rest_before(talk, "one"))
        await talk.say("one", at=ROOM)
        assert seen_at(talk, ROOM)[-1] == (
            "Book is not called in a scratch room, because it may change something outside. "
            "Its extension can say only_reads=True where it changes nothing."
        )
        await talk.say("two")
    assert made == ["look", "book", "look", "look", "book"]


def keeper() -> Program:
    code = """
async def Main():
    await Var("count", 0)
    while True:
        for message in await WaitForMessage("user"):
            await Var("count", variables["count"] + 1)
            await Say("user", f"{variables['count']}: {message['text']}")
"""
    return program(agent("Main", MAIN, code=code))
