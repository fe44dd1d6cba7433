"""A run is right only where everything is as its talk demands."""

from typing import Any

import pytest

from evals.checks import problems
from evals.record import Record, Shown
from evals.talks import Call, Talk

SHOWN = [("Which order?", 0), ("Order 43345678 is shipped.", 1), ("Goodbye!", 1)]


def talk(lines: list[Any] | None = None, **expected: Any) -> Talk:
    return Talk.model_validate({"title": "test", "lines": lines or ["43345678"], "expect": expected})


def record(*calls: Call, **more: Any) -> Record:
    shown = [Shown("OrderDesk", text, line) for text, line in SHOWN]
    return Record("ended", shown=shown, calls=list(calls), first_agent="OrderDesk", **more)


def look_up(order_id: object = "43345678") -> Call:
    return Call("LookUpOrder", {"order_id": order_id}, "OrderDesk")


def test_a_run_that_is_as_demanded_has_no_problems() -> None:
    wanted = talk(
        lines=[{"text": "43345678", "answered": ["shipped", "order"]}],
        ends=True,
        said=["which order", "shipped", "goodbye"],
        said_anywhere=["goodbye", "which"],
        never=["sorry"],
        called=["LookUpOrder(order_id='43345678')"],
        never_called=["Pay", "LookUpOrder(order_id='1')"],
        variables={"order_id": "43345678", "Cook.minutes": 25},
        variables_match={"order_id": r"\d+"},
        spoke=["OrderDesk"],
        max_messages=3,
    )
    variables = {"OrderDesk": {"order_id": "43345678"}, "Cook": {"minutes": 25}}
    assert problems(wanted, record(look_up(), variables=variables)) == []


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [look_up(), look_up()],
        [look_up(), Call("Pay", {}, "OrderDesk")],
        [look_up("4334567")],
        [look_up(43345678)],
        [Call("LookUpOrder", {"order_id": "43345678", "more": 1}, "OrderDesk")],
    ],
)
def test_a_call_too_many_too_few_or_with_other_arguments_is_wrong(calls: list[Call]) -> None:
    [problem] = problems(talk(called=["LookUpOrder(order_id='43345678')"]), record(*calls))
    assert problem.endswith("instead of LookUpOrder(order_id='43345678')")


def test_calls_in_another_order_are_wrong() -> None:
    wanted = talk(called=["LookUpOrder(order_id='1')", "LookUpOrder(order_id='2')"])
    assert problems(wanted, record(look_up("1"), look_up("2"))) == []
    assert len(problems(wanted, record(look_up("2"), look_up("1")))) == 1


def test_a_call_that_must_not_be_is_named_with_its_arguments() -> None:
    wanted = ["called OrderDesk.LookUpOrder(order_id='43345678')"]
    assert problems(talk(never_called=["LookUpOrder"]), record(look_up())) == wanted
    assert problems(talk(never_called=["LookUpOrder(order_id='43345678')"]), record(look_up())) == wanted
    assert problems(talk(never_called=["Cook.LookUpOrder(order_id='43345678')"]), record(look_up())) == []


def test_words_in_another_order_are_wrong_where_the_order_counts() -> None:
    assert problems(talk(said_anywhere=["goodbye", "shipped"]), record()) == []
    assert problems(talk(said=["goodbye", "shipped"]), record()) == ["nobody said /shipped/ at its place in the order"]


def test_the_same_words_must_occur_as_often_as_they_are_listed() -> None:
    assert problems(talk(said=["order", "order"]), record()) == []
    assert len(problems(talk(said=["order", "order", "order"]), record())) == 1


def test_forbidden_words_are_quoted_as_they_were_said() -> None:
    assert problems(talk(never=["good.*"]), record()) == ["somebody said 'Goodbye!', which /good.*/ forbids"]


def test_an_answer_counts_only_before_the_next_line() -> None:
    lines = [{"text": "Hello", "answered": ["which"]}, "43345678"]
    [problem] = problems(talk(lines=lines), record())
    assert problem == "'Hello' was not answered with /which/"


@pytest.mark.parametrize(("value", "wanted"), [("18", 18), (18.0, 18), (True, 1), ([1, "2"], [1, 2]), (None, "None")])
def test_a_variable_of_another_type_is_wrong(value: object, wanted: object) -> None:
    problem = problems(talk(variables={"age": wanted}), record(variables={"OrderDesk": {"age": value}}))
    assert problem == [f"$age is {value!r} instead of {wanted!r}"]


def test_a_pattern_must_match_the_whole_value_of_a_variable() -> None:
    variables = {"OrderDesk": {"name": "my name is Grace"}}
    assert len(problems(talk(variables_match={"name": "Grace"}), record(variables=variables))) == 1
    assert problems(talk(variables_match={"name": ".*grace"}), record(variables=variables)) == []
    assert problems(talk(variables_match={"city": ".*"}), record(variables=variables)) == ["$city was never set"]


def test_how_it_ended_is_checked() -> None:
    waiting, failed = record(), record()
    waiting.how = "waiting"
    failed.how, failed.why = "failed", "the model cannot be reached"
    assert problems(talk(ends=False), record()) == ["it ended"]
    assert problems(talk(ends=True), waiting) == ["it did not end"]
    assert problems(talk(), failed) == ["failed: the model cannot be reached"]


def test_a_program_that_ends_before_everybody_has_spoken_is_wrong() -> None:
    assert problems(talk(), record(unsaid=["43345678"])) == ["it ended before anybody said '43345678'"]


def test_scripted_replies_that_nobody_asked_for_are_wrong() -> None:
    assert len(problems(talk(), record(replies_left=1))) == 1


def test_too_many_messages_and_silent_agents_are_wrong() -> None:
    assert problems(talk(max_messages=2), record()) == ["people saw 3 messages, at most 2 are allowed"]
    assert problems(talk(spoke=["OrderDesk", "Cook"]), record()) == ["Cook said nothing"]
