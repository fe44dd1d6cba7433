"""Meetings with people are held in places of their own, and what is said there goes to them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from runtime.core.address import Address
from runtime.core.errors import OutcomeUncertain
from runtime.core.ids import SessionId
from runtime.core.texts import english
from runtime.language.program import Program
from runtime.meetings.meeting import MeetingHabits
from runtime.stores.inbox import FORK_WANTED
from runtime.stores.sessions import HeldPlace
from tests.fakes.crashes.world import ADDRESS, Shown, TurboClock, World
from tests.fakes.memory.places import MemoryPlaceStore
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

TEXTS = english()
PLACE = Address("test", "1", "t1")
HOME_LINK = " [The conversation it belongs to](at:test:1)"
BEGINS = "👥 Host is holding a meeting here: The boat. The meeting hears what you write here." + HOME_LINK
ASKED = "@Ada Host invites you to meeting 100: The boat. Do you want to join?"
ENDED = TEXTS("session.meeting_place_ended") + HOME_LINK
OVER = TEXTS("session.meeting_place_over") + HOME_LINK
ONLY = TEXTS("session.meeting_place_only") + HOME_LINK
UNDONE = TEXTS("session.meeting_place_undone") + HOME_LINK

HOST = """
async def Main():
    await Say("user", "hello")
    while True:
        for message in await WaitForMessage("user"):
            if message["text"] == "meet":
                await Say("user", f"it came to {await Council()}")
            elif message["text"] == "bye":
                await EndProgram()
            else:
                await Say("user", "home: " + message["text"])

async def Council():
    heard = 0
    while True:
        for message in await WaitForMessage("meeting"):
            text = message["text"]
            if not message.get("human"):
                continue
            if text == "done":
                return heard
            heard += 1
            if text == "ask":
                await Say("meeting", "chosen: " + await Ask("Which?", ["a", "b"]))
            elif text == "whisper":
                await Say("user", "to you alone, " + message["name"])
            elif text == "finish":
                await EndMeeting()
                await Say("user", "finished")
                return heard
            else:
                await Say("meeting", "heard " + text)
