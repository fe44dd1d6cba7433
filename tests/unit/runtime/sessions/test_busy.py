"""A message to an agent at work is acknowledged at once, handled as the policy says, and never lost."""

import anyio
import pytest

from runtime.core.errors import LLMUnavailable
from runtime.core.ids import schedule_id
from runtime.language.program import Program
from runtime.sessions.node_context import Busy
from runtime.stores.inbox import InboxEntry, InboxEvent
from runtime.stores.sessions import Lease
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.people.talk import Model, Reply, Talk, answered, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program

LONG = """```python
await Step("Main:01:QUE")
await Say("user", "The first sentence of a long answer.")
await Say("user", "The second sentence of a long answer, which takes a while to write.")
await Say("user", "The third.")
await Yld("user")
```"""


def worker() -> Program:
    return program(agent("Worker", llm("Main", "01:QUE Work; YLD for user", begins=True)))


def slow(text: str = LONG) -> tuple[Reply, anyio.Event]:
    gate = anyio.Event()
    return Reply(text, gate=gate), gate


def answer(text: str) -> Reply:
    return block(f'await Say("user", "{text}")', 'await Yld("user")')


async def interrupted_by(talk: Talk, model: Model, gate: anyio.Event, *texts: str) -> None:
    """People write while the model is in the middle of its answer; then it goes on."""
    talk.post("go")
    await model.writing.wait()
    for number, text in enumerate(texts):
        talk.post(text, message_id=f"busy{number}")
    await talk.settled()
    gate.set()
    await talk.world.idle.wait()


async def test_a_message_to_who_works_is_marked_at_once_and_handled_afterwards() -> None:
    first, gate = slow()
    model = Model(first, answer("Now to you."))
    async with talking(worker(), model) as talk:
        talk.post("go")
        await model.writing.wait()
        talk.post("wait", message_id="x")
        await talk.settled()
        assert talk.world.marks == [("x", "queued")]
        gate.set()
        await talk.world.idle.wait()
        assert talk.world.marks == [("x", "queued"), ("x", "seen")]
    assert talk.chat[-2:] == ["The third.", "Now to you."]


@pytest.mark.parametrize(("ends", "mark"), [("read", "seen"), ("stop", "stopped")])
async def test_a_mark_that_a_crash_left_behind_is_put_right_after_it(ends: str, mark: str) -> None:
    first, gate = slow()
    model, world = Model(first, answer("Now to you.")), World(())
    async with talking(worker(), model, world=world) as talk:
        talk.post("go")
        await model.writing.wait()
        talk.post("wait", message_id="x")
        await talk.settled()
        world.reached = False
        if ends == "stop":
            talk.post("", kind="stop")
        else:
            gate.set()
        await talk.settled()
        await talk.until(lambda: talk.chat[-1].startswith(("Now to you.", "⏹")))
    world.reached = True
    async with talking(worker(), Model(), world=world):
        await world.idle.wait()
    assert world.marks == [("x", "queued"), ("x", mark)]
    await answered(worker(), Model(answer("Yes.")), "still there?", world=world)
    assert len(world.marks) == 2


async def test_queued_messages_are_handled_together_in_order() -> None:
    first, gate = slow()
    model = Model(first, answer("Both."))
    async with talking(worker(), model) as talk:
        await interrupted_by(talk, model, gate, "one", "two")
    assert "Message from Ada (user): one\nMessage from Ada (user): two" in model.told(1)
    assert talk.chat[-1] == "Both."


async def test_without_marks_one_sentence_acknowledges_until_what_waits_is_taken() -> None:
    first, gate = slow()
    world = World(())
    world.reacts = False
    model = Model(first, answer("Both."))
    async with talking(worker(), model, world=world) as talk:
        await interrupted_by(talk, model, gate, "one", "two")
    assert talk.chat.count("I am still working on something. Your message comes next.") == 1


async def test_nobody_is_told_that_a_schedule_has_to_wait() -> None:
    first, gate = slow()
    model, world = Model(first, answer("Now to the bell.")), World(())
    world.reacts = False
    async with talking(worker(), model, world=world) as talk:
        talk.post("go")
        await model.writing.wait()
        bell = InboxEvent("bell", ADDRESS, schedule_id("bell"), "bell", "ding", world.clock.now(), program="test")
        entry = InboxEntry(0, "99", bell)
        world.take_in(entry)
        talk.registry.dispatch(entry, Lease(0, 1))
        await talk.settled()
        gate.set()
        await talk.until(lambda: talk.chat[-1:] == ["Now to the bell."])
        assert len(talk.chat) == 4
    assert "bell (user): ding" in model.told(1).replace("Message from ", "")


async def test_a_message_to_who_waits_is_not_marked() -> None:
    model = Model(Reply(LONG), answer("So."))
    async with talking(worker(), model, after="go") as talk:
        await talk.say("hi")
    assert talk.world.marks == []


async def test_steering_cuts_the_answer_at_the_next_statement_and_the_model_sees_it() -> None:
    first, gate = slow()
    model = Model(first, answer("Shorter then."))
    async with talking(worker(), model, busy={"test": "steer"}) as talk:
        await interrupted_by(talk, model, gate, "shorter please")
    assert talk.chat == [
        "The first sentence of a long answer.",
        "The second sentence of a long answer, which takes a while to write.",
        "Shorter then.",
    ]
    assert "While you were working, Ada (user) said: shorter please" in model.told(1)
    assert talk.world.marks == [("busy0", "queued"), ("busy0", "seen")]


async def test_an_interrupting_message_is_handled_anew_with_the_history() -> None:
    first, _ = slow()
    anew = block('await Step("Main:01:QUE")', 'await Say("user", "Anew.")', 'await Yld("user")')
    model = Model(first, anew)
    async with talking(worker(), model, busy={"test": "interrupt"}) as talk:
        talk.post("go")
        await model.writing.wait()
        assert (await talk.say("something else"))[-1] == "Anew."
    assert '$startup_message = "something else"' in model.told(1)
    assert [m.role for m in model.asked[1]] == ["system", "user", "assistant", "user"]
    assert "The first sentence of a long answer." in model.asked[1][2].content
    assert not any("Stopped" in text for text in talk.chat)


@pytest.mark.parametrize("busy", ["queue", "steer", "interrupt"])
async def test_nothing_is_lost_when_the_model_fails_meanwhile(busy: Busy) -> None:
    gate = anyio.Event()
    failing = Reply(LONG, breaks=LLMUnavailable("no"), gate=gate)
    model = Model(failing, *(answer("ok") for _ in range(4)))
    async with talking(worker(), model, busy={"test": busy}) as talk:
        await interrupted_by(talk, model, gate, "hello?")
    taken = [f.data for f in talk.world.facts if f.kind in ("took", "start", "anew", "steer")]
    assert sum(data.get("mids") == ["in.2"] for data in taken) == 1


async def test_who_writes_to_an_agent_that_has_no_room_is_told_and_the_session_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("runtime.agents.agent.QUEUE_CAPACITY", 2)
    code = """
async def Main():
    await Sleep(1_000_000)
"""
    main = agent("Main", MAIN, code=code)
    async with talking(program(main), Model()) as talk:
        for text in ("hi", "one", "two", "three", "four"):
            talk.post(text)
        await talk.until(lambda: len(talk.chat) == 2)
        await talk.settled()
        (told,) = set(talk.chat)
        assert told.startswith("What you said to Main was not delivered: 2 of 2 messages are unread")
        assert talk.named("session.failed") == []
        assert talk.world.discarded == []
