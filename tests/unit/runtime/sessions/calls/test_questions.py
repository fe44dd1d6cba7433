"""Questions with choices: asked once, answered by a press or in words, by whom they are for."""

from functools import partial
from typing import Any

import pytest

from runtime.core.message import Attachment
from runtime.execution.calls.ask import option_of
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.stores.inbox import ANSWER
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Talk, answered, block, talking
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point
from tests.unit.runtime.sessions.crashes.test_crashes import check, run
from tests.unit.runtime.sessions.meetings.test_meeting_life import post
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program


def approval(arguments: str = '"Ship it?", ["Yes", "No"]', before: str = "pass") -> Program:
    code = f"""
async def Main():
    {before}
    answer = await Ask({arguments})
    await Say("user", f"answer: {{answer}}")
    await WaitForMessage("user")
"""
    return program(agent("Main", MAIN, code=code))


def choice(talk: Talk, index: int) -> str:
    return talk.world.offered[-1].choices[index].id


async def test_a_question_offers_its_choices_and_a_press_answers_it() -> None:
    async with talking(approval(), Model()) as talk:
        assert await talk.say("go") == ["Ship it?"]
        (offered,) = talk.world.offered
        assert [c.label for c in offered.choices] == ["Yes", "No"]
        assert all(c.id.isascii() and len(c.id) <= 60 for c in offered.choices)
        assert await talk.say("No", kind="choice", choice=choice(talk, 1)) == ["answer: No"]
        (settled,) = talk.world.settled
        assert (settled.id, settled.parts, settled.choices) == (offered.id, {0: "0"}, ())
        assert talk.world.settled_texts == ["Ship it?\n\n✓ No"]


@pytest.mark.parametrize(
    ("words", "answer"), [("2", "No"), ("1.", "Yes"), ("yes", "Yes"), ("NO ", "No"), ("No, thanks!", "No")]
)
async def test_words_answer_too_by_number_or_by_label(words: str, answer: str) -> None:
    async with talking(approval(), Model(), after="go") as talk:
        assert await talk.say(words) == [f"answer: {answer}"]
        assert talk.world.settled_texts == [f"Ship it?\n\n✓ {answer}"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        *(
            ("apple pie", "Apple pie"),
            ("The apple pie, please.", "Apple pie"),
            ("apple", "Apple pie"),
            ("2)", "Apple pie"),
        ),
        *(
            ("Croisant", "Croissant"),
            ("crossiant", "Croissant"),
            ("croissants", "Croissant"),
            ("apple pid", "Apple pie"),
        ),
        *(("Is the apple pie vegan?", None), ("apple?", None), ("coffee", None), ("3", None), ("", None), ("no", None)),
    ],
)
def test_words_mean_an_option_by_its_first_words_or_with_a_slip_and_else_none(said: str, meant: str | None) -> None:
    assert option_of(said, ["Croissant", "Apple pie"]) == (said if meant is None else meant)


def test_words_that_fit_several_options_or_another_number_mean_none() -> None:
    assert option_of("room", ["Room 12", "Room 14"]) == "room"
    assert option_of("Room 13", ["Room 12", "Garden"]) == "Room 13"
    assert option_of("disapprove", ["Approve", "Reject"]) == "disapprove"


async def test_what_is_no_option_is_asked_back_and_the_choices_stay_even_after_a_restart() -> None:
    back = ["Please choose one of these: Yes, No."]
    async with talking(approval(), Model(), after="go") as talk:
        assert await talk.say("Is it vegan?") == back
        assert await talk.say("", files=[Attachment("a.txt", "text/plain", "file:a", 1)]) == back
        assert talk.world.settled == []
    async with talking(approval(), Model(), world=talk.world) as later:
        assert await later.say("maybe") == back
        assert await later.say("No", kind="choice", choice=choice(talk, 1)) == ["answer: No"]


async def test_what_was_said_before_a_question_does_not_answer_it() -> None:
    before = 'await Say("user", "first"); await Sleep(20)'
    async with talking(approval(before=before), Model(), world=still()) as talk:
        await after(talk, "first", "go")
        talk.post("yes")
        await talk.settled()
        clock = talk.world.clock
        assert isinstance(clock, FakeClock)
        await clock.advance(20)
        assert talk.chat == ["first", "Ship it?"]
        assert await talk.say("no") == ["answer: No"]


