"""What people say instead of an answer: each pattern by default, and by a playbook of the program's own."""

import pytest

from runtime.language.diagnostics import ProgramRejected
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World
from tests.unit.runtime.execution.processor.walking import compiled, main, walking

BANK = '''
@playbook(pure=True)
async def Find(number: int) -> str:
    """Find an account."""
    return f"account {number}"

@playbook
async def Pay(number: int) -> str:
    """Pay into an account."""
    return f"paid into {number}"
'''

ASKS = (
    "- Ask the user for their $name:str",
    '- Say "{name}!"',
    "- Ask the user for their $town:str",
    '- Say "{name} of {town}"',
    "- End program",
)
COOK = """
# Cook

```python
@playbook(triggers=["When program starts"])
async def Main():
    await WaitForMessage("agent")
```
"""
NAMED = '{"does": "answer", "name": "Ada"}'


async def test_a_digression_is_answered_in_the_role_and_the_wait_goes_on() -> None:
    replies = ("Your name?", '[1] {"does": "other"}\n[2] I need it for the form. Your name?', NAMED, "And your town?")
    async with walking(main(*ASKS), *replies, after="hi") as walk:
        assert await walk.say("why?") == ["I need it for the form. Your name?"]
        assert walk.steps[-1] == "01"
        assert await walk.say("Ada, then") == ["Ada!", "And your town?"]


async def test_many_digressions_cost_one_call_each() -> None:
    aside = '[1] {"does": "other"}\n[2] I see. Your name?'
    async with walking(main(*ASKS), "Your name?", *([aside] * 5), after="hi") as walk:
        for number in range(5):
            assert await walk.say(f"why {number}?") == ["I see. Your name?"]
        assert len(walk.model.asked) == 6


async def test_a_correction_goes_back_to_the_first_step_that_read_the_value() -> None:
    replies = (
        "Your name?",
        NAMED,
        "Your town?",
        '{"does": "correct", "name": "Eva"}',
        "And your town?",
        '{"does": "answer", "town": "Rome"}',
    )
    async with walking(main(*ASKS), *replies, after="hi") as walk:
        assert await walk.say("I am Ada") == ["Ada!", "Your town?"]
        assert await walk.say("no, I am Eva") == ["Eva!", "And your town?"]
        assert await walk.say("in Rome") == ["Eva of Rome"]
        assert walk.steps == ["01", "02", "03", "03", "04", "05"]
        assert len(walk.talk.facts("back")) == 1


def transfer(call: str) -> str:
    return main(
        "- Ask the user for the $number:int",
        f"- $done:str = {call}($number)",
        "- Ask the user for their $town:str",
        '- Say "{done} from {town}"',
        "- End program",
        code=BANK,
    )


async def test_a_correction_makes_a_pure_call_again() -> None:
    replies = ("Number?", "Town?", '{"does": "correct", "number": 124}', "Town?", '{"does": "answer", "town": "Rome"}')
    async with walking(transfer("Find"), *replies, after=("hi", "123")) as walk:
        assert await walk.say("no, my number is 124") == ["Town?"]
        assert await walk.say("in Rome") == ["account 124 from Rome"]
        assert walk.called == [("Find", {"number": 123}), ("Find", {"number": 124})]


async def test_a_correction_that_comes_too_late_changes_nothing_and_the_agent_says_so() -> None:
    replies = (
        "Number?",
        "Town?",
        '{"does": "correct", "number": 124}',
        "It is paid already. Your town?",
        '{"does": "answer", "town": "Rome"}',
    )
    async with walking(transfer("Pay"), *replies, after=("hi", "123")) as walk:
        assert await walk.say("no, my number is 124") == ["It is paid already. Your town?"]
        assert "already used by Pay" in walk.asked()
        assert await walk.say("in Rome") == ["paid into 123 from Rome"]
        assert walk.called == [("Pay", {"number": 123})]


async def test_a_correction_of_what_nothing_has_read_is_confirmed() -> None:
    steps = (
        "- Ask the user for their $name:str",
        "- Ask the user for their $town:str",
        '- Say "{name} of {town}"',
        "- End program",
    )
    replies = (
        "Name?",
        f"[1] {NAMED}\n[3] Town?",
        '{"does": "correct", "name": "Eva"}',
        "Eva it is. Town?",
        '{"does": "answer", "town": "Rome"}',
    )
    async with walking(main(*steps), *replies, after=("hi", "I am Ada")) as walk:
        assert await walk.say("Eva, sorry") == ["Eva it is. Town?"]
        assert await walk.say("in Rome") == ["Eva of Rome"]


