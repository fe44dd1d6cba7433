"""What programs must say: for each program, what a person may say to it, and every sentence that follows."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "tests" / "chaos" / "programs" / "house.pb"
WORKSHOP = ROOT / "tests" / "chaos" / "programs" / "workshop.pb"
ADDER = ROOT / "tests" / "chaos" / "programs" / "adder.pb"

YES, NO = "Yes", "No"

BROKEN = "is broken"
"""What the error of a playbook says that is to fail."""


class Said(Struct, frozen=True):
    """One thing that a person says. `then` answers the question that it leads to, by a choice where there are any.

    `alone`: nothing else is said in the conversation until it is answered; what it does would differ.
    """

    text: str
    then: str = ""
    alone: bool = False


Expected = Callable[[Sequence[Said]], list[str]]
Speaks = Callable[[random.Random, Sequence[Said], int], Said]
"""The next thing to be said: by chance, after what was said in this conversation; the number is no other's."""


class Story(Struct, frozen=True):
    """A program and the conversation about it. `speakers` are the names that may stand above a text; `asks_on`: a
    question stays open below what was said last."""

    name: str
    program: Path
    speaks: Speaks
    expected: Expected
    speakers: tuple[str, ...]
    needs_model: bool = False
    asks_on: bool = False


_HOUSE_WORDS = ("echo", "echo", "story", "story", "sleep", "wait", "ask", "meet", "watch", "other", "file", "bye")
_HOUSE_ALONE = frozenset({"wait", "ask", "bye", "meet"})
_LONG_ENOUGH = 4
"""A session has heard so much before it may be ended."""

_ASKS = 0.25
"""How often a task asks, where people answer by a press that is repeated."""


def _house_says(chance: random.Random, said: Sequence[Said], unique: int) -> Said:
    if not said or said[-1].text.startswith("bye"):
        return Said("hello", alone=True)
    word = chance.choice(_HOUSE_WORDS)
    if word == "bye" and len(said) < _LONG_ENOUGH:
        word = "echo"
    then = chance.choice((YES, NO)) if word == "ask" else ""
    return Said(f"{word} thing{unique}", then, alone=word in _HOUSE_ALONE)


def _house_expected(said: Sequence[Said]) -> list[str]:
    seen: list[str] = []
    number = -1
    for each in said:
        word, _, rest = each.text.partition(" ")
        if number < 0:
            seen.append("The house is open.")
            number = 0
            continue
        number += 1
        seen += _house_answer(number, word, rest, each.then)
        if word == "bye":
            number = -1
    return seen


def _house_answer(number: int, word: str, rest: str, then: str) -> list[str]:
    many = " ".join(f"word {each} of {rest}," for each in range(1, 13))
    answers: dict[str, list[str]] = {
        "bye": [f"{number}. Goodbye, {rest}."],
        "story": [f"{number}. Once upon a time there was {many} and that was it."],
        "sleep": [f"{number}. Good night, {rest}.", f"{number}. Good morning, {rest}."],
        "wait": [f"{number}. Nobody came for {rest}."],
        "ask": [f"{number}. Shall we ship {rest}?", f"{number}. {then}, said of {rest}."],
        "meet": [
            f"What do you say about {rest}?",
            f"I say it is {rest}.",
            f"{number}. The council says {rest}.",
        ],
        "watch": [f"The level is {number + 10}.", f"{number}. Watched {rest}."],
        "other": [f"I count {rest}.", f"{number}. There are {len(rest)} of {rest}, they weigh {3 * len(rest)}."],
        "file": [f"{number}. Here is {rest}."],
    }
    return answers.get(word, [f"{number}. I heard {rest}."])


_TASK_WORDS = ("three", "three", "parts", "cancel", "break", "later", "echo")
_TASK_ALONE = frozenset({"later", "choose"})
"""What comes of a task that nobody waits for comes between other answers, and a question waits for its answer."""

_TASKS_OF = {"three": 3, "parts": 1, "cancel": 1, "break": 1, "choose": 1, "later": 1}
"""How many tasks a word orders, in the conversation itself."""


def _tasks_say(chance: random.Random, said: Sequence[Said], unique: int) -> Said:
    if not said:
        return Said("hello", alone=True)
    word = chance.choice(_TASK_WORDS)
    return Said(f"{word} thing{unique}", alone=word in _TASK_ALONE)


