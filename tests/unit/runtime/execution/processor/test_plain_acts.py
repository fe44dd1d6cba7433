"""What people plainly say in place of an answer: no small model is asked about that."""

import pytest

from runtime.language.vocabulary.phrase import phrase
from tests.unit.runtime.execution.processor.walking import answers, main, walking

NAMED = main("- Ask the user for their $name:str", '- Say "{name}!"', "- End program")
MILK = main("- Ask the user whether they want $milk:bool", '- Say "{milk}!"', "- End program")
HANDS_OVER = """
    ## Desk
    ### Triggers
    - When the user asks for a human being
    ### Steps
    - Say "A colleague comes."
    - End program
"""
ACTS = ("repeat", "cancel", "skip", "human")


@pytest.mark.parametrize(
    ("message", "act"),
    [
        ("Could you repeat the question?", "repeat"),
        ("Sorry, what did you say?", "repeat"),
        ("Pardon?", "repeat"),
        ("I didn't catch that.", "repeat"),
        ("Sorry, I missed that. Say it again, please?", "repeat"),
        ("Never mind, forget about it", "cancel"),
        ("Stop, I changed my mind", "cancel"),
        ("I want to cancel", "cancel"),
        ("I don't want it any more", "cancel"),
        ("I'd rather not say", "skip"),
        ("That's none of your business!", "skip"),
        ("Skip this one", "skip"),
        ("Can I speak with a real person, please?", "human"),
        ("I'd like to speak with an agent now", "human"),
        ("Give me a real human", "human"),
    ],
)
def test_a_plain_act_is_known_by_its_words(message: str, act: str) -> None:
    assert [one for one in ACTS if phrase(f"plain {one}").is_all_of(message)] == [act]


@pytest.mark.parametrize(
    "message",
    [
        *("Cancel the gym", "Stop at the bakery", "to talk to a colleague at the bank", "call my mother again"),
        *("I don't have a phone any more, but mail works", "Never mind the gap", "please", "sorry", "no", ""),
        *("Cancel my order", "Stop the music", "I don't want sugar any more", "I missed you", "I missed it"),
        *("Human resources", "Repeat customers", "I changed my mind", "Skip the salad"),
    ],
)
def test_words_that_may_be_an_answer_are_no_plain_act(message: str) -> None:
    assert not any(phrase(f"plain {act}").is_all_of(message) for act in ACTS)


@pytest.mark.parametrize(
    ("message", "said"),
    [("Yes, a lot!", "true"), ("Sure, let's go", "true"), ("No, just me", "false"), ("Not really", "false")],
)
async def test_a_plain_yes_or_no_is_taken_without_a_model(message: str, said: str) -> None:
    assert await answers(MILK, "Milk?", to=message, questions_alone=True, after="hi") == [f"{said}!"]


@pytest.mark.parametrize(
    "message",
    [
        *("Yes, but later", "No idea", "no problem", "Not sure", "Yes, could you?", "no, or yes", "No, I mean yes"),
        *("Ok, let me think", "Okay I see", "Sure, what does it cost", "Yes, let me ask my wife first", "Ok, hold on"),
        *("Absolutely never", "Yeah, nah", "Yes, however not today", "Not at all sure", "No, I do!", "Yes, stop"),
        *("I didn't get that", "Ok so how much is it"),
    ],
)
async def test_a_yes_or_no_with_a_second_thought_is_for_the_model(message: str) -> None:
    reply = '{"answer": "yes"}'
    async with walking(MILK, "Milk?", reply, questions_alone=True, after="hi") as walk:
        assert await walk.say(message) == ["true!"]
        assert "Is that a yes or a no?" in walk.asked()


async def test_the_last_words_are_said_again_without_a_model() -> None:
    async with walking(NAMED, "Your name?", questions_alone=True, after="hi") as walk:
        assert await walk.say("Sorry, what did you say?") == ["Your name?"]


