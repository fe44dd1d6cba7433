"""What is said of built-in calls apart from where they are declared, compared with that."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from gateway.capabilities import FEATURES
from runtime.authoring.names import AGENT_ARGUMENTS, PERSON_ARGUMENTS, TASK_ARGUMENTS
from runtime.core.errors import OutcomeUnknown, PlaybookError, SharedStateConflict, UnknownTarget
from runtime.execution.calls.table import SIGNATURES
from runtime.execution.frames.signatures import CallSignature, declared
from runtime.execution.free import prompt, scope, statement_rules, verifier
from runtime.execution.free.prompt import signature
from runtime.execution.free.statement import CONTROL
from runtime.language.first_implementation import KEYWORDS
from runtime.language.instructions import fence
from runtime.language.lowering import phrases
from runtime.playbooks import python

ROOT = Path(__file__).resolve().parents[2]
RULES = [
    statement_rules._told(text)
    for name, text in vars(statement_rules).items()
    if name.isupper() and (isinstance(text, str) or all(isinstance(call, str) for call in text))
]
WRITTEN = [code for text in RULES for code in re.findall(r"`[^`]*?\b(await \w+\(.*?\))`", text)]


PAGE = (ROOT / "docs/reference/built-in-calls.md").read_text()
SECTIONS = dict(re.findall(r"^### (\w+)\n\n(```text\n(?:(?!^##).*\n)+)", PAGE, re.MULTILINE))
KNOWN_ERRORS = {error.__name__ for error in (OutcomeUnknown, PlaybookError, SharedStateConflict, UnknownTarget)}
GIVEN = {"str": "a text", "bool": "True", "int": "a whole number", "float": "a number", "list": "a list"}


def calls() -> list[tuple[CallSignature, list[CallSignature]]]:
    """The calls, each with its other names."""
    functions: dict[object, list[CallSignature]] = {}
    for one in SIGNATURES.values():
        functions.setdefault(one.function, []).append(one)
    return [(one, also) for one, *also in functions.values()]


def beginning(one: CallSignature, also: list[CallSignature]) -> str:
    """What the page has of a call first: its signature, and what it does."""
    written = signature(one.name, one.params, None)
    if one.shape.more:
        written = written[:-1] + ", name=value, …)"
    names = f" Also `{also[0].name}`." if also else ""
    return f"```text\n{written}\n```\n\n{one.does.replace(chr(10) * 2, ' ')}{names}\n"


def errors_in(section: str) -> set[str]:
    return set(re.findall(r"`([A-Z]\w+)`:", section)) - {"Exception"}


def raised_beside(one: CallSignature) -> set[str]:
    """The errors that the module of a call raises."""
    tree = ast.parse(Path(inspect.getfile(one.function)).read_text())
    made = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return {call.func.id for call in made if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)}


def test_each_argument_that_names_somebody_is_checked_with_the_program() -> None:
    parameters = {"agent", "attendees", "klass", "of", "source", "target", "task"}
    named = {
        (one.name, param.name, place)
        for one in SIGNATURES.values()
        for place, param in enumerate(one.params)
        if param.name in parameters
    }
    assert {
        (call, *argument) for call, argument in {**AGENT_ARGUMENTS, **PERSON_ARGUMENTS, **TASK_ARGUMENTS}.items()
    } == {
        one
        for one in named
        if one[0] != "Yld"  # what a model writes while the program runs
    }


def test_the_page_of_calls_has_each_in_the_order_of_the_code() -> None:
    of_features = {one.name for feature in FEATURES for owner in feature.calls for one in declared(owner.found())}
    assert [name for name in SECTIONS if name not in of_features] == [
        one.name for one, _ in calls() if one.name not in of_features
    ]
    assert SECTIONS.keys() == {one.name for one, _ in calls()}
    assert re.findall(r"\[(\w+)\]\(#\w+\)", PAGE.partition("\n## ")[0]) == list(SECTIONS)


@pytest.mark.parametrize(("one", "also"), calls(), ids=lambda given: getattr(given, "name", ""))
def test_the_page_says_of_a_call_what_its_code_says(one: CallSignature, also: list[CallSignature]) -> None:
    section = SECTIONS[one.name]
    assert section.startswith(beginning(one, also)), beginning(one, also)
    [given] = re.findall(r"^- Gives: (.+)$", section, re.MULTILINE)
    annotated = str(inspect.signature(one.function).return_annotation).partition("[")[0]
    if one.returns and annotated in GIVEN:
        assert given.startswith(GIVEN[annotated])


def test_the_page_names_errors_that_programs_know_and_that_calls_raise() -> None:
    told: dict[str, set[str]] = {}
    for one, _ in calls():
        told.setdefault(inspect.getfile(one.function), set()).update(errors_in(SECTIONS[one.name]))
    assert set().union(*told.values()) <= KNOWN_ERRORS
    untold = [(one.name, raised_beside(one) & KNOWN_ERRORS - told[inspect.getfile(one.function)]) for one, _ in calls()]
    assert [named for named in untold if named[1]] == []


@pytest.mark.parametrize("code", WRITTEN)
def test_models_are_told_calls_that_fit(code: str) -> None:
    called = next(node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    assert isinstance(called.func, ast.Name)
    known = SIGNATURES.get(called.func.id)
    assert known is None or known.shape.mismatch(called) is None


def test_the_rules_for_models_are_looked_at() -> None:
    assert {"Say", "Ask", "Remind", "Share", "ReadFile"} <= {code.partition("(")[0].split()[-1] for code in WRITTEN}


@pytest.mark.parametrize(
    "names",
    [
        KEYWORDS.keys(),
        fence._REASONS.keys(),
        phrases.RESULTLESS,
        scope._ADDRESSED,
        verifier._IN_THE_REPLY,
        python._NOT_IN_PYTHON,
        CONTROL,
        prompt._UNTOLD,
    ],
)
def test_calls_that_are_named_elsewhere_are_declared(names: frozenset[str]) -> None:
    assert set(names) <= SIGNATURES.keys()


def test_former_names_of_arguments_stand_for_present_ones() -> None:
    unknown = [(call, now) for call, named in KEYWORDS.items() for now in named.values()]
    assert [one for one in unknown if one[1] not in SIGNATURES[one[0]].shape.names] == []


@pytest.mark.parametrize("one", [one for one in SIGNATURES.values() if one.example], ids=lambda one: one.name)
def test_an_example_is_a_call_of_its_own(one: CallSignature) -> None:
    called = next(node for node in ast.walk(ast.parse(one.example)) if isinstance(node, ast.Call))
    assert isinstance(called.func, ast.Name)
    assert (called.func.id, one.shape.mismatch(called)) == (one.name, None)


def test_every_call_says_what_it_does() -> None:
    assert [name for name, one in SIGNATURES.items() if not re.match(r"[A-Z].*\.$", one.does, re.DOTALL)] == []
