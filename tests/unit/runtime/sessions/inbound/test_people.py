"""What people do besides writing: they change, take back, quote and react; it reaches whom it concerns."""

from typing import Any

import anyio
import pytest

from runtime.core.quote import Quote
from runtime.language.program import Program
from tests.fakes.people.talk import Model, Reply, Talk, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program, python

ASK = block('await Step("Main:01:QUE")', 'await Say("user", "Where to?")', 'await Yld("user")')
ON = block('await Say("user", "I see.")', 'await Yld("user")')


def travel() -> Program:
    return program(agent("Travel", llm("Main", "01:QUE Ask; YLD for user", begins=True)))


def said_by(talk: Talk, text: str) -> str:
    """The platform's id of a message of ours."""
    return str(talk.chat.index(text))


def paused(reply: str) -> tuple[Reply, anyio.Event]:
    gate = anyio.Event()
    return Reply(reply, gate=gate), gate


SLOW = """```python
await Step("Main:01:QUE")
await Say("user", "Where to?")
# a long time passes here, and nothing of it is seen by anybody who waits
await Yld("user")
```"""


async def test_an_edit_of_a_message_that_was_not_taken_replaces_it() -> None:
    slow, gate = paused(SLOW)
    model = Model(slow, ON)
    async with talking(travel(), model) as talk:
        talk.post("go")
        await model.writing.wait()
        talk.post("Osla", message_id="x")
        talk.post("Oslo", kind="edit", message_id="x")
        await talk.settled()
        gate.set()
        await talk.world.idle.wait()
    assert "Message from Ada (user): Oslo" in model.told(1)
    assert "Osla" not in model.told(1)


async def test_a_message_that_was_taken_back_before_it_was_taken_is_not_heard_of() -> None:
    slow, gate = paused(SLOW)
    model = Model(slow, ON)
    async with talking(travel(), model) as talk:
        talk.post("go")
        await model.writing.wait()
        talk.post("never mind me", message_id="x")
        talk.post("", kind="deletion", message_id="x")
        await talk.settled()
        gate.set()
        await talk.world.idle.wait()
        assert model.left == 1
        await talk.say("Oslo")
    assert "never mind" not in model.told(1)


async def test_an_edit_of_an_answered_message_is_handled_like_a_message() -> None:
    model = Model(ASK, ON, ON)
    async with talking(travel(), model, after="go") as talk:
        await talk.say("Oslo", message_id="x")
        assert await talk.say("Bergen", kind="edit", message_id="x") == ["I see."]
        assert await talk.say("Bergen", kind="edit", message_id="x") == []
    assert 'Ada (user) changed what they said from "Oslo" to "Bergen"' in model.told(2)


async def test_a_deletion_and_a_reaction_wake_nobody_and_are_seen_with_the_next_message() -> None:
    model = Model(ASK, ON, ON)
    async with talking(travel(), model, after="go") as talk:
        await talk.say("Oslo", message_id="x")
        assert await talk.say("", kind="deletion", message_id="x") == []
        assert await talk.say("👍", kind="reaction", message_id=said_by(talk, "Where to?"), name="Bo") == []
        assert len(model.asked) == 2
        await talk.say("Bergen")
    told = model.told(2)
    assert 'Ada (user) took back what they said: "Oslo"\n' in told
    assert 'Bo (user) put 👍 on "Where to?"\nMessage from Ada (user): Bergen' in told


async def test_a_python_playbook_finds_deletions_beside_the_next_message() -> None:
    code = """
async def Main():
    for _ in range(2):
        for message in await WaitForMessage("user"):
            await Say("user", message["text"] + str([m["type"] for m in message.get("asides", [])]))
"""
    echo = program(agent("Main", MAIN, code=code))
    async with talking(echo, Model(), after="go") as talk:
        assert await talk.say("one", message_id="x") == ["one[]"]
        assert await talk.say("", kind="deletion", message_id="x") == []
        assert await talk.say("two") == ["two['deleted']"]


@pytest.mark.parametrize("kind", ["edit", "deletion", "reaction"])
async def test_what_becomes_of_unknown_messages_begins_nothing_and_says_nothing(kind: str) -> None:
    async with talking(travel(), Model(ASK)) as talk:
        talk.post("x", kind=kind, message_id="strange")
        await talk.rested()
        assert (talk.chat, len(talk.world.dismissed), talk.world.discarded) == ([], 1, [])
        await talk.say("go")
        assert await talk.say("x", kind=kind, message_id="strange") == []
    assert not talk.facts("aside")


async def test_a_quote_stands_before_the_message() -> None:
    model = Model(ASK, ON)
    async with talking(travel(), model, after="go") as talk:
        await talk.say("There.", quote=Quote("9", "Bo", "Oslo is nice\nin May"))
    assert "Message from Ada (user):\n> Bo: Oslo is nice\n>   in May\nThere." in model.told(1)


