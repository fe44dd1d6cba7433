"""How a session begins, is steered by commands, rests, fails and comes back."""

from collections.abc import Sequence

import anyio
import anyio.lowlevel
import pytest

from runtime.core.errors import StorageUnavailable
from runtime.core.texts import english
from runtime.language.program import Program
from runtime.stores.inbox import NOTICE
from runtime.stores.sessions import Commit
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.people.talk import Model, Reply, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python


def echo() -> Program:
    """An agent that repeats what people say, for ever."""
    code = """
async def Main():
    await Say("user", "Welcome! " + (variables.get("startup_message") or "(nothing)"))
    await Echo()

async def Echo():
    for message in await WaitForMessage("user"):
        await Say("user", message["name"] + ": " + message["text"])
        if message["text"] == "bye":
            await EndProgram()
    return Again()
"""
    return program(agent("Main", MAIN, python("Echo"), code=code))


async def test_a_start_command_begins_with_an_empty_message() -> None:
    async with talking(echo(), Model()) as talk:
        assert await talk.say("", kind="start") == ["Welcome! (nothing)"]
        assert await talk.say("x", kind="start") == ["We are in the middle of a conversation. /new starts another."]
        assert await talk.say("hi") == ["Ada: hi"]


async def test_new_ends_the_session_and_begins_another() -> None:
    async with talking(echo(), Model(), after="hello") as talk:
        assert await talk.say("", kind="new") == ["Welcome! (nothing)"]
        assert await talk.say("two") == ["Ada: two"]
    assert len(talk.named("session.started")) == 2
    assert len(talk.facts("ended")) == 1


async def test_a_program_that_has_ended_begins_anew_with_the_next_message() -> None:
    async with talking(echo(), Model(), after="hello") as talk:
        assert await talk.say("bye") == ["Ada: bye"]
        await talk.rested()
        assert await talk.say("again") == ["Welcome! again"]


async def test_status_says_who_does_what() -> None:
    async with talking(echo(), Model(), after="hello") as talk:
        assert await talk.say("", kind="status") == ["**test** · model: scripted\n- Main: Main → Echo"]


async def test_stop_interrupts_the_model_and_the_next_message_begins_anew() -> None:
    gate = anyio.Event()
    slow = Reply(
        '```python\nawait Step("Main:01:QUE")\nawait Say("user", "A sentence' + " on and on" * 9 + '")\n',
        gate=gate,
    )
    again = block('await Step("Main:01:QUE")', 'await Say("user", "Anew.")', 'await Yld("user")')
    model = Model(slow, again)
    main = program(agent("Main", llm("Main", "01:QUE Talk; YLD for user", begins=True)))
    async with talking(main, model) as talk:
        talk.post("go")
        await model.writing.wait()
        await talk.until(lambda: bool(talk.chat))
        said = await talk.say("", kind="stop")
        assert talk.chat[0].endswith("⏹")
        assert said == ["⏹ Stopped. The next message starts the program over."]
        assert await talk.say("well?") == ["Anew."]
    assert '$startup_message = "well?"' in model.told(1)


async def test_stop_with_nothing_running_says_so() -> None:
    code = "async def Main():\n    await Say('user', 'done')\n"
    quick = program(agent("Main", MAIN, code=code))
    async with talking(quick, Model(), after="go") as talk:
        assert await talk.say("", kind="stop") == ["Nothing is running."]
        assert await talk.say("hi") == ["Main has finished. /new starts a new conversation."]


async def test_a_session_that_rests_leaves_memory_and_comes_back_where_it_was() -> None:
    async with talking(echo(), Model(), idle_s=0.001, after="hello") as talk:
        await talk.rested()
        assert not talk.facts("ret")
        assert await talk.say("still here?") == ["Ada: still here?"]
        await talk.rested()
        assert await talk.say("and now?") == ["Ada: and now?"]
    assert len(talk.named("session.restored")) == 2
    assert "QueueClosed" not in str(talk.world.facts)


async def test_a_process_that_begins_leaves_alone_what_rests() -> None:
    async with talking(echo(), Model()) as talk:
        await talk.say("hello")
    async with talking(echo(), Model(), world=talk.world) as later:
        assert len(later.registry) == 0
        assert await later.say("hi") == ["Ada: hi"]


class Shaky(World):
    """A store that fails at chosen commits."""

    def __init__(self, *faults: int) -> None:
        super().__init__(())
        self._faults = set(faults)
        self._commits = 0

    async def commit(self, commit: Commit, /) -> None:
        self._commits += 1
        if self._commits in self._faults:
            await anyio.lowlevel.checkpoint()
            raise StorageUnavailable("the database is away")
        await super().commit(commit)


