"""People in meetings: asked in the chat, there by writing, told apart, and gone when they want to."""

import pytest
from msgspec.structs import replace

from runtime.language.program import AgentKind, AgentSpec
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.memory.places import MemoryPlaceStore
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.meetings.test_meeting_life import facts, guest, hosted, notices, post, still
from tests.unit.runtime.sessions.programs import SPAN

ALICE, CAROL = (AgentSpec(name, AgentKind.HUMAN, SPAN) for name in ("Alice", "Carol"))

COUNTS = """
said = []
while len(said) < 2:
    for message in await WaitForMessage("meeting"):
        if message.get("human"):
            said.append(f"{message['name']}: {message['text']}")
return said
"""

ASKED = "@Alice Host invites you to meeting 100: Talk. Do you want to join?"


def heard_by(talk: Talk, agent: str) -> list[tuple[str, str | None]]:
    """What an agent heard of people, and in which meeting."""
    told = [data["message"] for data in facts(talk, "in") if data["agent"] == agent]
    return [(message["text"], message.get("meeting")) for message in told if message.get("human")]


async def test_who_is_here_joins_at_once_and_everybody_in_the_meeting_hears_them() -> None:
    main = 'for _ in range(2):\n        await WaitForMessage("user")\n    await Say("user", f"{await Talk()}")'
    talks = hosted(COUNTS, guest("Guest"), main=main, required_attendees=["Guest", "Ada", "Bob"])
    async with talking(talks, Model()) as talk:
        await talk.say("begin", private=False)
        await talk.say("one", private=False)
        await talk.say("two", name="Bob", private=False)
        assert talk.chat == ["Meeting started"]
        await talk.say("a boat", private=False)
        shown = await talk.say("a cart", name="Bob", private=False)
        assert shown == ["Meeting has ended", "['Ada: a boat', 'Bob: a cart']"]
    assert heard_by(talk, "1001") == [("a boat", "100"), ("a cart", "100")]


async def test_somebody_who_has_not_come_yet_is_asked_in_the_chat_until_they_join() -> None:
    world, clock = still()
    talks = hosted('return await heard("hello")', ALICE, CAROL, required_attendees=["Alice"])
    async with talking(talks, Model(), world=world) as talk:
        assert await post(talk, "go", private=False) == [ASKED]
        await clock.advance(30)
        assert talk.chat == [ASKED, "Waiting for Alice to join.", ASKED]
        assert [choice.label for choice in world.offered[-1].choices] == ["Join", "Decline"]
        assert len(world.settled) == 1
        assert await post(talk, "hello", name="Alice", private=False) == [
            "Meeting started",
            "Meeting has ended",
            "hello",
        ]
    assert [data.get("named") for data in facts(talk, "joined")] == ["Alice"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [("decline", "declined"), ("Decline: I am ill", "I am ill"), ("", "declined")],
    ids=["in a word", "with a reason", "by the choice"],
)
async def test_somebody_who_declines_is_missing_and_the_caller_hears_it(words: str, answer: str) -> None:
    talks = hosted("return 1", ALICE, CAROL, required_attendees=["Alice"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False)
        if words:
            shown = await post(talk, words, name="Alice", private=False)
        else:
            choice = talk.world.offered[-1].choices[1].id
            await post(talk, "", name="Alice", private=False, kind="choice", choice=choice)
            shown = talk.chat[1:]
    assert shown == [f"Meeting 100 did not take place: Alice: REJECTED - {answer}"]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("Join", ["Meeting started"]),
        ("hello, what is it about?", ["Meeting started", "Meeting has ended", "hello, what is it about?"]),
        ("no time", ["You have declined meeting 100.", "Meeting 100 did not take place: Alice: REJECTED - no time"]),
    ],
)
async def test_words_in_the_thread_below_an_invitation_are_for_its_meeting(words: str, shown: list[str]) -> None:
    talks = hosted('return await heard("hello")', ALICE, CAROL, required_attendees=["Alice"])
    world = still()[0]
    world.has_threads = False
    async with talking(talks, Model(), world=world, places=MemoryPlaceStore()) as talk:
        await post(talk, "go", private=False)
        thread = replace(ADDRESS, thread=str(talk.chat.index(ASKED)))
        told = await post(talk, "me too", name="Carol", private=False, place=thread)
        assert told == ["This question is for Alice."]
        assert talk.world.chat[-1].spec is not None
        assert talk.world.chat[-1].spec.address == thread
        assert await post(talk, words, name="Alice", private=False, place=thread) == shown


