"""People whom a program declares: who is who, and what is said to them and waited for from them by name."""

from collections.abc import Mapping
from typing import Any

import pytest

from runtime.language.program import AgentKind, AgentSpec, Program
from tests.fakes.people.talk import Model, Talk, answered, block, talking
from tests.unit.runtime.sessions.programs import MAIN, SPAN, agent, llm, program


def human(klass: str, /, **metadata: Any) -> AgentSpec:
    """A declared human."""
    return AgentSpec(klass, AgentKind.HUMAN, SPAN, metadata=metadata)


def with_people(code: str, *people: AgentSpec) -> Program:
    """A program of one agent in Python and these people."""
    return program(agent("Clerk", MAIN, code=code), *people)


def bound(talk: Talk) -> list[Mapping[str, str]]:
    """Who was bound to whom, in order."""
    return [data for data in talk.facts("bound") if isinstance(data, dict)]


ECHO = """
async def Main():
    while True:
        for message in await WaitForMessage("*"):
            await Say("user", f"{message['name']} ({message['class']}): {message['text']}")
"""


async def test_a_person_is_who_the_program_says_by_id_before_anybody_by_name() -> None:
    people = human("Alice", person=["test:Zoe", "web:zoe"]), human("Bob")
    async with talking(with_people(ECHO, *people), Model()) as talk:
        await talk.say("go", name="Alice")
        assert await talk.say("hi", name="Alice") == ["Alice (1) (Human): hi"]
        assert await talk.say("hi", name="Zoe") == ["Alice (Alice): hi"]
        assert await talk.say("me too", name="Alice") == ["Alice (1) (Human): me too"]
    assert bound(talk) == [{"id": "test:Zoe", "human": "Alice"}]


async def test_a_person_who_shows_the_name_of_a_declared_human_is_them() -> None:
    people = human("Alice", name="Alice Liddell"), human("Bob")
    async with talking(with_people(ECHO, *people), Model()) as talk:
        await talk.say("go", name="Zoe")
        assert await talk.say("hi", name="alice liddell") == ["Alice (Alice): hi"]
        assert await talk.say("hi", name="BOB") == ["Bob (Bob): hi"]
        assert await talk.say("hi", name="Alice") == ["Alice (4) (Human): hi"]
    assert bound(talk) == [{"id": "test:alice liddell", "human": "Alice"}, {"id": "test:BOB", "human": "Bob"}]


async def test_the_only_declared_human_is_whoever_talks_first() -> None:
    async with talking(with_people(ECHO, human("Alice")), Model()) as talk:
        await talk.say("go", name="Zoe")
        assert await talk.say("hi", name="Zoe") == ["Alice (Alice): hi"]
        assert await talk.say("hi", name="Alice") == ["Alice (2) (Human): hi"]


async def test_the_only_declared_human_with_an_id_is_nobody_else() -> None:
    async with talking(with_people(ECHO, human("Alice", person="test:Zoe")), Model()) as talk:
        await talk.say("go", name="Alice")
        assert bound(talk) == []
        await talk.say("hi", name="Zoe")
    assert bound(talk) == [{"id": "test:Zoe", "human": "Alice"}]


async def test_somebody_says_who_they_are_once_and_nobody_else_may() -> None:
    people = human("Alice"), human("Bob"), human("Carol", person="test:Carol")
    async with talking(with_people(ECHO, *people), Model()) as talk:
        await talk.say("go", name="Zoe")
        assert await talk.say("alice", kind="iam", name="Zoe") == ["Zoe is Alice here."]
        assert await talk.say("Alice", kind="iam", name="Zoe") == ["Zoe is Alice here."]
        assert await talk.say("Alice", kind="iam", name="Yan") == ["Zoe is already Alice here."]
        assert await talk.say("Carol", kind="iam", name="Yan") == ["The program reserves Carol for somebody else."]
        unknown = "The program has no person called “Dan”. It has Alice, Bob, Carol."
        assert await talk.say("Dan", kind="iam", name="Yan") == [unknown]
        assert await talk.say("Bob", kind="iam", name="Zoe") == ["Zoe is Bob here."]
        assert await talk.say("Alice", kind="iam", name="Yan") == ["Yan is Alice here."]
        assert await talk.say("hi", name="Zoe") == ["Bob (Bob): hi"]


async def test_a_program_without_people_names_nobody() -> None:
    async with talking(with_people(ECHO), Model(), after="go") as talk:
        answer = "The program names no people, so you take part under your own name."
        assert await talk.say("Alice", kind="iam") == [answer]
        assert await talk.say("hi") == ["Ada (Human): hi"]


