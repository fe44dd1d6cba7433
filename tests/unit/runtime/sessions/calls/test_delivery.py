"""What is said reaches people as they want it: as it is written, together with what follows, or by a playbook."""

from dataclasses import replace

import pytest
from msgspec import structs

from runtime.execution.speech.delivery import addressed, surely_addressed
from runtime.sandbox.monty import MontySandbox
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, Talk, answered, block, talking
from tests.sampling import sample
from tests.unit.gateway.features.files.test_files import FilesAtHand
from tests.unit.runtime.execution.processor.walking import compiled, main
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.test_crashes import run
from tests.unit.runtime.sessions.inbound.test_declared_people import human, with_people
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

WORDS = """
async def words(*parts):
    for part in parts:
        yield part

async def Main():
    await Say("user", words("one ", "two ", "three ", "four"))
    await WaitForMessage("user")
"""


def growth(talk: Talk) -> list[str]:
    """What was seen of the only message, one text after the other, each once."""
    [shown] = talk.world.chat
    return list(dict.fromkeys(shown.texts))


async def test_a_stream_grows_by_at_least_so_many_characters() -> None:
    async with talking(with_people(WORDS, human("Alice", streaming_chunk_size=7)), Model()) as talk:
        assert await talk.say("go") == ["one two three four"]
    assert growth(talk)[0] in ("one two ", "one two three four")
    assert all(len(more) - len(text) >= 4 for text, more in zip(growth(talk), growth(talk)[1:], strict=False))


async def test_what_is_said_buffered_does_not_grow() -> None:
    async with talking(with_people(WORDS, human("Alice", delivery_channel="buffered")), Model()) as talk:
        assert await talk.say("go") == ["one two three four"]
    assert growth(talk) == ["one two three four"]


BUFFERED = human("Alice", delivery_channel="buffered", buffer_timeout=4)


class Still:
    """A conversation in which time passes only when the test says so."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.world = World(())
        self.world.clock = self.clock  # type: ignore[assignment]


async def test_buffered_sentences_are_shown_together_when_their_time_is_over() -> None:
    code = """
async def Main():
    await Say("user", "one")
    await Sleep(3)
    await Say("user", "two")
    await Sleep(3)
    await Say("user", "three")
    await Sleep(30)
"""
    still = Still()
    async with talking(with_people(code, BUFFERED), Model(), world=still.world) as talk:
        talk.post("go")
        await talk.settled()
        await still.clock.advance(3.9)
        assert talk.chat == []
        await still.clock.advance(0.2)
        assert talk.chat == ["one\n\ntwo"]
        await still.clock.advance(5.8)
        assert talk.chat == ["one\n\ntwo"]
        await still.clock.advance(0.2)
        assert talk.chat == ["one\n\ntwo", "three"]


async def test_what_is_held_is_shown_at_once_when_the_agent_waits_or_returns() -> None:
    code = """
async def Main():
    await Say("user", "one")
    await Say("user", "two")
    await WaitForMessage("user")
    await Say("user", "three")
"""
    still = Still()
    async with talking(with_people(code, BUFFERED), Model(), world=still.world) as talk:
        assert await talk.say("go") == ["one\n\ntwo"]
        assert await talk.say("on") == ["three"]
        assert still.clock.monotonic() == 0


async def test_what_is_held_is_shown_at_once_when_the_person_writes() -> None:
    code = """
async def Main():
    await Say("user", "one")
    await Sleep(3)
    await Say("user", "two")
    await WaitForMessage("user")
"""
    still = Still()
    async with talking(with_people(code, BUFFERED), Model(), world=still.world) as talk:
        talk.post("go")
        await talk.settled()
        await still.clock.settle()
        assert talk.chat == []
        talk.post("well?")
        await talk.until(lambda: talk.chat == ["one"])
        await still.clock.advance(3)
    assert talk.chat == ["one", "two"]


async def test_what_a_model_says_buffered_is_shown_when_it_yields() -> None:
    reply = block('await Step("Main:01:QUE")', 'await Say("user", "One.")', 'await Say("user", "Two.")')
    reply = replace(reply, text=reply.text.replace("\n```", '\nawait Yld("user")\n```'))
    clerk = agent("Clerk", llm("Main", "01:QUE Say", begins=True))
    async with talking(program(clerk, BUFFERED), Model(reply), world=Still().world) as talk:
        assert await talk.say("go") == ["One.\n\nTwo."]
    assert growth(talk) == ["One.\n\nTwo."]


ASKS = """
async def Main():
    await Say("user", "There are two.")
    await SendFile("both.txt", "one and two")
    await Say("user", "Think well.")
    await Ask("Which?", ["one", "two"])
