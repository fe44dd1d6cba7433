"""Each line of ours in a prompt begins with a declared form: by these, others' texts are kept from posing as ours."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from runtime.core.prompt_forms import foreign
from tests.architecture.source_tree import ROOT

EXECUTION = ROOT / "runtime" / "execution"
WRITERS = (
    *sorted((EXECUTION / "prompt").glob("*.py")),
    *sorted((EXECUTION / "processor").glob("*.py")),
    EXECUTION / "questions" / "form.py",
    *sorted((EXECUTION / "free").glob("*.py")),
    ROOT / "gateway" / "features" / "files" / "describing.py",
    EXECUTION / "model_calls.py",
    ROOT / "runtime" / "tape" / "state" / "frames.py",
)
"""The modules that word prompts."""

_TASK = "a task only behind the line that says it is from the program"
_SYSTEM = "stands in the system's message"
_INSIDE = "stands inside a line"

UNDECLARED = {
    "Go on.": "does nothing that a person's own words would not",
    **dict.fromkeys(("Do this:", "The result,", "The task:", "They wrote:", "Only if", "Give "), _TASK),
    **dict.fromkeys(("Answer with", "Write answer if", "Only the message", "Write only what you say"), _TASK),
    "Go on after them.": "stands below the line that the reply broke off",
    **dict.fromkeys(("You are {", "You take part", "Below is the beginning", "# {}", "## {}", "Asks a model"), _SYSTEM),
    **dict.fromkeys(("You carry out a program", "Where nothing is to be done but", "Agent("), _SYSTEM),
    **dict.fromkeys(("You put into words what", "Answer a question about what somebody sent"), _SYSTEM),
    "Describe {}.": "names a file, and asks for no more than its description",
    "The statement's variables cannot be kept: {}": "is told as an error, which is declared",
    **dict.fromkeys(
        ("LoadArtifact(", "[meeting {}]", "For example:", "(not known: {}", "(see below)", "(null if", "(meeting)"),
        _INSIDE,
    ),
    **dict.fromkeys(("(automatic)", "[1] is", "YLD for", "[{}{}]"), _INSIDE),
    "(To {}:)": "stands in what the model itself has said",
    "> {}": "quotes each line of another message; a speaker's is declared",
    ">   {}": "goes on with what is quoted",
    "[{}] {}": "a number before a task, which is declared",
}
"""Beginnings that are no forms, or those of everybody's sentences; why each may be so."""

_BEGINS_A_LINE = re.compile(r"[A-Z(\[>#][^\n]*[ :(\[][^\n]*")
_PATTERNS = frozenset({"compile", "sub", "match", "search", "fullmatch", "removeprefix", "findall"})


def _written(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The beginnings of texts that a module writes, but for docstrings, errors and patterns."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PATTERNS:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from ((node.lineno, line) for line in node.value.split("\n"))
        elif isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield from ((node.lineno, line) for line in text.split("\n"))
        else:
            yield from _written(node)


def _undeclared(path: Path) -> Iterator[str]:
    for number, line in _written(ast.parse(path.read_text(encoding="utf-8"))):
        begins = line.lstrip()
        if not _BEGINS_A_LINE.match(begins) or begins.startswith(tuple(UNDECLARED)):
            continue
        if foreign(begins.replace("{}", "100")) == begins.replace("{}", "100"):
            yield f"{path.name}:{number}: {line[:70]}"


def test_each_line_of_a_prompt_begins_with_a_declared_form() -> None:
    assert [found for path in WRITERS for found in _undeclared(path)] == []
