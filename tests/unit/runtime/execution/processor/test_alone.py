"""One small question after the other, as small models need it: what is understood, and what is not believed."""

import pytest

from tests.unit.runtime.execution.processor.walking import chosen, main, walking

ASKS = ("- Ask the user for their $name:str", '- Say "{name}!"', "- End program")
ALARM = """
    ## Alarm
    ### Triggers
    - When the user is in danger
    ### Steps
    - Say "Help comes!"
    - End program
"""
ORDERS = """
# Shop
You sell tea.
## Main
### Triggers
- At the beginning
### Steps
- Say "Welcome!"

## Order($what:str)
### Triggers
- When the user wants to order something
### Steps
- Say "Ordered: {$what}"
"""


async def test_each_question_is_asked_alone() -> None:
    async with walking(main(*ASKS), "Your name?", '{"name": "Ada"}', questions_alone=True, after="hi") as walk:
        assert await walk.say("I am Ada") == ["Ada!"]
        assert not any("[1]" in walk.asked(index) for index in range(len(walk.model.asked)))


async def test_a_value_that_nobody_said_is_not_believed() -> None:
    replies = ("Your name?", '{"name": "Grace"}', chosen("question"), "At eight.", '{"name": "Ada"}')
    async with walking(main(*ASKS), *replies, questions_alone=True, after="hi") as walk:
        assert await walk.say("When do you open?") == ["At eight.", "Your name?"]
        assert await walk.say("Ada") == ["Ada!"]


async def test_what_people_do_instead_of_answering_is_chosen_from_a_list_a_line_each() -> None:
    replies = ("Your name?", '{"name": null}', chosen("cancel"), "Good bye.")
    async with walking(main(*ASKS), *replies, questions_alone=True, after="hi") as walk:
        assert await walk.say("I had better go home now") == ["Good bye."]
        listed = [line.split(":")[0] for line in walk.asked(2).splitlines() if line.startswith("- ")]
        assert listed == ["- question", "- repeat", "- skip", "- cancel", "- human"]


@pytest.mark.parametrize(
    ("heard", "given", "believed"),
    [
        ("Oh, a lot!", 100, False),
        ("Twenty euros.", 20, True),
        ("A couple", 2, True),
        ("A couple", 30, False),
        ("none at all", 0, True),
        ("It is 7", 7, True),
        ("Oh sorry, I meant 12 Hill Street.", 1, False),
        ("Oh sorry, I meant 12 Hill Street.", 12, True),
        ("2 adults and 1 child", 3, True),
        ("1,500 it is", 1500, True),
        ("about 1 500", 1500, True),
        ("5k", 5000, True),
        ("at 3pm", 15, True),
        ("-4 or so", -4, True),
    ],
)
async def test_a_number_is_believed_where_one_was_said(heard: str, given: int, believed: bool) -> None:
    asks = ("- Ask the user for the $amount:int", '- Say "{amount}!"', "- End program")
    replies = ("How much?", f'{{"amount": {given}}}', *(() if believed else (chosen("question"), "I see.")))
    async with walking(main(*asks), *replies, questions_alone=True, after="hi") as walk:
        assert await walk.say(heard) == ([f"{given}!"] if believed else ["I see.", "How much?"])


@pytest.mark.parametrize(("answer", "said"), [("yes", "true"), ("no", "false")])
async def test_yes_or_no_is_asked_in_these_words(answer: str, said: str) -> None:
    asks = ("- Ask the user whether they want $milk:bool", '- Say "{milk}!"', "- End program")
    async with walking(main(*asks), "Milk?", chosen(answer), questions_alone=True, after="hi") as walk:
        assert await walk.say("As you like") == [f"{said}!"]
        assert "Is that a yes or a no?" in walk.asked()


async def test_what_is_no_yes_and_no_no_gives_no_value() -> None:
    asks = ("- Ask the user whether they want $milk:bool", '- Say "{milk}!"', "- End program")
    replies = ("Milk?", chosen("other"), chosen("question"), "From cows.", chosen("yes"))
    async with walking(main(*asks), *replies, questions_alone=True, after="hi") as walk:
        assert await walk.say("Tell me what milk it is") == ["From cows.", "Milk?"]
        assert await walk.say("Fine, with milk") == ["true!"]


async def test_a_question_is_no_yes_unless_it_has_one() -> None:
    asks = ("- Ask the user whether they want $milk:bool", '- Say "{milk}!"', "- End program")
    async with walking(
        main(*asks), "Milk?", chosen("question"), "85 cents.", chosen("yes"), questions_alone=True, after="hi"
    ) as walk:
        assert await walk.say("How much is it?") == ["85 cents.", "Milk?"]
        assert await walk.say("Yes, could you bring some?") == ["true!"]


async def test_an_answer_that_is_all_somebody_wrote_is_no_trigger() -> None:
    async with walking(main(*ASKS, more=ALARM), "Your name?", '{"name": "Ada Lovelace"}', questions_alone=True) as walk:
        await walk.say("hi")
        assert await walk.say("Ada Lovelace!") == ["Ada Lovelace!"]


async def test_a_trigger_may_fit_where_more_was_written_than_an_answer() -> None:
    replies = (
        "Your name?",
        '{"name": null}',
        chosen("none"),
        chosen("question"),
        "For the form.",
        '{"name": "Ada"}',
        chosen("Alarm"),
        "yes",
    )
    async with walking(main(*ASKS, more=ALARM), *replies, questions_alone=True, after="hi") as walk:
        assert await walk.say("My name? Why?") == ["For the form.", "Your name?"]
        assert await walk.say("My name is Ada and I cannot breathe!") == ["Help comes!"]


