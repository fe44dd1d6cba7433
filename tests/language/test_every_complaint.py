"""Whatever is said of a program is shown by a case, with the place at which it is said."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.language.diagnostics import ProgramRejected
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from tests.language.case import read_cases

LANGUAGE = Path(__file__).parents[2] / "runtime" / "language"

_SAYS = frozenset({"at", "at_span", "warn", "_note", "Finding"})

_TOO_MUCH = {
    "a program may have 1,000 agents": "".join(f"# A{n}\n" for n in range(1001)),
    "this JSON is too deeply nested": "# A\n```public.json\n" + "[" * 100_000 + "]" * 100_000 + "\n```\n",
    "this YAML has more than 100,000 values": (
        "# A\nmetadata:\n  few: &few [" + "1," * 1_000 + "1]\n  x: [" + "*few, " * 100 + "]\n---\n"
    ),
    "this step has 5,000 characters, and a step may have 4,000": f"# A\n\n## M\n- Say {'x' * 4996}\n",
    "this step has more than 40 spaces in a row": f"# A\n\n## M\n- Say{' ' * 50}hello\n",
}
"""Texts of a size that no case has."""

_ELSEWHERE = frozenset({"no such file", "no file was given", "step Main:01 stays free, a model carries it out: why"})
"""Said where there is no program, see the tests of the source, and of what the cases list as `unclassified`."""


def _messages() -> Iterator[str]:
    """What is said, as patterns: what differs from program to program matches anything."""
    for file in sorted(LANGUAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in _SAYS:
                yield from (_pattern(one) for one in node.args[1:2] if isinstance(one, ast.Constant | ast.JoinedStr))
            elif isinstance(node, ast.Call) and _name(node.func) == "_Misfit":
                yield from (_pattern(one) for one in node.args[:1] if isinstance(one, ast.Constant | ast.JoinedStr))
            elif isinstance(node, ast.Assign) and [_name(one) for one in node.targets] == ["message"]:
                yield from (_pattern(one) for one in [node.value] if isinstance(one, ast.Constant | ast.JoinedStr))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _pattern(text: ast.Constant | ast.JoinedStr) -> str:
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    return "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+?" for part in parts)


def test_every_complaint_about_a_program_is_shown_by_a_case() -> None:
    cases = [text for case in read_cases() for kind, text in case.expected.items() if kind in ("errors", "warnings")]
    shown = "\n".join([*cases, *_TOO_MUCH, *_ELSEWHERE])
    messages = list(_messages())
    assert len(messages) > 50
    assert [message for message in messages if not re.search(message, shown)] == []


@pytest.mark.parametrize("complaint", _TOO_MUCH)
def test_what_is_too_much_is_refused_with_its_place(complaint: str) -> None:
    with pytest.raises(ProgramRejected) as refused:
        parse(read_text(_TOO_MUCH[complaint], "a.pb"))
    assert complaint in str(refused.value)
    assert "a.pb:" in str(refused.value)
