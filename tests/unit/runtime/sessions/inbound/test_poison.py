"""Events that no session can take, and sessions that somebody deleted while they were in memory."""

import pytest
from msgspec.structs import replace

from gateway.features.tasks.node import TaskWork
from runtime.core.texts import english
from runtime.execution.calls.ask import SessionQuestions
from runtime.stores.inbox import InboxEntry, InboxEvent
from runtime.stores.orders import TaskLimits
from runtime.stores.sessions import Lease
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

ECHO = program(
    agent(
        "Main",
        MAIN,
        python("Listen"),
        code=(
            "async def Main():\n    await Say('user', 'Hello.')\n    await Listen()\n\n\n"
            "async def Listen():\n    for message in await WaitForMessage('user'):\n"
            "        await Say('user', 'You said: ' + message['text'])\n    return Again()\n"
        ),
    )
)
ORDERING = program(
    agent(
        "Main",
        MAIN,
        code=(
            "async def Main():\n    try:\n        await Result(await Spawn('Runner', 'Run'))\n"
            "    except Exception as error:\n        await Say('user', str(error))\n"
            "    await Spawn('Runner', 'Run')\n"
            "    for message in await WaitForMessage('*'):\n        await Say('user', message['text'])\n"
        ),
    ),
    agent("Runner", python("Run", public=True), code="async def Run():\n    return 1\n"),
)
NOT_TAKEN = english()("session.not_taken")


def poison(talk: Talk, number: str = "50") -> InboxEntry:
    """An event that every session breaks at: its file has no type."""
    event = InboxEvent(
        number, ADDRESS, "test:Ada", "Ada", "look", talk.world.clock.now(), message_id="m99", program="test"
    )
    entry = InboxEntry(0, number, replace(event, attachments=({"name": "a.png"},)))
    talk.world.take_in(entry)
    talk.registry.dispatch(entry, Lease(0, 1))
    return entry


def deleted(world: World) -> None:
    """What a deletion leaves: nothing."""
    world._records.clear()
    world._awake.clear()
    world._current.clear()
    for tape in world._tapes.values():
        tape.clear()


async def test_a_poison_event_is_put_aside_and_the_session_goes_on() -> None:
    async with talking(ECHO, Model(), after="hi") as talk:
        bad = poison(talk)
        await talk.until(lambda: talk.world.discarded == [bad])
        await talk.say("still there?")
        await talk.until(lambda: "You said: still there?" in talk.chat)
    assert talk.chat == ["Hello.", NOT_TAKEN, "You said: still there?"]


async def test_a_poison_event_that_would_begin_a_session_is_put_aside() -> None:
    async with talking(ECHO, Model()) as talk:
        bad = poison(talk)
        await talk.until(lambda: talk.world.discarded == [bad])
        await talk.say("hi")
        await talk.until(lambda: "Hello." in talk.chat)
    assert talk.chat == [NOT_TAKEN, "Hello."]


async def test_an_undo_that_cannot_be_done_is_put_aside_and_the_session_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fault(self: SessionQuestions) -> None:
        raise KeyError("a fault in what would go on")

    monkeypatch.setattr(SessionQuestions, "ask_again", fault)
    async with talking(ECHO, Model(), after=("hi", "one")) as talk:
        talk.post("", kind="undo")
        await talk.until(lambda: NOT_TAKEN in talk.chat)
        await talk.say("still there?")
        await talk.until(lambda: talk.chat[-1] == "Hello.")  # what went on was stopped for it


async def test_an_order_that_no_session_can_take_has_failed_for_who_ordered_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(self: TaskWork, event: InboxEvent) -> None:
        raise KeyError("a fault in the order")

    monkeypatch.setattr(TaskWork, "begin", fault)
    async with talking(ORDERING, Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await talk.until(lambda: len(talk.chat) == 2)
        assert [entry.event.kind for entry in talk.world.discarded] == ["task", "task"]
    why = "its order could not be accepted: KeyError('a fault in the order')"
    assert talk.chat == [f"task 1 (Runner.Run) failed: {why}", f"Task 2, Runner.Run, failed: {why}."]


async def test_a_session_that_was_deleted_begins_anew_with_the_next_message() -> None:
    async with talking(ECHO, Model(), after="hi") as talk:
        await talk.until(lambda: talk.chat == ["Hello."])
        deleted(talk.world)
        await talk.say("who are you?")
        await talk.until(lambda: talk.chat == ["Hello.", "Hello."])
        await talk.say("again")
        await talk.until(lambda: talk.chat[-1] == "You said: again")
    assert len(talk.named("session.started")) == 2
    assert len(talk.world._records) == 1
