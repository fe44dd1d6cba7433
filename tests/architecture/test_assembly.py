"""The parts of a session: each is complete when it is made, and nobody finishes it later."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import ROOT, classes, named

ROOMS = ("runtime/sessions/", "runtime/agents/", "runtime/execution/", "runtime/playbooks/", "runtime/meetings/")


def _without_value(made: ast.ClassDef) -> Iterator[str]:
    """The attributes that `__init__` declares and does not set."""
    init = next((node for node in made.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None)
    for node in () if init is None else ast.walk(init):
        if isinstance(node, ast.AnnAssign) and node.value is None and isinstance(node.target, ast.Attribute):
            yield f"{made.name}.{node.target.attr}"


def test_every_attribute_has_its_value_when_the_object_is_made() -> None:
    found = [name for path, made in classes() if named(path).startswith(ROOMS) for name in _without_value(made)]
    assert found == []


def test_the_assembly_of_a_session_sets_no_attribute_of_a_part() -> None:
    assembly = ast.parse((ROOT / "runtime" / "sessions" / "assembly.py").read_text(encoding="utf-8"))
    stores = [
        node for node in ast.walk(assembly) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]
    assert [ast.unparse(node) for node in stores] == []