def _tasks_ask(chance: random.Random, said: Sequence[Said], unique: int) -> Said:
    if said and chance.random() < _ASKS:
        return Said(f"choose thing{unique}", chance.choice((YES, NO)), alone=True)
    return _tasks_say(chance, said, unique)


def _tasks_expected(said: Sequence[Said]) -> list[str]:
    seen: list[str] = []
    ordered = 0
    for number, each in enumerate(said):
        word, _, rest = each.text.partition(" ")
        ordered += _TASKS_OF.get(word, 0) if number else 0
        seen += _tasks_answer(number, word, rest, each.then, ordered) if number else ["The workshop is open."]
    return seen


def _tasks_answer(number: int, word: str, rest: str, then: str, task: int) -> list[str]:
    answers: dict[str, list[str]] = {
        "three": [f"{number}. There are one {rest}c, one {rest}b, one {rest}a."],
        "parts": [f"{number}. It is one {rest}x and one {rest}y."],
        "cancel": [f"{number}. task {task} (Hand.Rest) was cancelled."],
        "break": [f"{number}. {rest} {BROKEN}."],
        "choose": [f"Task {task} (Hand.Choose) asks: Shall we make {rest}?", f"{number}. {then}, said of {rest}."],
        "later": [f"Task {task}, Hand.Make, is completed. Its result: one {rest}"],
    }
    return answers.get(word, [f"{number}. I heard {rest}."])


_MENU = (
    "Hello! I am the Guide, one of five agents that live in this conversation.\n\n"
    "Press a button, or write its word:\n\n"
    "Program - order at a bakery, and watch its program run: it is written in English\n"
    "Meeting - three agents settle a question in front of you\n"
    "Channels - I ask another agent something, and you hear what it says\n"
    "Streaming - watch an answer grow while it is written\n"
    "People - who is here (open a second browser window and choose another name)\n"
    "Counting - I count slowly; stop Parley in the middle and start it again\n"
    "Your own - how you make a program yourself\n"
    "Bye - the tour ends"
)
_TOUR_ASKS = "What would you like to see?"
_TOUR_WORDS = ("channels", "channels", "meeting", "bye")


def _tour_says(chance: random.Random, said: Sequence[Said], _unique: int) -> Said:
    if not said or said[-1].text == "bye":
        return Said("hello", alone=True)
    word = chance.choice(_TOUR_WORDS)
    return Said("channels" if word == "bye" and len(said) < _LONG_ENOUGH else word, alone=True)


def _tour_expected(said: Sequence[Said]) -> list[str]:
    seen: list[str] = []
    open_ = False
    for each in said:
        if not open_:
            seen += [_MENU, _TOUR_ASKS]
            open_ = True
            continue
        seen += {
            "channels": [
                "I ask the Librarian how many books there are about the sea …",
                "📚 About the sea there are 42 books on my shelves.",
                "The Librarian looked it up and told you too. I got the number as a value: 42.",
                _TOUR_ASKS,
            ],
            "meeting": [
                "Welcome! We need a name for a boat. Painter, Poet: what do you suggest?",
                "Poet, Guide: I see a deep colour, Ultramarine.",
                "And I hear the wind, dear Guide: Gull.",
                "Thank you both. It shall be Gull.",
                "The meeting is over. They chose Gull.",
                _TOUR_ASKS,
            ],
            "bye": ["That was the tour. Write again to start over. 👋"],
        }[each.text]
        open_ = each.text != "bye"
    return seen


GREETING = "\n".join(
    [
        "Hello! I am the greeter of this house, and I sing.",
        *[f"{verse}. The river runs down to the sea, la la la, and it never rests." for verse in range(1, 9)],
        "La la la, la la la.\nLa la la, la la la.",
        "Would you tell me your name, so that I can greet you properly?",
    ]
)
"""Lines that are alike: what goes on with it must not be taken for what it began with."""


def _hello_says(_chance: random.Random, said: Sequence[Said], unique: int) -> Said:
    return Said(f"Ada{unique}" if len(said) % 2 else "hello", alone=True)