async def test_the_first_answer_wins_and_later_or_unknown_presses_are_told_so() -> None:
    closed = "That question is no longer open."
    async with talking(approval(), Model(), after="go") as talk:
        first = choice(talk, 0)
        talk.post("Yes", kind="choice", choice=first)
        assert sorted(await talk.say("No", kind="choice", choice=choice(talk, 1))) == [closed, "answer: Yes"]
        assert await talk.say("Yes", kind="choice", choice=first) == [closed]
        assert await talk.say("x", kind="choice", choice="nonsense") == [closed]
        assert await talk.say("x", kind="choice", choice=first.rpartition(".")[0] + ".9") == [closed]


async def test_an_answer_from_elsewhere_counts_once_and_a_late_one_is_told_to_nobody() -> None:
    async with talking(approval(), Model(), after="go") as talk:
        first = choice(talk, 0)
        assert await talk.say("yes", name="Olga", kind=ANSWER, choice=first) == ["answer: Yes"]
        assert talk.world.settled_texts == ["Ship it?\n\n✓ Yes"]
        assert await talk.say("No", name="Olga", kind=ANSWER, choice=choice(talk, 1)) == []
        assert await talk.say("No", name="Olga", kind=ANSWER, choice="another.4.1") == []
        assert len(talk.facts("in")) == 1  # no agent hears the late one


async def test_an_answer_from_elsewhere_does_not_stand_in_for_somebody() -> None:
    async with talking(approval('"Ship it?", ["Yes", "No"], of="Ada"'), Model(), after="go") as talk:
        assert await talk.say("Yes", name="Olga", kind=ANSWER, choice=choice(talk, 0)) == []
        assert await talk.say("No", kind="choice", choice=choice(talk, 1)) == ["answer: No"]


async def test_answer_from_a_form_is_for_the_question_below_which_it_was_asked_for() -> None:
    code = """
async def Main():
    one, two = await asyncio.gather(Ask("One?"), Ask("Two?"))
    await Say("user", f"{one} and {two}")
"""
    both = program(agent("Main", MAIN, code="import asyncio\n" + code))
    async with talking(both, Model(), after="go") as talk:
        first, second = (page.choices[0].id for page in talk.world.offered)
        await talk.say("for two", choice=second)
        assert await talk.say("for one", choice=first) == ["for one and for two"]


async def test_a_question_for_one_person_takes_only_their_answer() -> None:
    ada = '"Ship it?", ["Yes", "No"], of="Ada"'
    async with talking(approval(ada), Model(), after="go") as talk:
        refused = ["This question is for Ada."]
        assert await talk.say("No", kind="choice", choice=choice(talk, 1), name="Bo") == refused
        assert await talk.say("no", name="Bo") == refused
        assert await talk.say("Yes", kind="choice", choice=choice(talk, 0)) == ["answer: Yes"]


async def test_a_question_for_somebody_who_is_not_here_fails_with_who_is() -> None:
    (said,) = await answered(approval('"Ship it?", ["Yes"], of="Zoe"'), Model(), "go")
    assert "nobody called 'Zoe' is here; here are Ada" in said


@pytest.mark.parametrize("asked", ["Ada", "Ada (1)"])
async def test_a_question_stays_with_who_had_the_name_first(asked: str) -> None:
    before = 'await WaitForMessage("user")'
    async with talking(approval(f'"Ship it?", ["Yes"], of="{asked}"', before), Model()) as talk:
        await talk.say("go", name="Ada")
        assert await talk.say("I am Ada, too", name="ada") == ["Ship it?"]
        assert await talk.say("Yes", name="ada") == ["This question is for Ada (1)."]
        assert await talk.say("Yes", name="Ada") == ["answer: Yes"]


async def test_of_two_of_one_name_all_see_whom_a_question_is_for() -> None:
    before = 'await WaitForMessage("user")'
    async with talking(approval('"Ship it?", ["Yes"], of="Ada"', before), Model()) as talk:
        await talk.say("go", name="Ada", private=False)
        assert await talk.say("I am Ada, too", name="ada", private=False) == ["@Ada (1) Ship it?"]
        people = talk.world.offered[-1].people
        assert (people["Ada (1)"], "Ada" in people) == ("test:Ada", False)


