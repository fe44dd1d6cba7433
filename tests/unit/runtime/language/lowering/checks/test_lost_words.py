"""No word that carries meaning is lost between a step and its instructions."""

import pytest

from runtime.language.lowering.checks.lost_words import lost_clauses, lost_words
from runtime.language.lowering.clauses import clauses, joints, unquoted


@pytest.mark.parametrize(
    ("said", "compiled", "lost"),
    [
        ("Ask the user for their $name", "QUE Say(user, Ask the user for their $name)", []),
        ("If $x is 3, end the program", "CND If $x is 3\nYLD for exit", []),
        ("Go back to step 2", "JMP 02", []),
        ("Wait for the user to reply", "YLD for user", []),
        ("Create a ticket", "QUE CreateTicket(); YLD for call", []),
        ("Wait for the user to pay the deposit", "YLD for user", ["pay", "deposit"]),
        ("Check note 1 and tell Ada", "CHK N1", ["tell", "Ada"]),
        ("Go to step 3", "JMP 02", ["3"]),
        ("Set $x to $y", "EXE $x = 3", ["$y"]),
        ('Say "good day, sir" twice', 'QUE Say(user, Say "good day")', ['"good day, sir"', "sir", "twice"]),
        ("Say \u201cgood day\u201d", 'QUE Say(user, Say "good  day")', []),
        ("Thank the user without irony", "QUE Say(user, Thank the user)", ["without", "irony"]),
        ("Say that it is not late", "QUE Say(user, Say that it is late)", ["not"]),
        ("Think 日本 over", "TNK Think over", ["日本"]),
        ("Add 1", "EXE Add 10", ["1"]),
        ("Add 1", "EXE Add 1.5", ["1"]),
        ("dd $sum", "TNK add $sum", ["dd"]),
    ],
)
def test_words_that_stand_in_no_instruction_are_lost(said: str, compiled: str, lost: list[str]) -> None:
    assert lost_words(said, compiled.split("\n")) == lost


@pytest.mark.parametrize(
    ("said", "compiled", "lost"),
    [
        ("Ask how many people travel", "QUE Say(user, Ask how many $people:int are travelling); YLD for user", []),
        ("Get the price from QuoteFare", "QUE $price:float = QuoteFare(people=$people); YLD for call", []),
        ("Say that a group has 1 to 9 people", "QUE Say(user, A group must have between one and 9 persons)", []),
        ("otherwise just tell the price", "CND Otherwise\nQUE Say(user, Tell the $price)", []),
        ("Wait five minutes", "QUE Sleep(300); YLD for call", []),
        (
            "Meet; if anyone reveals a secret, end it",
            "QUE Say(meeting, Meet)",
            ["if anyone reveals a secret", "end it"],
        ),
        ("Greet them and offer a discount", "QUE Say(user, Greet them)", ["offer a discount"]),
        ("Try 3 times", "QUE Say(user, Try 5 times)", ["Try 3 times"]),
        ("Join; drive towards the stated goals", "QUE Say(meeting, Join)", ["drive towards the stated goals"]),
    ],
)
def test_clauses_that_other_words_do_not_keep_are_lost(said: str, compiled: str, lost: list[str]) -> None:
    assert lost_clauses(said, compiled.split("\n")) == lost


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Greet them; thank them", ["Greet them", "thank them"]),
        ("Greet them. Thank them.", ["Greet them", "Thank them."]),
        ("Is it so? Then go on", ["Is it so?", "Then go on"]),
        ('Say "a; b. C" (or d; e)', ['Say "a; b. C" (or d; e)']),
        ("Tell Ada's name; it's Ada", ["Tell Ada's name", "it's Ada"]),
        ("Use 3.5 points, e.g. Ada's", ["Use 3.5 points, e.g. Ada's"]),
        ('Say "a; b', ['Say "a; b']),
        ("", [""]),
    ],
)
def test_clauses_end_at_semicolons_and_full_stops_outside_quotes(text: str, parts: list[str]) -> None:
    assert clauses(text) == parts


def test_a_sentence_is_cut_at_each_comma_and_and_outside_quotes() -> None:
    assert list(joints('Say "a and b", then c and d')) == [
        ('Say "a and b"', "c and d"),
        ('Say "a and b", then c', "d"),
    ]
    assert unquoted('Say "if" (if)') == "Say " + " " * 9