async def test_a_correction_of_what_nothing_has_read_costs_one_call() -> None:
    steps = ("- Ask the user for their $name:str", "- Ask the user for their $town:str", '- Say "{name} of {town}"')
    replies = ("Name?", f"[1] {NAMED}\n[3] Town?", '[1] {"does": "correct", "name": "Eva"}\n[2] Eva it is. Town?')
    async with walking(main(*steps), *replies, after=("hi", "I am Ada")) as walk:
        assert await walk.say("Eva, sorry") == ["Eva it is. Town?"]
        assert len(walk.model.asked) == 3


async def test_a_person_may_cancel() -> None:
    async with walking(main(*ASKS), "Your name?", '[1] {"does": "cancel"}\n[2] As you like.', after="hi") as walk:
        assert await walk.say("forget it") == ["As you like."]
        assert walk.steps == ["01"]
        assert walk.talk.named("playbook.returned")
        assert not walk.talk.named("playbook.failed")


async def test_a_person_may_skip_a_question() -> None:
    steps = ("- Ask the user for their $name:str", "- If $name is not given", '  - Say "Nameless"', "- End program")
    async with walking(main(*steps), "Your name?", '{"does": "skip"}', after="hi") as walk:
        assert await walk.say("I would rather not say") == ["Nameless"]


async def test_what_was_given_before_the_rest_is_skipped_stays() -> None:
    steps = ("- Ask the user for their $name:str and $town:str", '- Say "{name} of {town}"', "- End program")
    replies = ("Who are you?", '{"does": "answer", "name": "Ada", "town": null}', "From where?", '{"does": "skip"}')
    async with walking(main(*steps), *replies, after=("hi", "I am Ada")) as walk:
        assert await walk.say("I would rather not say") == ["Ada of not given"]


async def test_a_value_of_the_round_before_is_no_answer_in_this_one() -> None:
    steps = ("- Repeat 2 times", "  - Ask the user for an $item:str", '  - Say "{item}!"', "- End program")
    replies = ("Item?", '{"item": "tea"}', "And now?", '{"does": "answer", "item": null}', "Which?", '{"item": "jam"}')
    async with walking(main(*steps), *replies, after="hi") as walk:
        assert await walk.say("some tea") == ["tea!", "And now?"]
        assert await walk.say("well, hm") == ["Which?"]
        assert await walk.say("oh, jam") == ["jam!"]


async def test_a_person_may_hear_the_last_message_again_in_the_same_words() -> None:
    async with walking(main(*ASKS), "Your full name, please?", '{"does": "repeat"}', after="hi") as walk:
        assert await walk.say("what?") == ["Your full name, please?"]
        assert len(walk.model.asked) == 2


async def test_what_is_said_again_is_all_since_the_person_wrote() -> None:
    steps = ('- Say "The code is 4711."', *ASKS)
    async with walking(main(*steps), "Your name?", *(['{"does": "repeat"}'] * 2), NAMED, "Town?", after="hi") as walk:
        assert await walk.say("what?") == ["The code is 4711.\n\nYour name?"]
        assert await walk.say("again?") == ["The code is 4711.\n\nYour name?"]
        assert await walk.say("I am Ada") == ["Ada!", "Town?"]


async def test_what_a_person_hears_again_is_nothing_that_was_for_an_agent() -> None:
    steps = ("- Tell Cook that a guest is here", '- Say "(To be brief) Come in!"', *ASKS)
    replies = ("A guest is here.\n\nHe looks poor.", "Your name?", '{"does": "repeat"}')
    async with walking(main(*steps, more=COOK), *replies, after="hi") as walk:
        assert await walk.say("what?") == ["(To be brief) Come in!\n\nYour name?"]


async def test_a_restart_changes_nothing_of_what_the_model_is_told(sandbox: MontySandbox) -> None:
    asides = [f'[1] {{"does": "other"}}\n[2] I see {number}. Your name?' for number in range(2)]
    asked = []
    for restarts in (False, True):
        world = World(())
        async with walking(main(*ASKS), "Your name?", *asides, NAMED, "Town?", sandbox=sandbox, world=world) as walk:
            await walk.say("hi")
            await walk.say("why?")
            if not restarts:
                await walk.say("really?")
                asked.append(walk.model.asked[-1])
        if restarts:
            async with walking(main(*ASKS), asides[1], sandbox=sandbox, world=world, after="really?") as walk:
                asked.append(walk.model.asked[-1])
    assert asked[0] == asked[1]