async def test_a_plain_refusal_in_ones_own_words_declines() -> None:
    talks = hosted("return 1", ALICE, CAROL, required_attendees=["Alice"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False)
        assert await post(talk, "nope, later", name="Alice", private=False) == [
            "You have declined meeting 100.",
            "Meeting 100 did not take place: Alice: REJECTED - nope, later",
        ]
    assert facts(talk, "joined") == []


async def test_who_declined_or_left_comes_after_all_by_saying_so() -> None:
    code = 'await InviteToMeeting(["Alice"])\nreturn await heard("enough")'
    talks = hosted(code, ALICE, CAROL, guest("Guest"), required_attendees=["user", "Guest"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False)
        shown = await post(talk, "Sorry, not now!", name="Alice", private=False)
        assert "You have declined meeting 100. To join after all, write Join." in shown
        assert notices(talk, "Guest")[-1] == "Alice does not join the meeting: REJECTED - Sorry, not now!"
        await post(talk, "join", name="Alice", private=False)
        assert notices(talk, "Guest")[-1] == "Alice has joined the meeting"
        await post(talk, "", name="Alice", private=False, kind="leave")
        await post(talk, "Guest: a word", name="Alice", private=False)
        await post(talk, "Join", name="Alice", private=False)
        await post(talk, "No, red", name="Alice", private=False)
    assert heard_by(talk, "1001") == [("Guest: a word", None), ("No, red", "100")]


async def test_only_who_was_asked_can_answer() -> None:
    talks = hosted("return 1", ALICE, CAROL, required_attendees=["Alice"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False)
        choice = talk.world.offered[-1].choices[0].id
        shown = await post(talk, "", name="Bob", private=False, kind="choice", choice=choice)
        assert shown == ["This question is for Alice."]
    assert facts(talk, "joined") == []


async def test_who_writes_where_people_meet_takes_part_until_they_leave() -> None:
    talks = hosted('return await heard("enough")', guest("Guest"), required_attendees=["user", "Guest"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False)
        await post(talk, "me too", name="Bob", private=False)
        assert notices(talk, "Guest") == ["Meeting started", "Bob has joined the meeting"]
        await post(talk, "", name="Bob", private=False, kind="leave")
        assert notices(talk, "Guest")[-1] == "Bob has left the meeting"
        await post(talk, "Guest: a word in private", name="Bob", private=False)
        await post(talk, "and more", private=False)
    assert heard_by(talk, "1001") == [("me too", "100"), ("Guest: a word in private", None), ("and more", "100")]


async def test_a_person_is_invited_later_and_is_there_at_once_where_the_meeting_is() -> None:
    code = 'await InviteToMeeting(["Ada"])\nreturn await heard("hello")'
    async with talking(hosted(code, guest("Guest"), required_attendees=["Guest"]), Model()) as talk:
        await talk.say("go", private=False)
        assert notices(talk, "Guest") == ["Meeting started", "Host invited Ada. Waiting…", "Ada has joined the meeting"]
        assert "hello" in await talk.say("hello", private=False)


async def test_what_was_changed_or_taken_back_is_so_for_everybody_who_has_not_read_it() -> None:
    slow = """
async def Join():
    await Sleep(100)
    for message in await WaitForMessage("meeting"):
        if message.get("human"):
            await Say("user", f"guest: {message['type']} {message['text']}")
"""
    code = """
while True:
    for message in await WaitForMessage("meeting"):
        await Say("user", f"host: {message['type']} {message['text']}")
"""
    world, clock = still()
    talks = hosted(code, guest("Guest", slow), required_attendees=["user", "Guest"])
    async with talking(talks, Model(), world=world) as talk:
        await post(talk, "go", private=False)
        assert await post(talk, "one", private=False, message_id="m8") == ["host: meeting_broadcast one"]
        await post(talk, "two", private=False, message_id="m9")
        await post(talk, "uno", kind="edit", private=False, message_id="m8")
        await post(talk, "", kind="deletion", private=False, message_id="m9")
        before = len(talk.chat)
        await clock.advance(100)
        for _ in range(6):
            await FakeClock.settle()
        assert [text for text in talk.chat[before:] if "guest" in text] == ["guest: meeting_broadcast uno"]
    assert "host: edited uno" in talk.chat


READER = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            gone = [aside["text"] for aside in message.get("asides", ())]
            if message.get("human"):
                was = message.get("before")
                await Say("user", f"guest: {message['type']} {message['text']}, was {was}, gone {gone}")
"""


async def test_what_all_have_read_and_is_changed_or_taken_back_they_are_all_told() -> None:
    code = READER.partition("Join():")[2].replace("guest:", "host:").replace("\n    ", "\n")
    talks = hosted(code, guest("Guest", READER), guest("Late", READER), required_attendees=["user", "Guest"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False)
        await post(talk, "one", private=False, message_id="m8")
        await post(talk, "two", private=False, message_id="m9")
        assert sorted(await post(talk, "uno", kind="edit", private=False, message_id="m8")) == [
            "guest: edited uno, was one, gone []",
            "host: edited uno, was one, gone []",
        ]
        assert sorted(await post(talk, "ein", kind="edit", private=False, message_id="m8")) == [
            "guest: edited ein, was uno, gone []",
            "host: edited ein, was uno, gone []",
        ]
        assert await post(talk, "", kind="deletion", private=False, message_id="m9") == []
        assert sorted(await post(talk, "three", private=False)) == [
            "guest: meeting_broadcast three, was None, gone ['two']",
            "host: meeting_broadcast three, was None, gone ['two']",
        ]
        await post(talk, "Late", kind="invite", private=False)
        [history] = [text for text in notices(talk, "Late") if text.startswith("What was said")]
        assert "Ada: ein" in history
        assert "two" not in history


async def test_people_who_want_no_notices_of_meetings_are_told_none() -> None:
    quiet = AgentSpec("Alice", AgentKind.HUMAN, SPAN, metadata={"meeting_notifications": "none"})
    talks = hosted('return await heard("hello")', quiet, CAROL, required_attendees=["Alice"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "go", name="Alice", private=False)
        assert await post(talk, "hello", name="Alice", private=False) == ["hello"]


async def test_who_does_not_want_to_come_is_heard_as_without_the_meeting() -> None:
    code = 'await InviteToMeeting(["Alice"])\nreturn await heard("enough")'
    talks = hosted(code, ALICE, CAROL, guest("Guest"), required_attendees=["user", "Guest"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False)
        assert "@Alice Host invites you to meeting 100: Talk. Do you want to join?" in talk.chat
        await post(talk, "Decline, I am busy", name="Alice", private=False)
        assert notices(talk, "Guest")[-1] == "Alice does not join the meeting: REJECTED - I am busy"
        await post(talk, "Guest: hello", name="Alice", private=False)
    assert heard_by(talk, "1001") == [("Guest: hello", None)]


async def test_what_was_planned_is_nobody_who_could_take_part() -> None:
    talks = hosted('return await heard("enough")', guest("Guest"), required_attendees=["user", "Guest"])
    async with talking(talks, Model(), world=still()[0]) as talk:
        await post(talk, "go", private=False, person_id="schedule:daily")
        assert talk.chat == ["Host invites you to meeting 100: Talk. Do you want to join?"]
        await post(talk, "here I am", private=False)
        await post(talk, "Guest: the news", private=False, person_id="schedule:daily")
    assert [data["who"] for data in facts(talk, "joined")] == ["1001", "test:Ada"]
    assert heard_by(talk, "1001") == [("here I am", "100"), ("Guest: the news", None)]
