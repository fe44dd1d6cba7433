"""Regular expressions in the language and the execution: English is in the vocabulary, and their number only falls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import ROOT

MOST = 115
"""The number that was reached. Lower it with each one that goes; it never rises."""

FUNCTIONS = frozenset({"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"})


def _patterns(tree: ast.Module) -> Iterator[int]:
    """How many patterns each use of `re` has: one, or as many as the table has that it goes through."""
    tables: dict[ast.AST, int] = {}
    for node in ast.walk(tree):
        for each in getattr(node, "generators", ()):
            if isinstance(each.iter, ast.Tuple | ast.List):
                tables |= dict.fromkeys(ast.walk(node), len(each.iter.elts))
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)) if name in FUNCTIONS:
                constant = isinstance(node.args[0], ast.Constant)
                yield 1 if constant else tables.get(node, 1)


def _count(source: str) -> int:
    return sum(_patterns(ast.parse(source)))


def test_patterns_are_counted_alone_and_in_tables() -> None:
    assert _count('import re\nA = re.compile("a")\nB = [re.compile(one) for one in ("a", "b", "c")]') == 4


def test_regular_expressions_only_become_fewer() -> None:
    folders = (ROOT / "runtime" / name for name in ("language", "authoring", "execution"))
    found = sum(_count(path.read_text(encoding="utf-8")) for folder in folders for path in folder.rglob("*.py"))
    assert found <= MOST