async def test_a_trigger_that_is_not_sure_does_not_interrupt() -> None:
    replies = ("Your name?", '{"name": "Ada"}', chosen("Alarm"), "no")
    async with walking(main(*ASKS, more=ALARM), *replies, questions_alone=True, after="hi") as walk:
        assert await walk.say("It's Ada") == ["Ada!"]
        assert "Is this so: the user is in danger?" in walk.asked()


async def test_a_correction_names_the_value_that_is_known_and_is_taken() -> None:
    asks = ("- Ask the user for their $order:str", "- Ask the user for the $reason:str", '- Say "{order}: {reason}"')
    replies = (
        "Which?",
        "Why?",
        '{"reason": null}',
        chosen("correct"),
        '{"order": "124"}',
        "It is 124 now.",
        "Why?",
        '{"reason": "broken"}',
    )
    async with walking(main(*asks), *replies, questions_alone=True, after=("hi", "123")) as walk:
        assert await walk.say("Sorry, no, my number is 124.") == ["It is 124 now.", "Why?"]
        assert '- correct: they say that order is not "123" but something else' in walk.asked(3)
        assert await walk.say("it is broken") == ["124: broken"]


async def test_a_question_that_named_the_corrected_value_is_worded_anew() -> None:
    asks = ("- Ask the user for the $bread:str", "- Ask on which $day:str they come for it", '- Say "{bread}, {day}"')
    replies = (
        "Which bread?",
        '{"bread": "rye"}',
        "When do you come for the rye?",
        '{"day": null}',
        chosen("correct"),
        '{"bread": "walnut"}',
        "Walnut it is.",
        "When do you come for the walnut?",
        '{"day": "Monday"}',
    )
    async with walking(main(*asks), *replies, questions_alone=True, after=("hi", "the rye one")) as walk:
        assert await walk.say("Sorry, the walnut one") == ["Walnut it is.", "When do you come for the walnut?"]
        assert '$bread = "walnut"' in walk.asked()
        assert await walk.say("on Monday") == ["walnut, Monday"]
        assert "When do you come for the walnut?" in walk.asked()


async def test_a_correction_is_found_where_the_answer_is_in_other_words() -> None:
    asks = ("- Ask the user for their $order:str", "- Ask the user for the $reason:str", '- Say "{order}: {reason}"')
    replies = (
        "Which?",
        "Why?",
        '{"reason": "Order number mismatch"}',
        '{"order": "124"}',
        "It is 124 now.",
        "Why?",
        '{"reason": "late delivery"}',
        '{"order": "123"}',
    )
    async with walking(main(*asks), *replies, questions_alone=True, after=("hi", "123")) as walk:
        assert await walk.say("Sorry, no, my order number is 124.") == ["It is 124 now.", "Why?"]
        assert await walk.say("The delivery came in May") == ["124: late delivery"]


async def test_an_idle_agent_gives_the_whole_message_where_nothing_of_it_is_the_argument() -> None:
    async with walking(ORDERS, chosen("Order"), '{"what": "a text"}', questions_alone=True, after="hi") as walk:
        assert await walk.say("Green tea, please") == ["Ordered: Green tea, please"]


async def test_a_talk_goes_on_until_it_is_done() -> None:
    asks = ("- Help the user choose a wine", '- Say "Good choice."')
    replies = ("Red or white?", chosen("goes_on"), "The white one is dry.", chosen("done"))
    async with walking(main(*asks), *replies, questions_alone=True, after="hi") as walk:
        assert await walk.say("Which is dry?") == ["The white one is dry."]
        assert await walk.say("The white one") == ["Good choice."]


async def test_blanks_without_end_are_cut_off_and_the_question_is_asked_again() -> None:
    replies = ("Your name?", "{" + " \n" * 50_000, '{"name": "Ada"}')
    async with walking(main(*ASKS), *replies, questions_alone=True, after="hi") as walk:
        assert await walk.say("Ada") == ["Ada!"]
        assert "could not be used" in walk.asked(-1)


async def test_an_idle_agent_starts_the_playbook_whose_trigger_fits_with_what_was_said() -> None:
    replies = (chosen("Order"), '{"what": "green tea"}')
    async with walking(ORDERS, *replies, questions_alone=True) as walk:
        assert await walk.say("hi") == ["Welcome!"]
        assert await walk.say("Green tea, please") == ["Ordered: green tea"]


async def test_an_idle_agent_answers_what_fits_no_trigger_in_words() -> None:
    replies = (chosen("none"), "I sell tea.", chosen("none"), "You are welcome.")
    async with walking(ORDERS, *replies, questions_alone=True) as walk:
        assert await walk.say("hi") == ["Welcome!"]
        assert await walk.say("Who are you?") == ["I sell tea."]
        assert await walk.say("Thanks") == ["You are welcome."]


async def test_a_large_model_deals_with_such_messages_by_statements() -> None:
    async with walking(ORDERS, 'await Order("green tea")\nawait Return()') as walk:
        assert await walk.say("hi") == ["Welcome!"]
        assert await walk.say("Green tea, please") == ["Ordered: green tea"]