async def test_who_plainly_asks_for_a_person_starts_the_playbook_for_that() -> None:
    program = NAMED + main(more=HANDS_OVER).partition("### Steps")[2]
    async with walking(program, "Your name?", questions_alone=True, after="hi") as walk:
        assert await walk.say("I would rather talk to a real person, please.") == ["A colleague comes."]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Shall I change the order, or cancel it?", "cancel it"),
        ("Any comments?", "no comment"),
        ("Do you want a real person or the agent?", "a real person"),
    ],
)
async def test_words_that_the_question_itself_offers_are_for_the_model(asked: str, said: str) -> None:
    async with walking(NAMED, asked, f'{{"name": "{said}"}}', questions_alone=True, after="hi") as walk:
        assert await walk.say(said) == [f"{said}!"]


async def test_whether_a_talk_with_an_end_of_its_own_is_over_is_for_the_model() -> None:
    steps = ("- Help the user choose a wine until they are content", '- Say "Cheers"', "- End program")
    async with walking(main(*steps), "Red?", '{"answer": "done"}', questions_alone=True, after="hi") as walk:
        assert await walk.say("Never mind") == ["Cheers"]


async def test_a_trigger_that_somebody_sets_off_is_no_call_for_a_person() -> None:
    orders = HANDS_OVER.replace("the user asks for a human being", "someone wants to order tea")
    program = NAMED + main(more=orders).partition("### Steps")[2]
    replies = ("Your name?", '{"answer": "none"}', "I am sorry, there is nobody.")
    async with walking(program, *replies, questions_alone=True, after="hi") as walk:
        said = ["I am sorry, there is nobody.", "Your name?"]
        assert await walk.say("I would rather talk to a real person, please.") == said


async def test_a_yes_or_no_question_takes_never_mind_to_the_model() -> None:
    async with walking(MILK, "Milk?", '{"answer": "no"}', questions_alone=True, after="hi") as walk:
        assert await walk.say("Never mind") == ["false!"]


async def test_the_old_value_is_not_shown_where_a_new_one_is_read() -> None:
    asks = main('- Set $name to "Grace"', "- Ask the user for their $name:str", '- Say "{name}!"', "- End program")
    async with walking(asks, "Your name?", '{"name": "Ada"}', questions_alone=True, after="hi") as walk:
        assert await walk.say("I am Ada") == ["Ada!"]
        assert "Grace" not in walk.asked()


async def test_what_is_added_behind_an_example_and_a_label_before_it_are_left_out() -> None:
    written = '(To Host:) "What is your name? Because I am curious."'
    assert await answers(NAMED, written, questions_alone=True) == ["What is your name?"]


async def test_a_reply_that_repeats_the_person_is_written_anew() -> None:
    replies = ("Your name?", '{"name": null}', '{"answer": "question"}', "My dog is ill.", "Oh, poor dog!")
    async with walking(NAMED, *replies, questions_alone=True, after="hi") as walk:
        assert await walk.say("My dog is ill.") == ["Oh, poor dog!", "Your name?"]


TAKES_BACK = main(
    "- Ask the user for their $order_id:str",
    "- Ask the user for the $reason:str",
    '- Say "{order_id}: {reason}!"',
    "- End program",
)


async def test_a_correction_that_names_its_value_is_no_answer() -> None:
    wrote = "Sorry, no, my order number is 124."
    replies = ("Which order?", '{"order_id": "123"}', "Why?", f'{{"reason": "{wrote}"}}', '{"order_id": "124"}')
    more = ("Order 124 then.", "Why?", '{"reason": "broken"}')
    async with walking(TAKES_BACK, *replies, *more, questions_alone=True, after=("hi", "The order is 123")) as walk:
        assert await walk.say(wrote) == ["Order 124 then.", "Why?"]
        assert (await walk.say("it is broken"))[-1] == "124: broken!"


async def test_an_answer_that_names_another_value_only_in_passing_stays_one() -> None:
    wrote = "No, my order is broken"
    replies = ("Which order?", '{"order_id": "123"}', "Why?", f'{{"reason": "{wrote}"}}', '{"order_id": "broken"}')
    async with walking(TAKES_BACK, *replies, questions_alone=True, after=("hi", "The order is 123")) as walk:
        assert await walk.say(wrote) == [f"123: {wrote}!"]
