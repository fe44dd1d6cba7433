"""The last exchange is undone: the session goes on from before it, as if it had not been."""

from dataclasses import replace

import anyio
import pytest

from runtime.language.program import Program
from runtime.stores.sessions import SessionRecord
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, Talk, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program

BEGINNING = "↩️ Undone. We are back to before Ada said “hi”, at the very beginning. Write to start again."


def undone(text: str, name: str = "Ada") -> str:
    return f"↩️ Undone. We are back to before {name} said “{text}”. Everything since then is forgotten."


def counter() -> Program:
    code = """
async def Main():
    total = 0
    while True:
        for message in await WaitForMessage("user"):
            total += 1
            await Say("user", f"{total}: " + message["text"])
"""
    return program(agent("Main", MAIN, code=code))


def asker() -> Program:
    code = """
async def Main():
    while True:
        answer = await Ask("Ship it?", ["Yes", "No"])
        await Say("user", f"answer: {answer}")
        await WaitForMessage("user")
"""
    return program(agent("Main", MAIN, code=code))


def worker() -> Program:
    return program(agent("Worker", llm("Main", "01:QUE Answer; YLD for user", begins=True)))


def turn(text: str, *more: str) -> Reply:
    return block('await Step("Main:01:QUE")', *more, f'await Say("user", "{text}")', 'await Yld("user")')


def sessions(world: World) -> list[SessionRecord]:
    return list(world._records.values())


def press(talk: Talk, index: int) -> str:
    return talk.world.offered[-1].choices[index].id


async def test_undo_takes_the_session_back_to_before_the_last_message() -> None:
    async with talking(counter(), Model(), after="hi") as talk:
        assert await talk.say("one") == ["1: one"]
        assert await talk.say("two") == ["2: two"]
        assert await talk.say("", kind="undo") == [undone("two")]
        assert await talk.say("other") == ["2: other"]


async def test_it_is_recorded_on_both_sessions() -> None:
    async with talking(counter(), Model(), after=("hi", "one")) as talk:
        await talk.say("", kind="undo")
        old, new = sessions(talk.world)
        assert new.parent is not None
        assert (old.ended, old.replaced_by, new.parent.session, new.ended) == (True, new.id, old.id, False)


async def test_undone_again_it_goes_further_back_and_at_last_to_the_beginning() -> None:
    async with talking(counter(), Model(), after=("hi", "one", "two")) as talk:
        assert await talk.say("", kind="undo") == [undone("two")]
        assert await talk.say("", kind="undo") == [undone("one")]
        assert await talk.say("", kind="undo") == [BEGINNING]
        assert await talk.say("", kind="undo") == ["There is nothing to undo."]
        await talk.say("again")
        assert await talk.say("first") == ["1: first"]


async def test_several_exchanges_are_undone_at_once() -> None:
    async with talking(counter(), Model(), after="hi") as talk:
        for text in ("one", "two", "three"):
            await talk.say(text)
        [told] = await talk.say("2", kind="undo")
        assert told.startswith("↩️ The last 2 exchanges are undone. We are back to before Ada said “two”")
        assert await talk.say("x") == ["2: x"]
        assert await talk.say("50", kind="undo") == [
            BEGINNING,
        ]


@pytest.mark.parametrize("text", ["0", "all", "-1", "1000"])
async def test_what_is_no_number_of_exchanges_is_told_so(text: str) -> None:
    async with talking(counter(), Model(), after="hi") as talk:
        assert await talk.say(text, kind="undo") == [
            "/undo undoes the last exchange, /undo 3 the last three. The limit is 100."
        ]


async def test_undo_works_in_a_session_that_was_taken_in_from_a_file() -> None:
    async with talking(counter(), Model(), after="hi") as talk:
        await talk.say("two")
    (known,) = talk.world._records.values()
    talk.world._records[known.id] = replace(known, taken_in="mark")
    async with talking(counter(), Model(), world=talk.world) as later:
        assert await later.say("", kind="undo") == [undone("two")]
        assert await later.say("again") == ["1: again"]
    old, new = sessions(talk.world)
    assert (old.taken_in, old.replaced_by, new.taken_in) == ("mark", new.id, "")


async def test_undo_works_after_a_restart() -> None:
    async with talking(counter(), Model(), after=("hi", "one")) as talk:
        await talk.say("two")
    async with talking(counter(), Model(), world=talk.world) as later:
        assert await later.say("", kind="undo") == [undone("two")]
    async with talking(counter(), Model(), world=talk.world) as last:
        assert await last.say("", kind="undo") == [undone("one")]
        assert await last.say("x") == ["1: x"]


async def test_the_model_does_not_know_what_was_undone() -> None:
    model = Model(turn("Hello."), turn("Noted: secret.", "$word = 'secret'"), turn("What word?"))
    async with talking(worker(), model, after=("hi", "remember: secret")) as talk:
        await talk.say("", kind="undo")
        assert await talk.say("which word?") == ["What word?"]
    asked = "\n".join(message.content for message in model.asked[-1])
    assert "which word?" in asked
    assert "secret" not in asked
    assert "Hello." in asked


async def test_variables_are_back() -> None:
    model = Model(turn("One.", 'await Var("count", 1)'), turn("Two.", 'await Var("count", 2)'), turn("Which?"))
    async with talking(worker(), model, after=("hi", "more")) as talk:
        await talk.say("", kind="undo")
        await talk.say("how many?")
    assert "$count = 1" in model.told(-1)


