"""Steps that end, leave, return, go or wait: what each can mean, and that nothing may stand around them."""

import itertools

from runtime.language.instructions.model import Call, End, Jump, Leave, Return, Wait
from runtime.language.instructions.steps.calling import given_to
from runtime.language.instructions.steps.course import course_of, jump_behind

WHOLE = {
    **dict.fromkeys(
        ("End program", "Quit the program now", "Stop here", "Hang up", "Close the program, please"), End()
    ),
    **dict.fromkeys(("End this playbook", "Leave the playbook", "Return", "Return to the caller"), Return()),
    **dict.fromkeys(("Break", "Leave the loop", "Break out of this loop", "Stop repeating"), Leave()),
    **dict.fromkeys(("Continue", "Go on to the next item", "Skip to the next guest"), Leave(next_round=True)),
    **dict.fromkeys(("Go to step 3", "Jump back to 3", "Repeat from the step 3", "Move on to step 3"), Jump("03")),
    **dict.fromkeys(("Start over", "Go back to the beginning", "Start again from the top"), Jump("01")),
    **dict.fromkeys(("End the meeting", "Adjourn this meeting"), Call("EndMeeting")),
    **dict.fromkeys(("Leave the meeting", "Quit meeting"), Call("LeaveMeeting")),
    **dict.fromkeys(("Wait", "Hold on"), Wait(())),
}
MORE = ("the news", "of the day", "and say hello", "quietly", "after dinner", "over $items", "with a smile", "or not")
"""What makes another step of each of them."""


def test_each_step_has_its_meaning() -> None:
    assert {said: found.does for said in WHOLE if (found := course_of(said))} == WHOLE


def test_none_has_it_with_other_words_behind_it_or_before_it() -> None:
    steps = [said for said, does in WHOLE.items() if said not in ("Return",)]
    behind = [f"{said} {more}" for said, more in itertools.product(steps, MORE) if course_of(f"{said} {more}")]
    assert [said for said in behind if not said.startswith("Return")] == []
    assert [f"{word} {said}" for word in ("Never", "Say", "The") for said in steps if course_of(f"{word} {said}")] == []


def test_a_jump_has_its_condition_before_or_behind_it() -> None:
    said = ("Go to step 3 unless $x is 2", "Repeat from step 3 until $x is 2", "If $x is 2 then go to step 3")
    jumps = [found for one in said if (found := course_of(one) or jump_behind(one))]
    assert [(one.does, one.said) for one in jumps] == [
        (Jump("03", unless=True), "$x is 2"),
        (Jump("03", unless=True), "$x is 2"),
        (Jump("03"), "$x is 2"),
    ]
    more = ('If $x is "a" then say "b" and go to step 3', "If they want to go to step 3", "If it is so, go to step 3")
    assert [jump_behind(one) for one in more] == [None, None, None]
    assert course_of("Go to step 3 if $x, otherwise go to step 4") is None


def test_a_return_that_goes_to_a_place_returns_nothing() -> None:
    places = ("to the office", "to step one", "the book to the library", "$word into the box", "$x from the list")
    values = ("$x", "$x and $y", '"back to you"', "Find($x)", "the number of days", "it to me")
    assert [bool(found and found.elsewhere) for one in places if (found := course_of(f"Return {one}"))] == [True] * 5
    assert [found.said for one in values if (found := course_of(f"Return {one}")) and not found.elsewhere] == [*values]


def test_what_a_call_is_given_is_all_that_stands_behind_its_name() -> None:
    given = {
        'with "a", 2 and $c': ('"a", 2, $c', ""),
        "using the pin $code to get $user": ("pin=$code", "$user"),
        "with $a and pin=3": ("$a, pin=3", ""),
        "into $x:list[int]": ("", "$x:list[int]"),
    }
    assert {said: given_to(said, ("pin",)) for said in given} == given
    unclear = (
        "with $a twice",
        "with $a or $b",
        "for the user",
        'with name "x"',
        "with pin 3 and $a",
        "with pin 1, pin 2",
    )
    assert [said for said in unclear if given_to(said, ("pin",))] == []
