"""Sentences that nearly say a message, as the agent would say it."""

import pytest

from runtime.language.instructions.direct_speech import direct_speech, without_bookkeeping

NAMES = {"city": "Oslo", "total": 12, "order": {"status": "shipped"}, "open": True, "name": "Grace"}
NAMES |= {"text": "You can park behind the house.", "question": "Why do you ask?", "answer": "10 minutes"}


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
        ("Say goodbye to the user", "Goodbye!"),
        ("Congratulate the user", "Congratulations!"),
        ("Welcome the user and ask which $pizza:str they want", "Welcome! Which pizza do you want?"),
        ("Tell the user the $answer", "The answer is 10 minutes."),
        ("Tell the user that you are closed", "I am closed."),
        ("Tell the user that they can call you", "You can call me."),
    ],
)
def test_a_sentence_that_holds_the_message_is_turned_to_speech(step: str, said: str) -> None:
    assert direct_speech(step, NAMES) == said


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("Tell the user the $text", "You can park behind the house."),
        ("Tell the user that it says: {$text}", "It says: You can park behind the house."),
        ("Ask the user $question and store the reply in $reply", "Why do you ask?"),
    ],
)
def test_a_value_keeps_its_persons(step: str, said: str) -> None:
    assert direct_speech(step, NAMES) == said


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("Ask the user to describe the $problem:str", "Please describe the problem."),
        ("Ask the user to confirm their order, and set $sure:bool", "Please confirm your order."),
        ("Remind them to bring their dog", "Please bring your dog."),
        ("Ask the user not to wait", "Please do not wait."),
        ("Ask the user to call you back", "Please call me back."),
        ("Ask for the user's name", "What is your name?"),
        ("Ask the user for their $symptoms:str", "What are your symptoms?"),
        ("Ask the user for their $address:str", "What is your address?"),
        ("Ask the user for $age:int", "What is the age?"),
        ("Ask the user for another $day:str", "Please give me another day."),
        ("Ask whether there is water on the floor, and set $water:bool", "Is there water on the floor?"),
        ("Ask whether there are any questions", "Are there any questions?"),
        ("Ask whether the pizza that they ordered is good", "Is the pizza that you ordered good?"),
        ("Ask whether the man who is there can come", "Please tell me whether the man who is there can come."),
        ("Ask whether that answers their question", "Please tell me whether that answers your question."),
        ("Ask if they have been here before", "Have you been here before?"),
        ("Ask whether they need help", "Do you need help?"),
        ("Ask whether they liked it", "Please tell me whether you liked it."),
        ("Ask whether to go on", "Shall I go on?"),
        ("Ask which $model:str they have", "Which model do you have?"),
        ("Ask how many pizzas they want, and store it as $count:int", "How many pizzas do you want?"),
        ("Ask how often a week they eat out", "How often a week do you eat out?"),
        ("Ask under what $nick:str they want to book", "Under what nick do you want to book?"),
        ("Ask when they would like to come", "When would you like to come?"),
        ("Ask in which $town:str they will be tomorrow", "In which town will you be tomorrow?"),
        ("Ask what they did yesterday", "Please tell me what you did yesterday."),
        (
            "Ask what they want to eat and what they want to drink",
            "Please tell me what you want to eat and what you want to drink.",
        ),
        ("Ask what to remind them of, and set $what:str", "What shall I remind you of?"),
        ("Ask how urgent it is", "How urgent is it?"),
        ("Ask how urgent it is: low or high", "Please tell me how urgent it is: low or high."),
        ("Ask how many people are coming", "How many people are coming?"),
        ("Ask whose birthday it is", "Please tell me whose birthday it is."),
        ("Ask the user why not", "Please tell me why not."),
    ],
)
def test_every_kind_of_asking_has_words(step: str, said: str) -> None:
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
        ("Ask for what they do not eat, as $topic:str", "Ask for what they do not eat"),
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