def _hello_expected(said: Sequence[Said]) -> list[str]:
    seen: list[str] = []
    for number, each in enumerate(said):
        seen += [f"Nice to meet you, {each.text}!"] if number % 2 else [GREETING]
    return seen


ORDERS = {
    "43345678": "Your order 43345678 is shipped and arrives on 2 August, which we are very glad to tell you.",
    "29376452": "Your order 29376452 is in preparation, and nobody knows yet when it will arrive at your place.",
}
WELCOME = "Welcome! I can look up orders for you, whenever you like."
WHICH = "Which order is it? Its number has eight digits."
ANOTHER = "Is there another order that I may look up for you?"
THANKS = "Thank you for asking, and goodbye."


def no_such_order(number: str) -> str:
    return f"I am sorry, there is no order with the number {number} in our books."


def _order_says(chance: random.Random, said: Sequence[Said], unique: int) -> Said:
    if not said or said[-1].text.startswith("no "):
        return Said("hello", alone=True)
    if said[-1].text[0].isdecimal():
        return Said("yes please" if chance.random() < 0.6 else "no thanks", alone=True)
    return Said(chance.choice([*ORDERS, str(10_000_000 + unique)]), alone=True)


def _order_expected(said: Sequence[Said]) -> list[str]:
    seen: list[str] = []
    for each in said:
        number = each.text.split()[0]
        if each.text == "hello":
            seen += [WELCOME, WHICH]
        elif number.isdecimal():
            seen += [ORDERS.get(number, no_such_order(number)), ANOTHER]
        elif number == "yes":
            seen.append(WHICH)
        else:
            seen.append(THANKS)
    return seen


ADDS = "Name a number, and I add it to those that I know."


def _adder_says(chance: random.Random, said: Sequence[Said], _unique: int) -> Said:
    if not said:
        return Said("hello", alone=True)
    number = str(chance.randrange(1, 50))
    return Said(f"{number} bomb" if chance.random() < 0.4 else number, alone=True)


def _adder_expected(said: Sequence[Said]) -> list[str]:
    seen, total = [ADDS], 0
    for each in said[1:]:
        total += int(each.text.split()[0])
        seen.append(f"That makes {total} in all, if I have added it up as one should.")
    return seen if said else []


CITY = "In which city will you be tomorrow, dear guest of ours?"
FORECASTS = {"lisbon": "sunny, 27 degrees", "bergen": "rain, 12 degrees"}


def forecast_sentence(city: str) -> str:
    known = FORECASTS.get(city.lower())
    return f"There is no forecast for {city}." if known is None else f"The forecast for {city} is {known}."


def _hotel_says(chance: random.Random, said: Sequence[Said], _unique: int) -> Said:
    return Said(chance.choice(("Lisbon", "Bergen", "Rome")) if len(said) % 2 else "hello", alone=True)


def _hotel_expected(said: Sequence[Said]) -> list[str]:
    seen: list[str] = []
    for number, each in enumerate(said):
        seen += [f"{forecast_sentence(each.text)} Wear what suits."] if number % 2 else [CITY]
    return seen


STORIES = {
    story.name: story
    for story in (
        Story("house", HOUSE, _house_says, _house_expected, ("House", "Porter")),
        Story(
            "tour",
            ROOT / "examples" / "tour.pb",
            _tour_says,
            _tour_expected,
            ("Guide", "Librarian", "Painter", "Poet"),
            asks_on=True,
        ),
        Story("workshop", WORKSHOP, _tasks_say, _tasks_expected, ("Workshop", "Hand")),
        Story("asking-workshop", WORKSHOP, _tasks_ask, _tasks_expected, ("Workshop", "Hand")),
        Story("hello", ROOT / "examples" / "hello.pb", _hello_says, _hello_expected, ("Greeter",), needs_model=True),
        Story(
            "orders",
            ROOT / "examples" / "order_helper.pb",
            _order_says,
            _order_expected,
            ("Order Helper", "OrderHelper"),
            needs_model=True,
        ),
        Story("adder", ADDER, _adder_says, _adder_expected, ("Adder",), needs_model=True),
        Story(
            "hotel",
            ROOT / "examples" / "two_agents.pb",
            _hotel_says,
            _hotel_expected,
            ("Concierge", "WeatherDesk"),
            needs_model=True,
        ),
    )
}