async def test_a_question_for_an_id_is_for_nobody_who_shows_it_as_a_name() -> None:
    before = 'await WaitForMessage("user")'
    async with talking(approval('"Ship it?", ["Yes"], of="test:Ada"', before), Model()) as talk:
        await talk.say("my name is her id", name="test:Ada")
        assert await talk.say("go", name="Ada") == ["Ship it?"]
        assert await talk.say("Yes", name="test:Ada") == ["This question is for Ada."]
        assert await talk.say("Yes", name="Ada") == ["answer: Yes"]


async def test_an_answer_of_thousands_of_digits_is_an_answer() -> None:
    assert await answered(approval('"How many?"'), Model(), "1" * 5000, after="go") == [f"answer: {'1' * 5000}"]


@pytest.mark.parametrize("index", ["1" * 5000, "\u00b2", "-1", "", "2", "free"])
async def test_a_forged_press_presses_nothing(index: str) -> None:
    async with talking(approval(), Model(), after="go") as talk:
        forged = choice(talk, 0)[:-1] + index
        assert await talk.say("x", kind="choice", choice=forged) == ["That question is no longer open."]
        assert await talk.say("Yes") == ["answer: Yes"]


async def test_pressing_again_and_again_is_answered_once() -> None:
    ada = '"Ship it?", ["Yes", "No"], of="Ada"'
    async with talking(approval(ada), Model(), after="go") as talk:
        for _ in range(3):
            await talk.say("No", kind="choice", choice=choice(talk, 1), name="Bo")
        await talk.say("Yes", kind="choice", choice=choice(talk, 0))
        for _ in range(3):
            await talk.say("Yes", kind="choice", choice=choice(talk, 0))
        closed = "That question is no longer open."
        assert talk.chat == ["Ship it?", "This question is for Ada.", "answer: Yes", closed]


@pytest.mark.parametrize("options", ["[]", "['a', 'a']", "['']", "'Yes'", "['x' * 201]"])
async def test_options_that_cannot_be_offered_are_refused(options: str) -> None:
    async with talking(approval(f'"Well?", {options}'), Model()) as talk:
        (said,) = await talk.say("go")
    assert "option" in said
    assert not talk.world.offered


async def test_a_question_without_options_offers_room_for_a_free_answer() -> None:
    async with talking(approval('"What is it about?"'), Model()) as talk:
        assert await talk.say("go") == ["What is it about?"]
        (offered,) = talk.world.offered
        assert [(c.label, c.free) for c in offered.choices] == [("", True)]
        press = offered.choices[0].id
        assert await talk.say("", kind="choice", choice=press) == ["That question is no longer open."]
    async with talking(approval('"What is it about?"'), Model(), world=talk.world) as later:
        assert await later.say("1. Tax\n2. Law") == ["answer: 1. Tax\n2. Law"]
        assert [c.free for c in later.world.settled[-1].choices] == [True]


async def test_a_question_survives_a_restart_and_is_not_asked_again() -> None:
    async with talking(approval(), Model(), after="go") as talk:
        press = choice(talk, 0)
    async with talking(approval(), Model(), world=talk.world) as later:
        assert await later.say("Yes", kind="choice", choice=press) == ["answer: Yes"]
    assert later.chat == ["Ship it?", "answer: Yes"]


async def test_a_question_keeps_its_choices_while_its_session_rests() -> None:
    async with talking(approval(), Model(), idle_s=0.001, after="go") as talk:
        await talk.rested()
        assert talk.world.settled == []
        assert await talk.say("Yes", kind="choice", choice=choice(talk, 0)) == ["answer: Yes"]
        assert [settled.parts for settled in talk.world.settled] == [{0: "0"}]


@pytest.mark.parametrize("closing", ["choice", "message", "stop"])
async def test_choices_that_a_crash_left_under_a_closed_question_go_after_it(closing: str) -> None:
    world = World(())
    async with talking(approval(), Model(), world=world, after="go") as talk:
        world.reached = False
        talk.post("Yes", choice=choice(talk, 0), kind=closing)
        await talk.settled()
        await talk.until(lambda: len(talk.chat) == 2)
        assert world.settled == []
    world.reached = True
    async with talking(approval(), Model(), world=world):
        await world.idle.wait()
        assert [settled.parts for settled in world.settled] == [{0: "0"}]
        assert world.settled_texts == ["Ship it?" if closing == "stop" else "Ship it?\n\n✓ Yes"]
    async with talking(approval(), Model(), world=world, after="and then"):
        assert len(world.settled) == 1