async def test_a_reply_that_quotes_an_agent_goes_to_that_agent() -> None:
    code = """
async def Main():
    await Say("user", "I am {name}")
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", "{name}: " + message["text"])
"""
    both = program(*(agent(n, MAIN, code=code.replace("{name}", n)) for n in ("One", "Two")))
    async with talking(both, Model(), after="go") as talk:
        for name in ("One", "Two", "One"):
            quote = Quote(said_by(talk, f"I am {name}"), name, "")
            assert await talk.say("you", quote=quote) == [f"{name}: you"]


async def test_in_a_group_the_first_answer_quotes_the_message_and_knows_the_people() -> None:
    twice = block('await Say("user", "One.")', 'await Say("user", "Two.")', 'await Yld("user")')
    async with talking(travel(), Model(ASK, twice)) as talk:
        await talk.say("go", private=False, message_id="x")
        await talk.say("Oslo", private=False, message_id="y", name="Bo")
    specs = [shown.spec for shown in talk.world.chat]
    assert [spec.reply_to for spec in specs if spec] == ["x", "y", None]
    assert specs[2] is not None
    assert specs[2].people == {"Ada": "test:Ada", "Bo": "test:Bo"}


async def test_an_answer_to_several_messages_quotes_none_of_them() -> None:
    slow, gate = paused(SLOW)
    model = Model(slow, ASK)
    async with talking(travel(), model) as talk:
        talk.post("go", private=False, message_id="x")
        await model.writing.wait()
        talk.post("Oslo", private=False, message_id="y")
        talk.post("in May", private=False, message_id="z")
        await talk.settled()
        gate.set()
        await talk.world.idle.wait()
    assert [shown.spec.reply_to for shown in talk.world.chat if shown.spec] == ["x", None]


async def test_in_private_nothing_is_quoted() -> None:
    async with talking(travel(), Model(ASK)) as talk:
        await talk.say("go")
    assert [shown.spec.reply_to for shown in talk.world.chat if shown.spec] == [None]


async def test_people_see_what_an_agent_does_and_nothing_while_it_waits() -> None:
    code = """
async def Main():
    await LookUpTaxCodes()
    await Asking()

async def LookUpTaxCodes():
    await Now()

async def Asking():
    await WaitForMessage("user")
"""
    main = program(
        agent(
            "Main",
            MAIN,
            python("LookUpTaxCodes"),
            python("Asking"),
            code=code,
        )
    )
    async with talking(main, Model(), after="go") as talk:
        assert talk.world.works == [True, False, True, False]
        talk.post("on")
        await talk.until(lambda: len(talk.world.works) == 6)
        assert talk.world.works[4:] == [True, False]
        assert not any(talk.world.doing)  # the name of a playbook is for programmers


async def test_a_thumb_that_brings_a_waiting_session_back_to_memory_shows_nobody_at_work() -> None:
    code = """
async def Main():
    await Asking()
    await Say("user", "Thanks.")

async def Asking():
    await Say("user", "And?")
    await WaitForMessage("user")
"""
    main = program(agent("Main", MAIN, python("Asking"), code=code))
    async with talking(main, Model(), after="go") as talk:
        asked = said_by(talk, "And?")
    before = len(talk.world.works)
    async with talking(main, Model(), world=talk.world) as later:
        await later.say("", kind="reaction", message_id=asked, choice="up")
        assert not any(later.world.works[before:])
        assert await later.say("on") == ["Thanks."]
        assert any(later.world.works[before:])


async def test_people_see_which_step_a_model_works_on() -> None:
    model = Model(ASK, ON)
    async with talking(travel(), model, after="go") as talk:
        await talk.say("Oslo")
    assert "Ask" in talk.world.doing


async def test_a_thumb_is_a_fact_that_a_changed_mind_replaces_and_a_second_delivery_does_not_repeat() -> None:
    async with talking(travel(), Model(ASK), after="go") as talk:
        asked = said_by(talk, "Where to?")
        for rating in ("up", "up", "down", "not_up", "not_down", "none"):
            await talk.say("", kind="reaction", message_id=asked, choice=rating)
        await talk.say("", kind="reaction", message_id=asked, choice="up", name="Bo")
        facts: list[Any] = talk.facts("feedback")
    assert [(fact["person"], fact["rating"]) for fact in facts] == [
        ("test:Ada", "up"),
        ("test:Ada", "down"),
        ("test:Ada", "none"),
        ("test:Bo", "up"),
    ]
    about = {(fact["agent"], fact["step"], fact["pid"]) for fact in facts}
    assert about == {("1000", "Travel.Main Main:01:QUE", asked)}


async def test_other_reactions_and_thumbs_on_what_nobody_said_rate_nothing() -> None:
    async with talking(travel(), Model(ASK)) as talk:
        await talk.say("go", message_id="x")
        await talk.say("❤️", kind="reaction", message_id=said_by(talk, "Where to?"))
        await talk.say("", kind="reaction", message_id=said_by(talk, "Where to?"), choice="not_up")
        await talk.say("", kind="reaction", message_id="x", choice="up")
        assert not talk.facts("feedback")
