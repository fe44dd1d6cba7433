"""What is said of built-in calls apart from where they are declared, compared with that."""

import ast
import re
from pathlib import Path

import pytest

from runtime.execution.calls.table import SIGNATURES
from runtime.execution.frames.signatures import Signature
from runtime.execution.free import position, prompt, statement_rules, verifier
from runtime.execution.free.prompt import signature
from runtime.execution.free.statement import CONTROL
from runtime.language.first_implementation import KEYWORDS
from runtime.language.instructions import fence
from runtime.language.lowering import phrases
from runtime.playbooks import module

ROOT = Path(__file__).resolve().parents[2]
RULES = [text for name, text in vars(statement_rules).items() if name.isupper() and isinstance(text, str)]
WRITTEN = [code for text in RULES for code in re.findall(r"`[^`]*?\b(await \w+\(.*?\))`", text)]


def rows() -> list[str]:
    functions: dict[object, list[Signature]] = {}
    for one in SIGNATURES.values():
        functions.setdefault(one.function, []).append(one)
    return [row(one, also) for one, *also in functions.values()]


def row(one: Signature, also: list[Signature]) -> str:
    written = signature(one.name, one.params, None)
    if one.shape.more:
        written = written[:-1] + ", name=value, …)"
    names = f" (also `{also[0].name}`)" if also else ""
    return f"| `{written.replace('|', 'or')}`{names} | {one.does.replace(chr(10) * 2, ' ')} |"


def test_the_table_of_the_documentation_is_that_of_the_code() -> None:
    text = (ROOT / "docs/reference/program-language.md").read_text()
    section = text.partition("## Built-in calls\n")[2].partition("\n## ")[0]
    found = [line for line in section.splitlines() if line.startswith("| `")]
    assert found == rows(), "\n".join(rows())


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
        position._ADDRESSED,
        verifier._IN_THE_REPLY,
        module._NOT_IN_PYTHON,
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
def test_an_example_is_a_call_of_its_own(one: Signature) -> None:
    called = next(node for node in ast.walk(ast.parse(one.example)) if isinstance(node, ast.Call))
    assert isinstance(called.func, ast.Name)
    assert (called.func.id, one.shape.mismatch(called)) == (one.name, None)


def test_every_call_says_what_it_does() -> None:
    assert [name for name, one in SIGNATURES.items() if not re.match(r"[A-Z].*\.$", one.does, re.DOTALL)] == []