async def test_a_stop_takes_the_choices_away() -> None:
    async with talking(approval(), Model(), after="go") as talk:
        press = choice(talk, 0)
        await talk.say("", kind="stop")
        assert len(talk.world.settled) == 1
        assert await talk.say("Yes", kind="choice", choice=press) == ["That question is no longer open."]


async def test_a_press_is_for_the_question_and_not_for_who_waits_for_messages() -> None:
    code = """
import asyncio

async def Main():
    answer, messages = await asyncio.gather(Ask("Ship it?", ["Yes", "No"]), WaitForMessage("agent 1000"))
    await Say("user", f"{answer}, {messages[0]['text']}")
"""
    both = program(agent("Main", MAIN, code=code))
    async with talking(both, Model(), after="go") as talk:
        assert await talk.say("Yes", kind="choice", choice=choice(talk, 0)) == []
        assert await talk.say("and so on") == ["Yes, and so on"]


async def test_a_model_asks_in_a_condition() -> None:
    main = program(agent("Main", llm("Main", "01:QUE Ask", "02:YLD for user", begins=True)))
    asking = block(
        'await Step("Main:01:QUE")',
        'if Ask("Ship it?", ["Yes", "No"]) == "Yes":\n    await Say("user", "Shipped.")',
        'await Step("Main:02:YLD")',
        'await Yld("user")',
    )
    async with talking(main, Model(asking)) as talk:
        assert await talk.say("go") == ["Ship it?"]
        assert await talk.say("Yes", kind="choice", choice=choice(talk, 0)) == ["Shipped."]


async def test_a_press_without_a_session_is_told_so() -> None:
    async with talking(approval(), Model()) as talk:
        talk.post("Yes", kind="choice", choice="0.1.0")
        await talk.rested()
        assert talk.chat == ["That question is no longer open."]


TOGETHER = """
async def Main():
    await WaitForMessage("user")
    await WaitForMessage("user")
    votes = await Ask("Shall we?", ["Yes", "No"], of=["Ada", "Bo"], within_s=60)
    await Say("user", str(votes))
"""


def together() -> Program:
    return program(agent("Main", MAIN, code=TOGETHER))


async def gathered(talk: Talk) -> None:
    """Both are here and are asked."""
    for name in ("Ada", "Ada"):
        await talk.say("here", name=name, private=False)
    await after(talk, "@Ada @Bo Shall we?", "here", name="Bo", private=False)


async def after(talk: Talk, expected: str, text: str, **more: Any) -> None:
    """Somebody does something, and this is seen last; a time goes on being waited for."""
    talk.post(text, **more)
    await talk.until(lambda: talk.chat[-1:] == [expected])


def still() -> World:
    """A world in which time passes only when the test says so."""
    world = World(())
    world.clock = FakeClock()  # type: ignore[assignment]
    return world


async def test_several_people_are_asked_and_each_answers_once() -> None:
    async with talking(together(), Model(), world=still()) as talk:
        await gathered(talk)
        yes, no = talk.world.offered[-1].choices
        await after(talk, "This question is for Ada, Bo.", "", kind="choice", choice=yes.id, name="Cy")
        await after(talk, "Bo has answered (1 of 2).", "", kind="choice", choice=yes.id, name="Bo")
        await after(talk, "That question is no longer open.", "", kind="choice", choice=no.id, name="Bo")
        await after(talk, "This question is for Ada.", "but", name="Cy")
        await after(talk, "{'Bo': 'Yes', 'Ada': 'No'}", "2", name="Ada")
        assert talk.chat[-2:] == ["Ada has answered (2 of 2).", "{'Bo': 'Yes', 'Ada': 'No'}"]
    [text] = talk.world.settled_texts
    assert text.endswith("?\n\n✓ Yes, by Bo\n✓ No, by Ada")


async def test_who_has_not_answered_when_the_time_is_over_is_missing() -> None:
    async with talking(together(), Model(), world=still()) as talk:
        clock = talk.world.clock
        assert isinstance(clock, FakeClock)
        await gathered(talk)
        await after(talk, "Ada has answered (1 of 2).", "no", name="Ada")
        await clock.advance(59)
        assert talk.chat[-1] == "Ada has answered (1 of 2)."
        await clock.advance(1)
        await talk.until(lambda: talk.chat[-1] == "{'Ada': 'No'}")