async def test_a_person_may_ask_for_a_human_being() -> None:
    replies = ("Your name?", '[1] {"does": "human"}\n[2] Somebody will write to you. Your name?')
    async with walking(main(*ASKS), *replies, after="hi") as walk:
        assert await walk.say("a human, please") == ["Somebody will write to you. Your name?"]
        assert len(walk.talk.named("human.requested")) == 1


HAND_OVER = """
## HandOver
### Triggers
- When the user asks for a human being
### Steps
- Say "A colleague will write."
- End program

## Weather($day:str)
### Triggers
- When the user asks about the weather
### Steps
- Say "It rains on {day}."
"""


async def test_a_trigger_in_the_middle_is_executed_and_control_comes_back() -> None:
    replies = ("Your name?", '{"does": "Weather", "day": "Monday"}', "And your name?", NAMED, "Town?")
    async with walking(main(*ASKS, more=HAND_OVER), *replies, after="hi") as walk:
        assert await walk.say("how is the weather on Monday?") == ["It rains on Monday.", "And your name?"]
        assert await walk.say("I am Ada") == ["Ada!", "Town?"]
        assert walk.called == [("Weather", {"day": "Monday"})]


async def test_a_trigger_for_a_human_being_takes_the_place_of_the_pattern() -> None:
    async with walking(main(*ASKS, more=HAND_OVER), "Your name?", '{"does": "HandOver"}', after="hi") as walk:
        assert await walk.say("a human, please") == ["A colleague will write."]
        assert '"human"' not in walk.asked(1)


def own(pattern: str) -> str:
    return f"""
    ## Own
    pattern: {pattern}

    ### Steps
    - Say "My own words."
    """


@pytest.mark.parametrize("pattern", ["other", "human", "repeat"])
async def test_a_playbook_of_the_program_takes_the_place_of_a_pattern(pattern: str) -> None:
    replies = ("Your name?", f'{{"does": "{pattern}"}}', NAMED, "Town?")
    async with walking(main(*ASKS, more=own(pattern)), *replies, after="hi") as walk:
        assert await walk.say("well") == ["My own words."]
        assert await walk.say("I am Ada") == ["Ada!", "Town?"]
        assert walk.called == [("Own", {})]


async def test_a_playbook_for_cancelling_says_its_words_and_the_work_is_over() -> None:
    async with walking(main(*ASKS, more=own("cancel")), "Your name?", '{"does": "cancel"}', after="hi") as walk:
        assert await walk.say("forget it") == ["My own words."]
        assert walk.talk.named("playbook.returned")
        assert walk.steps == ["01", "01"]


async def test_a_playbook_for_skipping_says_its_words_and_the_value_is_left_out() -> None:
    steps = ("- Ask the user for their $name:str", "- If $name is not given", '  - Say "Nameless"', "- End program")
    async with walking(main(*steps, more=own("skip")), "Your name?", '{"does": "skip"}', after="hi") as walk:
        assert await walk.say("no") == ["My own words.", "Nameless"]


async def test_a_pattern_that_does_not_exist_is_an_error_of_the_program() -> None:
    with pytest.raises(ProgramRejected, match="`pattern` cannot be 'cancelation'"):
        await compiled(main(*ASKS, more=own("cancelation")))


async def test_what_is_never_given_ends_after_a_bounded_number_of_questions() -> None:
    nothing = '{"does": "answer", "name": null}'
    replies = ["Your name?", *([nothing, "Your name, please?"] * 3), nothing]
    async with walking(main(*ASKS), *replies, after="hi") as walk:
        for _ in range(3):
            assert await walk.say("hm") == ["Your name, please?"]
        [said] = await walk.say("hm")
        assert "nobody gave &#36;name" in said


async def test_a_talk_until_something_is_so_goes_on_until_then() -> None:
    steps = ("- Help the user choose a wine until they are content", '- Say "Cheers"', "- End program")
    replies = ("Red or white?", '[1] {"does": "other"}\n[2] Dry or sweet?', '{"does": "answer"}')
    async with walking(main(*steps), *replies) as walk:
        assert await walk.say("hi") == ["Red or white?"]
        assert await walk.say("red") == ["Dry or sweet?"]
        assert await walk.say("dry it is, thanks") == ["Cheers"]