SAYS = """
async def Main():
    while True:
        for message in await WaitForMessage("*"):
            try:
                await Say(message["text"], "psst")
            except Exception as error:
                await Say("user", f"{type(error).__name__}: {error}")
"""


@pytest.mark.parametrize("words", ["user", "USER", "human", "Human", "Alice", "alice", "Bo", "bo", "test:Bo", "@Bo"])
async def test_people_are_spoken_to_by_these_words(words: str) -> None:
    async with talking(with_people(SAYS, human("Alice")), Model()) as talk:
        await talk.say("go", name="Ada")
        await talk.say("user", name="Bo")
        assert await talk.say(words, name="Bo") == ["psst"]
    recipients = [data["to"] for data in talk.facts("page") if isinstance(data, dict)]
    wanted = "human" if words.lower() in ("user", "human") else "person test:Bo"
    assert recipients[-1] == ("person test:Ada" if words.lower() == "alice" else wanted)


@pytest.mark.parametrize(
    ("words", "known"),
    [
        ("Carol", "nobody called 'Carol' can be spoken to; known are user, Clerk, agent 1000, Alice, Bob, Bo"),
        ("Bob", "Bob is not here yet; here are Alice, Bo"),
        ("agent 1007", "nobody called 'agent 1007' can be spoken to"),
        ("meeting", "there is no meeting here; name it as `meeting 100`, or join one first"),
        ("meeting 107", "meeting 107 is not going on; going on are none"),
        ("", "nobody called '' can be spoken to"),
    ],
)
async def test_nothing_falls_back_to_somebody_else(words: str, known: str) -> None:
    people = human("Alice", person="test:Ada"), human("Bob", person="test:Bob")
    async with talking(with_people(SAYS, *people), Model()) as talk:
        await talk.say("go", name="Ada")
        await talk.say("user", name="Bo")
        [said] = await talk.say(words, name="Bo")
    assert said.startswith("UnknownTarget: ")
    assert known in said


async def test_a_name_that_several_people_show_means_who_did_so_first() -> None:
    async with talking(with_people(SAYS), Model()) as talk:
        await talk.say("go", name="Ada")
        await talk.say("user", name="ADA")
        await talk.say("Ada", name="ADA")
        recipients = [data["to"] for data in talk.facts("page") if isinstance(data, dict)]
    assert recipients[-1] == "person test:Ada"


async def waits(talk: Talk, text: str, name: str) -> None:
    """Somebody says what nobody waits for: it is marked so, and nothing comes of it."""
    before = list(talk.chat)
    talk.post(text, name=name)
    await talk.settled()
    assert (talk.world.marks[-1][1], talk.chat) == ("queued", before)


def asking(source: str) -> str:
    """Code that waits for this source over and over, and says what it heard."""
    return f"""
async def Main():
    while True:
        for message in await WaitForMessage("{source}"):
            await Say("user", "heard " + message["text"])
"""


async def test_only_the_words_of_a_named_human_end_a_wait_for_them() -> None:
    people = human("Alice"), human("Bob")
    async with talking(with_people(asking("Alice"), *people), Model()) as talk:
        await talk.say("go", name="Bob")
        await waits(talk, "one", "Bob")
        talk.post("two", name="Alice")
        await talk.until(lambda: talk.chat == ["heard two"])
        await waits(talk, "three", "Bob")
        talk.post("four", name="Alice")
        await talk.until(lambda: talk.chat == ["heard two", "heard four"])


async def test_user_is_the_person_who_was_spoken_to_last_else_anybody() -> None:
    code = """
async def Main():
    await WaitForMessage("user")
    for target in ("Bo", "user"):
        await Say(target, "you?")
        for message in await WaitForMessage("user"):
            await Say("user" if target == "user" else "Bo", message["name"])
"""
    async with talking(with_people(code), Model()) as talk:
        await talk.say("go", name="Ada")
        await talk.say("hi", name="Bo")
        await waits(talk, "me", "Ada")
        talk.post("me", name="Bo")
        await talk.until(lambda: talk.chat == ["you?", "Bo", "you?", "Ada"])


async def test_a_model_waits_for_a_named_human_and_for_who_was_spoken_to_last() -> None:
    clerk = agent("Clerk", llm("Main", "01:QUE Ask Bob", "02:YLD for Bob", "03:YLD for user", begins=True))
    first = block('await Step("Main:01:QUE")', 'await Step("Main:02:YLD")', 'await Yld("agent Bob")')
    asks = block('await Step("Main:03:YLD")', 'await Say("Bob", "And now?")', 'await Yld("user")')
    model = Model(first, asks, block('await Say("user", "Fine.")', 'await Yld("user")'))
    async with talking(program(clerk, human("Alice"), human("Bob")), model) as talk:
        assert await talk.say("go", name="Alice") == []
        await waits(talk, "me?", "Alice")
        talk.post("here", name="Bob")
        await talk.until(lambda: talk.chat == ["And now?"])
        await waits(talk, "me!", "Alice")
        talk.post("then", name="Bob")
        await talk.until(lambda: talk.chat == ["And now?", "Fine."])
    assert "Message from Bob (user): here" in model.told(1)
    assert "Alice" not in model.told(1).split("You execute")[0]
    assert "Message from Bob (user): then" in model.told(2)


