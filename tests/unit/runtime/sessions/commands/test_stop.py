"""A stop takes effect at once, whatever goes on: it waits neither for the model, nor the store, nor the queue."""

from contextlib import AbstractAsyncContextManager

import anyio
import anyio.lowlevel
import pytest

from runtime.language.program import Program
from runtime.sandbox.executor import CodeSnippet, SnippetEvaluation
from runtime.sandbox.monty import MontySandbox, SandboxLimits
from runtime.stores.sessions import Commit
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

STOPPED = "⏹ Stopped. The next message starts the program over."


def worker() -> Program:
    return program(agent("Worker", llm("Main", "01:QUE Work; YLD for user", begins=True)))


def never(text: str) -> Reply:
    return Reply(text, gate=anyio.Event())


class Heavy(World):
    """A store whose commits can be held up."""

    def __init__(self) -> None:
        super().__init__(())
        self.free = anyio.Event()
        self.free.set()

    async def commit(self, commit: Commit, /) -> None:
        await self.free.wait()
        await super().commit(commit)


async def test_a_stop_overtakes_what_was_said_before_it_and_marks_it() -> None:
    text = '```python\nawait Step("Main:01:QUE")\nawait Say("user", "Once upon a time, long ago, and so on")'
    again = block('await Step("Main:01:QUE")', 'await Say("user", "Anew.")', 'await Yld("user")')
    model = Model(never(text), again)
    async with talking(worker(), model) as talk:
        talk.post("go")
        await model.writing.wait()
        talk.post("and this", message_id="a")
        await talk.settled()
        talk.post("and that", message_id="b")
        assert STOPPED in await talk.say("", kind="stop")
        assert [pid for pid, mark in talk.world.marks if mark == "stopped"] == ["a", "b"]
        assert (await talk.say("well?"))[-1] == "Anew."
    assert '$startup_message = "well?"' in model.told(1)


async def test_a_stop_takes_effect_while_a_commit_waits() -> None:
    world = Heavy()
    text = '```python\nawait Step("Main:01:QUE")\nawait Say("user", "Once upon a time, long ago, and so on")'
    model = Model(never(text))
    async with talking(worker(), model, world=world) as talk:
        talk.post("go")
        await model.writing.wait()
        world.free = anyio.Event()
        talk.post("more")
        await anyio.lowlevel.checkpoint()
        talk.post("", kind="stop")
        await talk.until(lambda: model.left == 0 and model.hung_up == 1)
        world.free.set()
        await talk.world.idle.wait()
    assert talk.chat[-1] == STOPPED


class Watched:
    """A patient sandbox that tells when it was given something to compute for long."""

    def __init__(self, inner: MontySandbox) -> None:
        self._inner = inner
        self.computing = anyio.Event()

    def evaluate(self, snippet: CodeSnippet, /) -> AbstractAsyncContextManager[SnippetEvaluation]:
        if "range" in snippet.source:
            self.computing.set()
        return self._inner.evaluate(snippet)


async def test_a_stop_ends_a_computation_in_the_sandbox() -> None:
    reply = block('await Step("Main:01:QUE")', "x = sum([1 for _ in range(10**12)])", 'await Yld("user")')
    async with MontySandbox(limits=SandboxLimits(feed_s=120.0)) as patient:
        watched = Watched(patient)
        async with talking(worker(), Model(reply), watched) as talk:
            talk.post("go")
            await watched.computing.wait()
            assert STOPPED in await talk.say("", kind="stop")
        assert not talk.facts("failed")


async def test_messages_that_wait_in_a_queue_are_not_answered_after_a_stop() -> None:
    code = """
async def Main():
    await Say("user", "hi")
    await WaitForMessage("Nobody")
"""
    both = program(
        agent("Main", MAIN, code=code),
        agent("Nobody", python("Idle"), code="async def Idle():\n    pass\n"),
    )
    async with talking(both, Model(), after="go") as talk:
        assert await talk.say("", kind="stop") == [STOPPED]
        assert await talk.say("go on") == ["hi"]


async def test_a_stop_without_a_session_says_so_and_answers_nothing() -> None:
    async with talking(worker(), Model()) as talk:
        talk.post("go")
        talk.post("", kind="stop")
        await talk.rested()
        assert talk.chat == ["Nothing is running."]
    assert (len(talk.world.dismissed), talk.world.discarded) == (2, [])


@pytest.mark.parametrize("rounds", range(60))
async def test_a_stop_at_any_moment_leaves_a_session_that_answers(rounds: int) -> None:
    code = """
async def Main():
    await Say("user", "Hello")
    for message in await WaitForMessage("user"):
        await Say("user", "you said " + message["text"])
    await WaitForMessage("user")
"""
    talker = program(agent("Main", MAIN, code=code))
    async with talking(talker, Model(), after="go") as talk:
        talk.post("one")
        for _ in range(rounds):
            await anyio.lowlevel.checkpoint()
        talk.post("", kind="stop")
        await talk.settled()
        await talk.world.idle.wait()
        assert STOPPED in talk.chat
        await talk.say("again")
        await talk.say("two")
        assert talk.chat[-1] == "you said two"
    assert not talk.named("session.failed")