async def test_one_person_who_does_not_answer_in_time_gives_none() -> None:
    code = 'async def Main():\n    await Say("user", str(await Ask("Shall we?", ["Yes"], of="Ada", within_s=5)))'
    main = program(agent("Main", MAIN, code=code))
    async with talking(main, Model()) as talk:
        talk.post("go")
        await talk.until(lambda: talk.chat == ["Shall we?", "None"])


async def test_a_question_for_nobody_or_for_one_person_twice_is_refused() -> None:
    code = """
async def Main():
    for of in ([], ["Ada", "test:Ada"]):
        try:
            await Ask("Shall we?", ["Yes"], of=of)
        except PlaybookError as error:
            await Say("user", str(error))
"""
    main = program(agent("Main", MAIN, code=code))
    async with talking(main, Model()) as talk:
        nobody = "Ask needs somebody to ask: of=[] names nobody"
        assert await talk.say("go") == [nobody, "Ask needs different people, not Ada, test:Ada"]


@pytest.mark.parametrize("of", [', of="Ada"', ', of=["Ada", "Bob"]', ""], ids=["one", "several", "whoever is here"])
async def test_words_to_another_person_answer_no_question_and_are_heard_by_the_next_wait(of: str) -> None:
    code = f"""
async def Main():
    await WaitForMessage("user")
    answer = await Ask("Which colour?"{of})
    heard = [message["text"] for message in await WaitForMessage("user")]
    await Say("user", f"{{answer}} {{heard}}")
    await WaitForMessage("user")
"""
    talks = program(agent("Main", MAIN, code=code))
    async with talking(talks, Model()) as talk:
        await talk.say("hello", name="Bob", private=False)
        await talk.say("go", private=False)
        assert await talk.say("@Bob can you look?", private=False) == []
        assert await talk.say("@bob", private=False) == []
        shown = await talk.say("blue", private=False)
        if "[" in of:
            shown = await talk.say("red", name="Bob", private=False)
    assert shown[-1].endswith("['@Bob can you look?', '@bob']")
    assert "blue" in shown[-1]


@pytest.mark.parametrize("of", ['of="Ada"', 'of=["Ada"]', "of=None"], ids=["one", "several", "whoever is here"])
async def test_what_was_written_before_a_question_does_not_answer_it_and_is_heard_by_the_next_wait(of: str) -> None:
    code = f"""
async def Main():
    await Sleep(60)
    answer = await Ask("Ship it?", ["Yes", "No"], {of})
    heard = [message["text"] for message in await WaitForMessage("user")]
    await Say("user", f"{{answer}} {{heard}}")
    await WaitForMessage("user")
"""
    main = program(agent("Main", MAIN, code=code))
    world, clock = World(()), FakeClock()
    world.clock = clock  # type: ignore[assignment]
    async with talking(main, Model(), world=world) as talk:
        await post(talk, "go")
        assert await post(talk, "yes") == []
        await clock.advance(60)
    async with talking(main, Model(), world=world) as talk:
        assert talk.chat == ["Ship it?"]
        assert (await post(talk, "no"))[-1].endswith("No'} ['yes']" if "[" in of else "No ['yes']")


@pytest.mark.parametrize("words", ["@Bobby is my name", "@Ada it is", "@nobody", "not @Bob"])
async def test_words_that_begin_with_no_other_persons_name_answer(words: str) -> None:
    async with talking(approval('"Who?", of="Ada"', 'await WaitForMessage("user")'), Model()) as talk:
        await talk.say("hello", name="Bob", private=False)
        await talk.say("go", private=False)
        assert await talk.say(words, private=False) == [f"answer: {words}"]


async def test_a_person_may_be_the_option_that_is_chosen() -> None:
    whom = approval('"Who?", ["@Bob", "@Ada"], of="Ada"', 'await WaitForMessage("user")')
    async with talking(whom, Model()) as talk:
        await talk.say("hello", name="Bob", private=False)
        await talk.say("go", private=False)
        assert await talk.say("@bob", private=False) == ["answer: @Bob"]


ANSWERED = Case(approval(), ("go", "answer:0", "answer:1"), ("Ship it?", "answer: Yes"))


async def test_an_answer_from_elsewhere_counts_once_whenever_the_process_dies(sandbox: MontySandbox) -> None:
    await dying_at_each_point(partial(run, ANSWERED, sandbox), partial(check, case=ANSWERED))
