"""What a step means is decided when it is compiled: while it is executed no pattern looks at its text again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, named

EXECUTION = ROOT / "runtime" / "execution"
READ_BY_PATTERNS = {
    "free/raw.py": "a model's reply",
    "free/reply/reader.py": "a model's reply",
    "free/reply/lexer.py": "a model's reply",
    "free/reply_run.py": "a model's reply",
    "free/reply/say_literal.py": "a model's reply",
    "frames/outcomes.py": "places in errors, to leave them out for people",
    "processor/questioner.py": "the $variables in words for a model, to put in their values; texts of triggers",
    "processor/understanding.py": "what people wrote",
    "prompt/step_words.py": "steps for people's eyes: their words without codes",
    "prompt/with_files.py": "what servers refuse",
    "questions/answers.py": "a model's reply",
    "questions/reply.py": "a model's reply",
    "questions/spoken.py": "a model's reply",
    "speech/joint.py": "a model's reply, and what stands of its message",
    "speech/delivery.py": "how a program wants its messages delivered",
    "triggers/triggers.py": "the declared types of an agent's variables",
}
"""The modules of execution that have patterns, and what these read."""

_APPLIED = frozenset({"match", "search", "fullmatch", "findall", "finditer", "sub", "split"})
_OPERANDS = frozenset({"words", "test", "until", "over", "about", "instruction", "step", "node"})


def _modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(EXECUTION.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def _imports_re(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.Import) and any(name.name == "re" for name in node.names) for node in ast.walk(tree)
    )


def _of_a_step(node: ast.AST) -> bool:
    """Whether an expression is the text of a step or of one of its operands: `part.words.text`, `step.text`."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr == "text":
            owner = inner.value
            name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            if name in _OPERANDS:
                return True
    return False


def looked_at(tree: ast.AST) -> Iterator[int]:
    """The lines at which a pattern is applied to the text of a step."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _APPLIED:
            pattern = node.func.value
            is_pattern = isinstance(pattern, ast.Name) and (pattern.id == "re" or pattern.id.isupper())
            if is_pattern and any(_of_a_step(argument) for argument in node.args):
                yield node.lineno


def test_modules_of_execution_with_patterns_say_what_these_read() -> None:
    found = {str(path.relative_to(EXECUTION)) for path, tree in _modules() if _imports_re(tree)}
    assert found == set(READ_BY_PATTERNS), "does a pattern look at a step's text? decode it in runtime/language instead"


def test_no_pattern_is_applied_to_the_text_of_a_step_while_it_is_executed() -> None:
    found = [f"{named(path)}:{line}" for path, tree in _modules() for line in looked_at(tree)]
    assert not found, "decide this in runtime/language/instructions, when the step is decoded"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("_PART.search(part.words.text)", [1]),
        ("re.match('x', step.text)", [1]),
        ("_PART.search(one.test.text.lower())", [1]),
        ("_PART.search(reply)", []),
        ("part.words.text.split(',')", []),
    ],
)
def test_a_pattern_on_a_steps_text_is_found(code: str, found: list[int]) -> None:
    assert list(looked_at(ast.parse(code))) == found