@pytest.mark.parametrize("fault", range(1, 16))
async def test_nothing_is_lost_or_doubled_when_the_store_fails_once(fault: int) -> None:
    async with talking(echo(), Model(), world=Shaky(fault)) as talk:
        for text, kind in (("hello", "message"), ("one", "message"), ("", "new"), ("two", "message")):
            await talk.say(text, kind=kind)
    assert talk.chat == ["Welcome! hello", "Ada: one", "Welcome! (nothing)", "Ada: two"]


async def test_a_store_that_fails_again_and_again_ends_no_session_and_makes_no_event_poison() -> None:
    async with talking(echo(), Model(), world=Shaky(*range(3, 15))) as talk:
        assert await talk.say("hello") == ["Welcome! hello"]
        assert await talk.say("one") == ["Ada: one"]
        assert len(talk.named("session.failed")) == 12
        assert talk.world.discarded == []


@pytest.mark.parametrize("fault", range(1, 14))
async def test_a_stop_is_obeyed_once_when_the_store_fails_once(fault: int) -> None:
    async with talking(echo(), Model(), world=Shaky(fault)) as talk:
        for text, kind in (("hello", "message"), ("", "stop"), ("again", "message")):
            await talk.say(text, kind=kind)
    assert talk.chat == [
        "Welcome! hello",
        "⏹ Stopped. The next message starts the program over.",
        "Welcome! again",
    ]


@pytest.mark.parametrize("rounds", range(40))
async def test_a_message_that_comes_while_the_program_ends_is_answered_somehow(rounds: int) -> None:
    async with talking(echo(), Model(), after="hello") as talk:
        talk.post("bye")
        for _ in range(rounds):
            await anyio.lowlevel.checkpoint()
        await talk.say("wait!")
    answers = talk.chat[2:]
    assert answers in (
        ["Welcome! wait!"],
        ["Ada: wait!"],
        ["The program ended before it read your last message. Your next message begins anew."],
    )


async def test_a_failing_python_fence_is_told_with_its_place() -> None:
    broken = program(agent("Main", MAIN, code="x = 1 / 0\n"))
    async with talking(broken, Model()) as talk:
        talk.post("go")
        await talk.until(lambda: bool(talk.named("session.failed")))
    assert "the python code of Main fails when it is loaded: ZeroDivisionError" in str(
        talk.named("session.failed")[0].data["error"]
    )


async def test_a_notice_is_said_once_whatever_goes_on_and_begins_no_session() -> None:
    async with talking(echo(), Model()) as talk:
        talk.post("You were let in.", kind=NOTICE, message_id=None)
        await talk.until(lambda: bool(talk.world.dismissed))
        assert (talk.chat, talk.speakers, len(talk.registry)) == (["You were let in."], ["Parley"], 0)
    async with talking(echo(), Model(), world=talk.world) as later:
        assert later.chat == ["You were let in."]


@pytest.mark.parametrize("private", [True, False])
async def test_a_notice_to_somebody_among_others_is_for_them_alone(private: bool) -> None:
    async with talking(echo(), Model()) as talk:
        talk.post("It failed.", kind=NOTICE, message_id=None, private=private)
        await talk.until(lambda: bool(talk.world.dismissed))
        assert [bool(spec.alone) for spec in talk.world.specs] == [not private]


async def test_session_names_commands_as_people_write_them_on_its_platform() -> None:
    code = "async def Main():\n    await Say('user', 'done')\n"
    quick = program(agent("Main", MAIN, code=code))
    async with talking(quick, Model(), texts_on={ADDRESS.platform: english().marked("!")}, after="go") as talk:
        assert await talk.say("hi") == ["Main has finished. !new starts a new conversation."]


@pytest.mark.parametrize(
    ("kind", "told"),
    [("status", ["Nothing is running."]), ("reaction", []), ("edit", []), ("deletion", []), ("choice", [])],
)
async def test_an_ordinary_act_after_the_end_is_no_dead_letter(kind: str, told: Sequence[str]) -> None:
    code = "async def Main():\n    await Say('user', 'bye')\n    await EndProgram()\n"
    brief = program(agent("Main", MAIN, code=code))
    async with talking(brief, Model(), after="go") as talk:
        before = len(talk.chat)
        talk.post("x", kind=kind, message_id="m1")
        await talk.rested()
        assert talk.world.discarded == []
        assert talk.chat[before:][: len(told)] == told
