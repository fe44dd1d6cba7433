"""What a statement of a reply is made into before it runs."""

import ast

import pytest

from runtime.execution.free.statement import assigned_names, control_value, lower, mutated_names, with_dollars
from runtime.sandbox.executor import HostCall

STATE = {"x", "guests", "name", "__"}
FUNCTIONS = {"Say", "Var", "Weather", "Other.Ask", "Step"}


def lowered(source: str) -> str:
    return lower(source, STATE, FUNCTIONS).source


@pytest.mark.parametrize(
    ("written", "run"),
    [
        ("x = 1", "x = await Var('x', 1)"),
        ("x: int = 1", "x = await Var('x', 1)"),
        ("x += 1", "x = await Var('x', x + 1)"),
        ("await Var('x', 1)", "x = await Var('x', 1)"),
        ("await Var('$x', 1)", "x = await Var('$x', 1)"),
        ("x = await Var('x', 1)", "x = await Var('x', 1)"),
        ("x = await Weather()", "x = await Var('x', await Weather())"),
        ("x = Weather()", "x = await Var('x', await Weather())"),
        ("__ = 'done'", "__ = await Var('__', 'done')"),
    ],
)
def test_every_way_to_set_a_state_variable_is_a_var_call(written: str, run: str) -> None:
    assert lowered(written) == run


@pytest.mark.parametrize(
    "source",
    ["x, y = 1, 2", "[x, *y] = [1, 2]", "y = x = 1", "guests[0] = 'Ada'", "guests.append('Ada')", "y = guests.pop()"],
)
def test_a_state_variable_changed_together_with_others_or_in_place_is_written_back(source: str) -> None:
    changed = "guests" if "guests" in source else "x"
    tree = ast.parse(lowered(source))
    assert ast.unparse(tree.body[-1]) == f"{changed} = await Var('{changed}', {changed})"
    assert ast.unparse(tree.body[0]) == ast.unparse(ast.parse(source))


def test_a_loop_over_a_state_variable_sets_it_in_each_round() -> None:
    assert lowered("for name in guests:\n    Say('user', name)") == (
        "for name in guests:\n    name = await Var('name', name)\n    await Say('user', name)"
    )


def test_the_names_inside_a_comprehension_are_its_own() -> None:
    assert lowered("y = [name for name in guests]") == "y = [name for name in guests]"


@pytest.mark.parametrize("head", ["def", "async def"])
def test_the_names_inside_a_function_are_its_own(head: str) -> None:
    source = f"{head} count():\n    x = 1\n    x += 1\n    return x"
    result = lower(source, STATE, FUNCTIONS)
    assert result.source == source
    assert result.definition
    assert result.keep == ()


def test_host_calls_inside_an_async_function_are_awaited() -> None:
    assert lowered("async def f():\n    Say('user', 'x')") == "async def f():\n    await Say('user', 'x')"


@pytest.mark.parametrize(
    ("written", "run"),
    [
        ("Say('user', 'x')", "await Say('user', 'x')"),
        ("y = Other.Ask(1)", "y = await Other.Ask(1)"),
        ("y += Weather()", "y += await Weather()"),
        ("if y:\n    Say('user', 'x')", "if y:\n    await Say('user', 'x')"),
        ("print('x')", "print('x')"),
    ],
)
def test_a_host_call_without_await_is_awaited_and_no_other(written: str, run: str) -> None:
    assert lowered(written) == run


def test_the_locals_that_a_statement_changes_are_kept() -> None:
    assert lower("a, x = 1, 2", STATE, FUNCTIONS).keep == ("a",)
    assert lower("if a:\n    b = 1\nelse:\n    c = 2", STATE, FUNCTIONS).keep == ("b", "c")
    assert lower("items.append(1)", STATE, FUNCTIONS).keep == ("items",)
    assert lower("import json", STATE, FUNCTIONS).definition


def test_an_assignment_with_a_dollar_is_a_variable_also_when_nobody_declared_it() -> None:
    assert with_dollars("fresh = 1", {"fresh"}) == "fresh = await Var('fresh', 1)"
    assert with_dollars("local = fresh", set()) == "local = fresh"
    assert lowered(with_dollars("fresh = Weather()", {"fresh"})) == "fresh = await Var('fresh', await Weather())"


def test_lowering_what_was_lowered_changes_nothing() -> None:
    for source in ("x += 1", "await Var('x', 1)", "x = Weather()", "Say('user', 'x')"):
        assert lowered(lowered(source)) == lowered(source)


def test_names_are_found_wherever_they_are_bound_or_changed() -> None:
    assert assigned_names(ast.parse("import os.path as p, json\na = (b := 1)\ndef f(): c = 1")) == set("pabfc") | {
        "json"
    }
    assert mutated_names(ast.parse("a['k'][0] = 1\nb.sort()\nc.upper()\nd['x'].append(1)")) == {"a", "b", "d"}


def test_the_argument_of_yld_and_return_is_found_by_place_or_name() -> None:
    assert control_value(HostCall(0, "Return", (5,), {}), "value") == 5
    assert control_value(HostCall(0, "Return", (), {"value": 6}), "value") == 6
    assert control_value(HostCall(0, "Yld", (), {}), "source", "user") == "user"


def test_a_variable_that_nobody_declared_is_not_kept_as_a_local_too() -> None:
    for source in ("await Var('fresh', 1)", "fresh = await Var('$fresh', 1)"):
        assert lower(source, STATE, FUNCTIONS).keep == ()


def test_names_bound_by_except_and_match_are_known() -> None:
    source = "try:\n    pass\nexcept ValueError as a:\n    pass\nmatch 1:\n    case [b, *c]:\n        pass\n"
    assert assigned_names(ast.parse(source)) == {"a", "b", "c"}


def test_calls_in_conditions_are_awaited_and_those_that_are_gathered_are_not() -> None:
    source = 'if not Ask("a", ["b"]) == "b" and F():\n    x = await asyncio.gather(F(), F())'
    lowered = lower(source, (), {"Ask", "F"}).source
    assert lowered.startswith("if not await Ask('a', ['b']) == 'b' and await F():")
    assert "asyncio.gather(F(), F())" in lowered