"""


async def test_a_question_or_a_file_comes_behind_what_was_said_before_it() -> None:
    clerk, files = agent("Clerk", MAIN, code=ASKS), FilesAtHand()
    async with talking(program(clerk, BUFFERED), Model(), world=Still().world, files=files) as talk:
        assert await talk.say("go") == ["There are two.", "", "Think well.", "Which?"]


HANDLED = """
async def Main():
    await Say("user", "a dog")
    await Say("user", "a cat")
    await WaitForMessage("user")

async def Shout(message):
    if "cat" in message["text"]:
        await Say("user", message["name"] + " to " + message["to"] + ": " + message["text"].upper())
"""


async def test_a_handler_is_given_each_message_instead_of_the_chat() -> None:
    clerk = agent("Clerk", MAIN, python("Shout", "message"), code=HANDLED)
    custom = human("Alice", delivery_channel="custom", delivery_handler="Shout")
    assert await answered(program(clerk, custom), Model(), "go") == ["Clerk to Alice: A CAT"]


async def test_a_handler_of_another_agent_runs_there_and_its_failure_is_the_speakers() -> None:
    code = """
async def Main():
    await WaitForMessage("Alice")
    try:
        await Say("Alice", "psst")
    except ValueError as error:
        await Say("Bob", f"{error}")
    await WaitForMessage("user")
"""
    post = "async def Post(message):\n    raise ValueError('no stamps for ' + message['to'])"
    program_ = program(
        agent("Clerk", MAIN, code=code),
        agent("Office", python("Post", "message"), code=post),
        human("Alice", person="test:Ada", delivery_channel="custom", custom_handler="Office.Post"),
        human("Bob", person="test:Bo"),
    )
    async with talking(program_, Model()) as talk:
        await talk.say("go", name="Bo")
        assert await talk.say("here", name="Ada") == ["no stamps for Alice"]


@pytest.mark.parametrize("kind", ["ValueError", "LLMUnavailable"])
async def test_words_that_a_handler_cannot_take_fail_their_step_and_are_not_asked_for_again(kind: str) -> None:
    code = f"""
class LLMUnavailable(Exception): ...

@playbook
async def Post(message):
    raise {kind}('no stamps')
"""
    made = await compiled(main("- Greet the user", "- Wait for user", code=code))
    custom, model = human("Alice", delivery_channel="custom", delivery_handler="Post"), Model(Reply("Hello."))
    async with talking(structs.replace(made, agents=(*made.agents, custom)), model) as talk:
        assert await talk.say("go") == ["⚠️ Post failed: no stamps. Your next message begins anew."]
    assert len(model.asked) == 1


async def test_people_who_share_a_conversation_see_what_one_of_them_wants() -> None:
    code = """
async def words(*parts):
    for part in parts:
        yield part

async def Main():
    await WaitForMessage("user")
    await Say("user", words("one ", "two ", "three"))
    await WaitForMessage("user")
"""
    slow, quick = human("Alice", delivery_channel="buffered"), human("Bob", streaming_chunk_size=4)
    async with talking(with_people(code, slow, quick), Model()) as talk:
        await talk.say("go", name="Alice", private=False)
        assert await talk.say("hi", name="Bob", private=False) == ["one two three"]
    assert len(growth(talk)) > 1 or talk.named("stream.started")


async def test_in_company_what_is_said_to_one_mentions_them_and_the_stream_is_the_text() -> None:
    said = ('await Say("Bo", "come here")', 'await Say("Bo", "@Bo, now")', 'await Say("user", "All.")')
    model = Model(
        block('await Step("Main:01:QUE")', 'await Yld("user")'),
        block(*said, 'await Yld("user")'),
        block('await Yld("user")'),
    )
    clerk = agent("Clerk", llm("Main", "01:QUE Say", begins=True))
    async with talking(program(clerk), model) as talk:
        await talk.say("go", private=False)
        assert await talk.say("hi", name="Bo", private=False) == ["@Bo come here", "@Bo, now", "All."]
        specs = [shown.spec for shown in talk.world.chat]
        assert [dict(spec.people) for spec in specs if spec] == [{"Ada": "test:Ada", "Bo": "test:Bo"}] * 3
    assert [event.data["corrected"] for event in talk.named("stream.completed")] == [False] * 3


async def test_in_private_nobody_is_mentioned() -> None:
    code = 'async def Main():\n    await Say("Ada", "come here")'
    assert await answered(with_people(code), Model(), "go") == ["come here"]


async def test_a_mention_is_of_whom_it_is_said_to_where_several_show_the_name() -> None:
    code = """