"""


class PatientClock(TurboClock):
    """Nobody waits so long for anything."""

    async def sleep_until(self, monotonic_s: float, /) -> None:
        if monotonic_s - self.monotonic() > 5:
            await anyio.sleep_forever()
        await super().sleep_until(monotonic_s)


def council(**metadata: Any) -> Program:
    about = {"required_attendees": ["user"], "topic": "The boat"} | metadata
    return program(agent("Host", MAIN, python("Council", meeting=True, **about), code=HOST))


class Stage:
    """What a conversation with places is made of; it outlives processes."""

    def __init__(self) -> None:
        self.world = World(())
        self.world.clock = PatientClock()
        self.places = MemoryPlaceStore()

    @asynccontextmanager
    async def talking(self, made: Program | None = None, *, opens: bool = True, **more: Any) -> AsyncIterator[Talk]:
        """The conversation, or how it goes on after a restart."""
        around: dict[str, Any] = {"meetings": MeetingHabits(threads=opens), "places": self.places} | more
        async with talking(made or council(), Model(), world=self.world, **around) as talk:
            yield talk

    @asynccontextmanager
    async def met(self, made: Program | None = None, *, joins: bool = True, **more: Any) -> AsyncIterator[Talk]:
        """The conversation once its meeting is called in a place."""
        async with self.talking(made, **more) as talk:
            await opened(talk, joins=joins)
            yield talk


def shown_at(talk: Talk, place: Address) -> list[Shown]:
    return [shown for shown in talk.world.chat if shown.spec is not None and shown.spec.address == place]


def seen_at(talk: Talk, place: Address) -> list[str]:
    """What people see in a place."""
    return [shown.text for shown in shown_at(talk, place)]


async def there(talk: Talk, text: str, **more: Any) -> list[str]:
    """Somebody says something in the place; what is new there when all is quiet."""
    before = len(seen_at(talk, PLACE))
    await talk.say(text, place=PLACE, private=False, **more)
    return seen_at(talk, PLACE)[before:]


async def opened(talk: Talk, *, joins: bool = True) -> None:
    """Have the meeting called, and go there."""
    await talk.say("hi")
    talk.post("meet")
    await talk.until(lambda: ASKED in talk.chat)
    if joins:
        await there(talk, "Join")


async def met_at_home(talk: Talk) -> None:
    """Have the meeting called where no place is opened for it: who is here is in it."""
    await talk.say("hi")
    await talk.say("meet")


async def test_a_meeting_with_people_opens_a_place_where_they_are_asked_heard_and_answered() -> None:
    stage = Stage()
    async with stage.met(joins=False) as talk:
        assert talk.world.threads == {PLACE: "The boat"}
        assert seen_at(talk, PLACE) == [BEGINS, ASKED]
        assert seen_at(talk, ADDRESS) == ["hello", "👥 Host invites Ada to a meeting: [The boat](at:test:1#t1)"]
        await there(talk, "Join")
        assert await there(talk, "a red one") == ["heard a red one"]
        assert await there(talk, "done") == ["Meeting has ended", ENDED]
        assert seen_at(talk, ADDRESS)[-2:] == ["👥 The meeting “The boat” has ended: 1", "it came to 1"]


async def test_everybody_who_writes_in_the_place_is_in_the_meeting_and_told_apart() -> None:
    async with Stage().met() as talk:
        assert await there(talk, "whisper", name="Bob") == ["Bob has joined the meeting", "to you alone, Bob"]
        assert await there(talk, "whisper") == ["to you alone, Ada"]
        [ada, bob] = [data["who"] for data in talk.facts("joined")]  # type: ignore[index]
        assert (ada, bob) == ("test:Ada", "test:Bob")


async def test_what_is_said_at_home_meanwhile_is_answered_there() -> None:
    code = HOST.replace('heard += 1\n', 'heard += 1\n            if message.get("type") == "direct":\n'
                        '                await Say("user", "later")\n                continue\n')  # fmt: skip
    council = python("Council", meeting=True, required_attendees=["user"], topic="The boat")
    made = program(agent("Host", MAIN, council, code=code))
    async with Stage().met(made) as talk:
        assert await talk.say("are you there?", name="Cleo") == ["later"]
        assert seen_at(talk, ADDRESS)[-1] == "later"
        assert await there(talk, "yes") == ["heard yes"]


async def test_what_is_said_at_home_while_they_are_asked_to_come_is_no_answer() -> None:
    async with Stage().met(joins=False) as talk:
        for name in ("Ada", "Bob"):
            talk.post("an aside", name=name, private=False)
        await talk.settled()
        await talk.until(lambda: bool(talk.world.marks))
        assert not [text for text in talk.chat if text.startswith("This question is for")]
        assert "Meeting started" in await there(talk, "Join")


async def test_questions_marks_and_typing_belong_where_the_meeting_is() -> None:
    async with Stage().met() as talk:
        assert await there(talk, "ask") == ["Which?"]
        choice = talk.world.offered[-1].choices[1]
        assert await there(talk, "b", kind="choice", choice=choice.id) == ["chosen: b"]
        assert [page.address for page in talk.world.settled] == [PLACE, PLACE]
        assert talk.world.typed_at[-1] == PLACE


async def test_a_late_press_in_a_place_is_answered_there() -> None:
    async with Stage().met() as talk:
        await there(talk, "ask")
        choice = talk.world.offered[-1].choices[1].id
        await there(talk, "b", kind="choice", choice=choice)
        assert await there(talk, "b", kind="choice", choice=choice) == [TEXTS("session.question_closed")]


async def test_a_message_that_waits_is_marked_where_it_was_written() -> None:
    stage = Stage()
    async with stage.met() as talk:
        talk.post("one", place=PLACE, private=False)
        talk.post("", kind="stop", place=PLACE)
        await talk.world.idle.wait()
        assert {at for at, _, _ in talk.world.marked_at} == {PLACE}


async def test_commands_given_in_the_place_act_on_its_session_and_are_answered_there() -> None:
    async with Stage().met() as talk:
        assert await there(talk, "", kind="who") == ["- Ada\n- Host (agent)"]
        said = await there(talk, "", kind="stop")
        assert TEXTS("session.stopped") in said
        assert ENDED in said


async def test_orders_given_in_the_place_are_about_its_meeting() -> None:
    async with Stage().met() as talk:
        [told] = await there(talk, "", kind="meeting")
        assert "The boat" in told
        await there(talk, "a word", name="Bob")
        left = await there(talk, "", kind="leave", name="Bob")
        assert [data["who"] for data in talk.facts("left")] == ["test:Bob"]  # type: ignore[index]
        assert left
        assert seen_at(talk, ADDRESS) == ["hello", "👥 Host invites Ada to a meeting: [The boat](at:test:1#t1)"]


@pytest.mark.parametrize("kind", ["undo", "new", FORK_WANTED])
async def test_what_is_about_the_whole_session_has_to_be_said_where_it_lives(kind: str) -> None:
    async with Stage().met() as talk:
        assert await there(talk, "", kind=kind) == [ONLY]
        assert await there(talk, "a red one") == ["heard a red one"]


@pytest.mark.parametrize("kind", ["message", "stop", "who", "undo", FORK_WANTED])
async def test_what_is_said_after_the_meeting_gets_a_clear_answer_and_nobody_hears_it(kind: str) -> None:
    async with Stage().met() as talk:
        await there(talk, "done")
        home = len(seen_at(talk, ADDRESS))
        assert await there(talk, "hello?", kind=kind) == [OVER]
        assert await there(talk, "hm", kind="reaction") == []
        assert len(seen_at(talk, ADDRESS)) == home
        assert await talk.say("well") == ["home: well"]


async def test_a_stop_where_a_meeting_was_held_stops_nothing() -> None:
    async with Stage().met() as talk:
        await there(talk, "done")
        talk.post("one")
        talk.post("", kind="stop", place=PLACE)
        await talk.world.idle.wait()
        assert seen_at(talk, ADDRESS)[-1] == "home: one"
        assert seen_at(talk, PLACE)[-1] == OVER


async def test_new_where_a_meeting_was_held_begins_a_conversation_of_its_own() -> None:
    stage = Stage()
    async with stage.met() as talk:
        await there(talk, "done")
        assert await there(talk, "", kind="new") == ["hello"]
        assert stage.places.held == {}
        assert await talk.say("well", at=PLACE) == ["home: well"]
        assert len({fact.tape.partition("/")[0] for fact in talk.world.facts if fact.kind == "begin"}) == 2


async def test_after_the_session_has_ended_its_places_say_so_and_begin_nothing() -> None:
    stage = Stage()
    async with stage.met() as talk:
        await talk.say("", kind="stop")
        await talk.say("anew")
        await talk.say("bye")
        assert await there(talk, "hello?") == [TEXTS("session.meeting_place_over")]
        assert len(talk.facts("begin")) == 1
        assert await there(talk, "", kind="new") == ["hello"]
        assert stage.places.held == {}


async def test_a_stop_in_a_place_without_a_session_leaves_what_is_said_at_home_alone() -> None:
    async with Stage().met() as talk:
        await talk.say("", kind="stop")
        await talk.say("anew")
        await talk.say("bye")
        talk.post("a new beginning")
        talk.post("", kind="stop", place=PLACE)
        await talk.world.idle.wait()
        assert seen_at(talk, ADDRESS)[-1] == "hello"
        assert seen_at(talk, PLACE)[-1].startswith(TEXTS("session.meeting_place_over"))
        assert [entry.event.kind for entry in talk.world.discarded] == []


async def test_a_meeting_that_ends_with_the_session_says_so_in_its_place() -> None:
    async with Stage().met() as talk:
        await talk.say("", kind="new")
        assert seen_at(talk, PLACE)[-1] == ENDED
        assert await there(talk, "hello?") == [OVER]


async def test_what_the_host_says_after_it_has_ended_the_meeting_is_said_at_home() -> None:
    async with Stage().met() as talk:
        assert await there(talk, "finish") == ["Meeting has ended", ENDED]
        assert [text for text in seen_at(talk, ADDRESS) if text in ("finished", "it came to 1")] == [
            "finished",
            "it came to 1",
        ]


async def test_a_restart_goes_on_in_the_place() -> None:
    stage = Stage()
    async with stage.met():
        pass
    async with stage.talking() as talk:
        assert await there(talk, "a red one") == ["heard a red one"]
        await there(talk, "done")
        assert seen_at(talk, ADDRESS)[-1] == "it came to 1"
        assert seen_at(talk, PLACE).count(BEGINS) == 1


async def test_where_none_can_be_opened_the_meeting_is_held_in_the_conversation() -> None:
    stage = Stage()
    stage.world.has_threads = False
    async with stage.talking() as talk:
        await met_at_home(talk)
        assert await talk.say("a red one") == ["heard a red one"]
        assert await talk.say("done") == ["Meeting has ended", "it came to 1"]
        assert stage.places.held == {}


async def test_places_can_be_switched_off() -> None:
    async with Stage().talking(opens=False) as talk:
        await met_at_home(talk)
        assert await talk.say("a red one") == ["heard a red one"]
        assert talk.world.threads == {}


async def test_a_platform_that_does_not_answer_holds_up_no_meeting() -> None:
    stage = Stage()
    stage.world.fails_to_open = OutcomeUncertain("no answer")
    async with stage.talking() as talk:
        await met_at_home(talk)
        assert await talk.say("a red one") == ["heard a red one"]
        assert [event.data["error"] for event in talk.named("meeting.placeless")] == ["no answer"]


async def test_a_place_of_a_meeting_that_is_stopped_while_it_is_opened_is_not_left_without_a_word() -> None:
    stage = Stage()
    stage.world.may_open = anyio.Event()
    async with stage.talking() as talk:
        await talk.say("hi")
        talk.post("meet")
        await talk.until(lambda: bool(talk.facts("meeting")))
        talk.post("", kind="stop")
        await talk.until(lambda: bool(talk.facts("meeting_end")))
        stage.world.may_open.set()
        await talk.until(lambda: bool(seen_at(talk, PLACE)))
        assert await there(talk, "hello?") == [OVER]
        assert seen_at(talk, PLACE) == [ENDED, OVER]
        assert stage.places.held[PLACE.key].meeting == "100"


async def test_agents_that_meet_alone_open_no_place() -> None:
    guest = agent(
        "Guest", python("Join", meeting=True), code="async def Join():\n    await WaitForMessage('meeting')\n"
    )
    code = "async def Main():\n    await Talk()\n\nasync def Talk():\n    await Say('meeting', 'hi')\n"
    made = program(agent("Host", MAIN, python("Talk", meeting=True, required_attendees=["Guest"]), code=code), guest)
    async with Stage().talking(made) as talk:
        assert await talk.say("go") == ["hi"]
        assert talk.world.threads == {}


async def test_undoing_a_meeting_says_so_in_its_place_where_nobody_hears_anything_then() -> None:
    async with Stage().met() as talk:
        await there(talk, "a red one")
        await talk.say("3", kind="undo")
        assert seen_at(talk, PLACE)[-1] == UNDONE
        assert ENDED not in seen_at(talk, PLACE)
        assert await there(talk, "hello?") == [OVER]
        assert await talk.say("well") == ["home: well"]


async def test_undoing_what_was_said_in_a_meeting_leaves_it_where_it_is_as_the_successors() -> None:
    stage = Stage()
    async with stage.met() as talk:
        first = stage.places.held[PLACE.key].session
        await there(talk, "a red one")
        await talk.say("", kind="undo")
        assert not {UNDONE, ENDED} & set(seen_at(talk, PLACE))
        assert not any("has ended" in text for text in talk.chat)
        held = stage.places.held[PLACE.key]
        assert (held.home, held.meeting) == (ADDRESS, "100")
        assert held.session != first
        assert await there(talk, "a blue one") == ["heard a blue one"]
        await there(talk, "done")
        assert seen_at(talk, ADDRESS)[-1] == "it came to 1"


async def test_undoing_everything_says_so_in_the_place() -> None:
    async with Stage().met() as talk:
        await talk.say("9", kind="undo")
        assert seen_at(talk, PLACE)[-1] == UNDONE
        assert seen_at(talk, PLACE).count(ENDED) == 0


async def test_a_fork_holds_the_meeting_in_its_own_conversation_and_leaves_the_place_alone() -> None:
    stage, beside = Stage(), Address("test", "1", "t2")
    async with stage.met() as talk:
        await there(talk, "a red one")
        held = dict(stage.places.held)
        await talk.say("Beside", kind=FORK_WANTED)
        await talk.say("a green one", at=beside)
        assert seen_at(talk, beside)[-1] == "heard a green one"
        assert stage.places.held == held
        assert await there(talk, "a blue one") == ["heard a blue one"]


async def test_a_place_whose_entry_is_lost_is_known_again_after_a_restart() -> None:
    stage = Stage()
    async with stage.met():
        pass
    held = stage.places.held.pop(PLACE.key)
    async with stage.talking() as talk:
        await talk.say("", kind="who")
        assert stage.places.held == {PLACE.key: held}


async def test_the_place_of_another_session_stays_that_ones() -> None:
    stage = Stage()
    other = HeldPlace(ADDRESS, SessionId("another"), "100")
    async with stage.met() as talk:
        await there(talk, "done")
        stage.places.held[PLACE.key] = other
        await talk.say("well")
    async with stage.talking() as talk:
        await talk.say("again")
        assert stage.places.held == {PLACE.key: other}


async def test_all_who_are_asked_are_named_at_home_and_mentioned_in_the_place() -> None:
    async with Stage().talking(council(required_attendees=["Ada", "Bob"])) as talk:
        await talk.say("hi")
        await talk.say("me too", name="Bob")
        talk.post("meet")
        await talk.until(lambda: len(seen_at(talk, PLACE)) == 3)
        assert seen_at(talk, PLACE) == [BEGINS, ASKED, ASKED.replace("Ada", "Bob")]
        assert "👥 Host invites Ada, Bob to a meeting: [The boat](at:test:1#t1)" in seen_at(talk, ADDRESS)
