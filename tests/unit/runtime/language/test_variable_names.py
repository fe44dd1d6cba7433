"""Variables may have any name: none of them is taken for a word of Python, a constant or something that is called."""

import ast
import builtins
import keyword

import pytest

from runtime.execution.calls.table import SIGNATURES
from runtime.execution.free.statement import lower, with_variables
from runtime.language.instructions.conditions.reading import in_symbols, read_condition
from runtime.language.instructions.evaluation import CONSTANTS, FUNCTIONS, LenientNames
from runtime.language.instructions.expression import read_expression
from runtime.language.value_types import python_name, variable_name
from runtime.sandbox.policy import HOST_FUNCTIONS, PURE_MODULES, check

NAMES = sorted(
    name
    for name in {
        *(*keyword.kwlist, *dir(builtins), *CONSTANTS, *FUNCTIONS, *PURE_MODULES, *HOST_FUNCTIONS, *SIGNATURES),
        *("open", "input", "Kitchen", "Order", "pizza"),
    }
    if not name.startswith("_")
)


@pytest.mark.parametrize("name", NAMES)
def test_an_exact_value_and_condition_read_a_variable_of_any_name(name: str) -> None:
    value, condition = read_expression(f"${name} + 1"), read_condition(f"${name} is more than 4")
    assert value is not None
    assert condition is not None
    assert value.names == condition.names == frozenset({name})
    assert value.evaluate({name: 5}) == 6
    assert condition.evaluate(LenientNames({name: 5})) is True
    assert condition.evaluate(LenientNames({name: 4})) is False
    assert in_symbols(condition) == f"${name} > 4"


@pytest.mark.parametrize("name", NAMES)
def test_a_statement_sets_and_reads_a_variable_of_any_name_and_may_call_what_has_the_name(name: str) -> None:
    here = python_name(name)
    lowered = lower(f"{here} = {here} + 1", {here}, ())
    assert check(ast.parse(lowered.source), protected=HOST_FUNCTIONS | SIGNATURES.keys()) is None
    assert f"Var({name!r}, {here} + 1)" in lowered.source
    if keyword.iskeyword(name):
        return
    source = with_variables(f"x = {name}(1) + {name}", {here}, ())
    assert source == (f"x = {name}(1) + {here}")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_python_belongs_to_one_variable(name: str) -> None:
    assert variable_name(python_name(name)) == name
    assert python_name(name).isidentifier()
    assert not keyword.iskeyword(python_name(name))


def test_a_constant_beside_a_variable_of_its_name_is_the_constant() -> None:
    found = read_condition("$no is no")
    assert found is not None
    assert found.evaluate(LenientNames({"no": False})) is True
    assert found.evaluate(LenientNames({"no": 5})) is False


def test_a_name_within_brackets_that_is_a_variable_too_is_no_exact_value() -> None:
    assert read_expression("[x for x in $xs if x > $x]") is None