async def Main():
    while True:
        for message in await WaitForMessage("*"):
            await Say(message["sender"], "you")
"""
    async with talking(with_people(code), Model()) as talk:
        await talk.say("go", name="Ada", private=False)
        assert await talk.say("I", name="ada", private=False) == ["@ada (2) you"]
        spec = talk.world.chat[0].spec
    assert spec is not None
    assert dict(spec.people) == {"ada": "test:ada", "Ada (1)": "test:Ada", "ada (2)": "test:ada"}


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("hi", "Bo", "@Bo hi"),
        ("@Bo hi", "Bo", "@Bo hi"),
        ("@bo!", "Bo", "@bo!"),
        ("@Bob hi", "Bo", "@Bo @Bob hi"),
        ("", "Bo", "@Bo "),
        ("hi", "Bo (2)", "@Bo (2) hi"),
        ("@bo hi", "Bo (2)", "@Bo (2) hi"),
        ("@Bo (2), hi", "Bo (2)", "@Bo (2), hi"),
        ("@Bob hi", "Bo (2)", "@Bo (2) @Bob hi"),
    ],
)
def test_a_text_begins_with_whom_it_is_for_and_what_is_shown_of_it_never_changes(
    text: str, name: str, expected: str
) -> None:
    assert addressed(text, name) == expected
    for length in range(len(text)):
        assert expected.startswith(surely_addressed(text[:length], name))
    assert addressed(text, None) == surely_addressed(text, None) == text


async def test_what_is_held_when_the_process_dies_is_shown_once_and_in_order(sandbox: MontySandbox) -> None:
    code = """
async def Main():
    await Say("user", "one")
    await Now()
    await Say("user", "two")
    await Now()
    await Say("user", "three")
    await EndProgram()
"""
    case = Case(with_people(code, human("Alice", delivery_channel="buffered", buffer_timeout=9)), ("hi",), ())
    calm = await run(case, sandbox, crashes=(), seed=0)
    for point in sample().of(range(1, calm.points + 1)):
        world = await run(case, sandbox, crashes=(point,), seed=point)
        assert "\n\n".join(shown.text for shown in world.chat) == "one\n\ntwo\n\nthree", f"crashed at {point}"


MEETING = """
async def Main():
    await WaitForMessage("user")
    await Talk()
    await WaitForMessage("user")

async def Talk():
    await Say("meeting", "We begin.")
    await Say("meeting", "Alice should know this.")
    await Say("meeting, Alice", "For you.")
    await Say("meeting, agent 1001", "Not for you.")
"""

GUEST = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "Meeting has ended":
                return
"""


@pytest.mark.parametrize(
    ("wanted", "seen"),
    [
        ("all", ["We begin.", "Alice should know this.", "For you.", "Not for you."]),
        ("targeted", ["Alice should know this.", "For you."]),
        ("none", []),
    ],
)
async def test_a_person_sees_of_a_meeting_what_they_want(wanted: str, seen: list[str]) -> None:
    host = agent("Host", MAIN, python("Talk", meeting=True, required_attendees=["Guest"]), code=MEETING)
    guest = agent("Guest", python("Join", meeting=True), code=GUEST)
    alice = human("Alice", meeting_notifications=wanted)
    async with talking(program(host, guest, alice), Model()) as talk:
        await talk.say("go", name="Zoe")
        assert await talk.say("on", name="Zoe") == seen


async def test_who_wants_nothing_of_meetings_is_not_mentioned_where_another_sees_it() -> None:
    code = MEETING.replace("Alice should know this.", "@Alice and @Bob")
    host = agent("Host", MAIN, python("Talk", meeting=True, required_attendees=["Guest"]), code=code)
    guest = agent("Guest", python("Join", meeting=True), code=GUEST)
    people = human("Alice", meeting_notifications="none"), human("Bob", meeting_notifications="targeted")
    async with talking(program(host, guest, *people), Model()) as talk:
        await talk.say("go", name="Alice", private=False)
        assert await talk.say("on", name="Bob", private=False) == ["@Alice and @Bob"]
        spec = talk.world.chat[0].spec
    assert spec is not None
    assert dict(spec.people) == {"Bob": "test:Bob"}


async def test_what_was_shown_early_leaves_no_timer_behind() -> None:
    code = """
async def Main():
    for number in range(5):
        await Say("user", str(number))
        await WaitForMessage("user")
"""
    still = Still()
    async with talking(with_people(code, BUFFERED), Model(), world=still.world) as talk:
        before = None
        for number in range(4):
            assert await talk.say("on") == [str(number)]
            await still.clock.settle()
            before = before or still.clock.sleeping
            assert still.clock.sleeping == before