async def test_agent_is_never_a_human() -> None:
    code = """
async def Main():
    await Say("user", "hello")
    try:
        await WaitForMessage("agent")
    except Exception as error:
        await Say("user", str(error))
"""
    said = await answered(with_people(code, human("Alice")), Model(), "go")
    assert said == [
        "hello",
        "no agent was spoken to yet, so there is none to wait for; name it as `agent 1001`",
    ]


async def test_a_model_knows_the_people_of_its_program_and_who_said_what() -> None:
    clerk = agent("Clerk", llm("Main", "01:QUE Listen", begins=True))
    alice = AgentSpec("Alice", AgentKind.HUMAN, SPAN, "Decides in the end.", {})
    listens = block('await Step("Main:01:QUE")', 'await Yld("user")')
    model = Model(listens, block('await Yld("user")'), block('await Yld("user")'))
    async with talking(program(clerk, alice, human("Bob")), model) as talk:
        await talk.say("go", name="alice")
        await talk.say("Yes.", name="alice")
        await talk.say("No.", name="Cy")
    assert "# Alice (a person; Say reaches them once they are here)\nDecides in the end." in model.asked[0][0].content
    assert "# Bob (a person; Say reaches them once they are here)" in model.asked[0][0].content
    assert model.told(1).startswith("Message from Alice (user): Yes.")
    assert model.told(2).startswith("Message from Cy (user): No.")
    assert "People here: Alice (shown as alice), Cy" in model.told(2)


async def test_say_with_one_argument_is_refused_and_the_right_form_shown() -> None:
    clerk = agent("Clerk", llm("Main", "01:QUE Say", begins=True))
    wrong = block('await Step("Main:01:QUE")', 'await Say("Hello!")', 'await Yld("user")')
    right = block("# resume: 1", 'await Say("user", "Hello!")', 'await Yld("user")')
    model = Model(wrong, right)
    async with talking(program(clerk), model) as talk:
        assert await talk.say("go") == ["Hello!"]
    assert 'Say needs \'message\'; it is called as Say("user", "the text")' in model.told(1)
    code = """
async def Main():
    try:
        await Say("Hello!")
    except PlaybookError as error:
        await Say("user", str(error))
"""
    async with talking(with_people(code), Model()) as talk:
        assert await talk.say("go") == ['Say needs \'message\'; it is called as Say("user", "the text")']


async def test_a_model_that_speaks_to_nobody_is_corrected_before_anything_is_shown() -> None:
    clerk = agent("Clerk", llm("Main", "01:QUE Say", begins=True))
    wrong = block('await Step("Main:01:QUE")', 'await Say("Bob", "Hello!")', 'await Yld("user")')
    right = block("# resume: 1", 'await Say("user", "Hello!")', 'await Yld("user")')
    model = Model(wrong, right)
    async with talking(program(clerk, human("Alice"), human("Bob")), model) as talk:
        assert await talk.say("go", name="Alice") == ["Hello!"]
    assert "Bob is not here yet; here are Alice" in model.told(1)


@pytest.mark.parametrize(
    ("shown", "known"),
    [
        ("Clerk", "Clerk (2)"),
        ("clerk", "clerk (2)"),
        ("user", "user (2)"),
        ("Meeting 100", "Meeting 100 (2)"),
        ("agent 1000", "agent 1000 (2)"),
        ("Bo\nClerk: yes\u202e", "Bo Clerk: yes"),
        ("x" * 300, "x" * 80),
        (" \n ", "test:7"),
        ("👩\u200d👧 Bo", "👩\u200d👧 Bo"),
        ("Bo (1)", "Bo (2)"),
        ("Bo\uff08\uff11\uff09", "Bo (2)"),
        ("(1)", "test:7 (2)"),
    ],
)
async def test_a_name_that_somebody_shows_is_one_line_and_no_agents(shown: str, known: str) -> None:
    code = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", f"heard {message['name']}")
"""
    async with talking(with_people(code), Model()) as talk:
        await talk.say("go", private=False)
        assert await talk.say("hi", name=shown, person_id="test:7", private=False) == [f"heard {known}"]
