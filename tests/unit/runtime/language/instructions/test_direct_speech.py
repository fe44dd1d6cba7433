"""Sentences that nearly say a message, as the agent would say it."""

from __future__ import annotations

import pytest

from runtime.language.instructions.direct_speech import direct_speech, without_bookkeeping

NAMES = {"city": "Oslo", "total": 12, "order": {"status": "shipped"}, "open": True, "name": "Grace"}


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("Tell the user that $city is in Norway", "Oslo is in Norway."),
        ("Tell the user that they pay $total euros", "You pay 12 euros."),
        ("Tell the user that you want their hat.", "I want your hat."),
        ("Tell the user that both cost {$total} euros", "Both cost 12 euros."),
        ("Tell the user to take a seat", "Please take a seat."),
        ("Ask the user for their $age:int", "What is your age?"),
        (
            "Ask for their first name and their town",
            "What are your first name and your town?",
        ),
        ("Ask the user for their $phone:str, which they may leave out", "What is your phone?"),
        ("Ask the user for the $day:str", "What is the day?"),
        ("Ask the user whether they want a receipt, and set $receipt:bool", "Do you want a receipt?"),
        ("Ask them whether they are ready", "Are you ready?"),
        ("Ask the user how the delivery was", "How was the delivery?"),
        ("Ask the user who is coming, and keep it as $party:str", "Who is coming?"),
        ("Greet $name by name and wish them a good day", "Hello, Grace! I wish you a good day."),
        ("Welcome the user and say that you can look up orders", "Welcome! I can look up orders."),
        ("Apologize to the user and say that a colleague calls", "I am sorry. A colleague calls."),
        ("Thank the user and say goodbye", "Thank you. Goodbye!"),
    ],
)
def test_a_sentence_that_holds_the_message_is_turned_to_speech(step: str, said: str) -> None:
    assert direct_speech(step, NAMES) == said


@pytest.mark.parametrize(
    "step",
    [
        "Tell the user the status of $city",
        "Tell the user that the state is $order",
        "Tell the user that it is $open",
        "Tell the user that the user owes money",
        "Ask the user for their age, but kindly and tell the weather",
        "Calm the user down",
        "Recommend a wine and say that it is good",
        "",
    ],
)
def test_one_that_does_not_hold_it_is_left_alone(step: str) -> None:
    assert direct_speech(step, NAMES) is None


@pytest.mark.parametrize(
    ("step", "asked"),
    [
        ("Ask the user who is coming, and keep it as $party:str", "Ask the user who is coming"),
        ("Ask whether they want a receipt, and set $receipt:bool.", "Ask whether they want a receipt"),
        ("Ask what it is about and store the answer in $topic", "Ask what it is about"),
        ("Ask where it is, and keep it as $place:list[str]", "Ask where it is"),
        ("Ask what it is about. Save it as $topic:str", "Ask what it is about"),
        ("Ask who and where; store them as $party:str and $place:str", "Ask who and where"),
        ("Ask if they want one; set $receipt:bool accordingly", "Ask if they want one"),
    ],
)
def test_a_question_is_worded_without_where_its_answer_is_kept(step: str, asked: str) -> None:
    assert without_bookkeeping(step, {"party", "receipt", "topic", "place"}) == asked


@pytest.mark.parametrize(
    "step",
    [
        "Ask who is coming, and keep it as $party",
        "Ask whether they paid and keep the receipt",
        "Ask for the day and set $day:str to it in capitals",
    ],
)
def test_words_that_say_more_than_where_the_answer_is_kept_stay(step: str) -> None:
    assert without_bookkeeping(step, {"day", "receipt"}) == step