async def test_agents_at_work_are_stopped_first_and_nothing_of_it_comes_later() -> None:
    long = Reply(
        '```python\nawait Step("Main:01:QUE")\nawait Say("user", "Once upon a time, long ago, and so on")',
        gate=anyio.Event(),
    )
    model = Model(turn("Hello."), long, turn("Anew."))
    async with talking(worker(), model, after="hi") as talk:
        talk.post("a story", message_id="s")
        await model.writing.wait()
        assert await talk.say("", kind="undo") == [undone("a story")]
        assert ("s", "stopped") in talk.world.marks
        assert (await talk.say("well?"))[-1] == "Anew."
    assert "a story" not in "\n".join(message.content for message in model.asked[-1])


async def test_messages_to_agents_at_work_are_undone_with_what_they_were_at_work_on() -> None:
    long = Reply('```python\nawait Step("Main:01:QUE")\n# hm', gate=anyio.Event())
    model = Model(turn("Hello."), long, turn("Anew."))
    async with talking(worker(), model, after="hi") as talk:
        talk.post("a story", message_id="s")
        await model.writing.wait()
        talk.post("with a dragon", message_id="d")
        assert await talk.say("", kind="undo") == [undone("a story")]
        assert {pid for pid, mark in talk.world.marks if mark == "stopped"} == {"s", "d"}
        await talk.say("well?")
    asked = "\n".join(message.content for message in model.asked[-1])
    assert ("dragon" in asked, "well?" in asked) == (False, True)


async def test_a_press_is_undone_and_the_question_asked_again() -> None:
    async with talking(asker(), Model(), after="hi") as talk:
        old = press(talk, 0)
        assert await talk.say("Yes", kind="choice", choice=old) == ["answer: Yes"]
        assert await talk.say("", kind="undo") == [undone("Yes"), "Ship it?"]
        assert [one.label for one in talk.world.offered[-1].choices] == ["Yes", "No"]
        assert await talk.say("Yes", kind="choice", choice=old) == ["That question is no longer open."]
        assert await talk.say("No", kind="choice", choice=press(talk, 1)) == ["answer: No"]


async def test_choices_of_what_is_undone_are_taken_away() -> None:
    code = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            await Say("user", await Ask("Sure?", ["Yes"]))
"""
    asks = program(agent("Main", MAIN, code=code))
    async with talking(asks, Model(), after="hi") as talk:
        assert await talk.say("delete it") == ["Sure?"]
        assert await talk.say("", kind="undo") == [undone("delete it")]
        (settled,) = talk.world.settled
        assert (settled.id, settled.choices) == (talk.world.offered[-1].id, ())


async def test_the_words_that_are_quoted_notify_nobody_and_are_shown_as_they_are() -> None:
    async with talking(counter(), Model(), after=("hi", "*see* [@Bob](person:test:Bob)\nand @Bob")) as talk:
        [told] = await talk.say("", kind="undo")
    assert "\\*see\\* &#91;@\u2060Bob&#93;(person:test:Bob) and @\u2060Bob" in told


async def test_among_others_only_who_wrote_it_or_an_owner_undoes_it() -> None:
    async with talking(counter(), Model()) as talk:
        await talk.say("hi", private=False)
        await talk.say("one", private=False)
        refused = "Only Ada, who wrote that, or one of my owners can undo it."
        assert await talk.say("", kind="undo", name="Bob", private=False) == [refused]
        assert await talk.say("", kind="undo", name="Bob", private=False, by_owner=True) == [undone("one")]
        await talk.say("two", private=False)
        assert await talk.say("", kind="undo", private=False) == [undone("two")]


async def test_a_conversation_that_cannot_go_on_is_brought_back() -> None:
    code = """
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            assert message["text"] != "boom"
            await Say("user", message["text"])
"""
    frail = program(agent("Main", MAIN, code=code))
    async with talking(frail, Model(), after="hi") as talk:
        assert await talk.say("a") == ["a"]
        [trouble] = await talk.say("boom")
        assert "failed: " in trouble
        assert await talk.say("", kind="undo") == [undone("boom")]
        assert await talk.say("b") == ["b"]


async def test_where_there_is_no_session_there_is_nothing_to_undo() -> None:
    async with talking(counter(), Model()) as talk:
        assert await talk.say("", kind="undo") == ["There is nothing to undo."]


async def test_a_platform_that_does_not_answer_holds_up_no_undoing(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr("runtime.sessions.session.SETTLED_WITHIN_S", 0.01)
    async with talking(counter(), Model(), world=World(())) as talk:
        talk.world.reached = False
        await talk.say("hi")
        await talk.say("one")
        talk.post("", kind="undo")
        await talk.until(lambda: undone("one") in talk.chat)
        talk.post("two")
        await talk.until(lambda: "1: two" in talk.chat)


async def test_long_words_are_quoted_by_their_beginning() -> None:
    async with talking(counter(), Model(), after="hi") as talk:
        await talk.say("word " * 400)
        [told] = await talk.say("", kind="undo")
    assert told.startswith("↩️ Undone. We are back to before Ada said “word word")
    assert "word…”" in told or "wor…”" in told
    assert len(told) < 250


async def test_two_undos_at_once_to_the_beginning_leave_nothing_owed() -> None:
    async with talking(asker(), Model(), after="hi") as talk:
        talk.post("Yes", kind="choice", choice=press(talk, 0))
        talk.post("", kind="undo")
        talk.post("", kind="undo")
        await talk.settled()
        await talk.rested()
        assert (talk.world._outbox, talk.world._awake) == (set(), set())
        first, last = talk.chat.index(undone("Yes")), talk.chat.index(BEGINNING)
        assert (first < last, talk.world.idle.is_set()) == (True, True)
