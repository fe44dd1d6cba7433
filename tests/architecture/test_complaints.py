"""Every complaint that the document answers is answered by a test that exists."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.architecture.source_tree import ROOT

DOCUMENT = ROOT / "docs" / "inside" / "complaints.md"
NAMED = re.compile(r"`((?:unit|contract|e2e|architecture)/[\w/]+\.py)::(test_\w+)`")


def _rows() -> list[str]:
    """The rows of all tables, without their heads."""
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    heads = {number for number, line in enumerate(lines[1:]) if line.startswith("| ---")}
    return [
        line
        for number, line in enumerate(lines)
        if line.startswith("|") and number not in heads and not line.startswith("| ---")
    ]


@cache
def _tests(path: str) -> frozenset[str]:
    file = ROOT / "tests" / path
    tree = ast.parse(file.read_text(encoding="utf-8")) if file.exists() else ast.Module([], [])
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_there_are_complaints() -> None:
    assert len(_rows()) > 30


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row[2:60].strip())
def test_every_complaint_is_answered_by_tests_that_exist(row: str) -> None:
    complaint, answer, shown_by = (cell.strip() for cell in row.strip("|").split("|"))
    assert complaint
    assert answer
    named = NAMED.findall(shown_by)
    assert named
    assert NAMED.sub("", shown_by).strip(", ") == ""
    assert [f"{path}::{name}" for path, name in named if name not in _tests(path)] == []
