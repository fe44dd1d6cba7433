"""Names of public classes: each is found by searching for it, and says in two words what it is where it leaves home."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import ROOT

WORDS_ALONE = """
Adapter Address Ask Attachment Budget Bus Call Capabilities Channel Choice Clock Commit Condition Diagnostic Divergence
End Entrance Expression Fact Feature Frame Free Happening Inbound Inbox Instruction Job Journal Jump Lease
Leave Loop Message Notebook Outbox Param Participant Program Prose Quote Records Return Role Routes Sandbox Say Set
Settings Snapshot Span Speaker Step Template Texts Think Trigger Unjournaled Usage Wait
"""
"""The words of the field, of PBAsm, and of what extensions import, which need no second one."""


def _trees() -> Iterator[tuple[str, ast.Module]]:
    for package in ("adapters", "gateway", "runtime"):
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(Path(path).relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def _classes() -> Iterator[tuple[str, str]]:
    for place, tree in _trees():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, place


def test_no_two_public_classes_have_one_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name, place in _classes():
        places[name].append(place)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_class_that_another_folder_imports_has_a_name_of_two_words_or_one_of_the_fields_own() -> None:
    short = {name: Path(place) for name, place in _classes() if re.fullmatch("[A-Z][a-z0-9]+", name)}
    abroad = {
        alias.name
        for place, tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (home := short.get(alias.name))
        and node.module == ".".join(home.with_suffix("").parts)
        and home.parent != Path(place).parent
    }
    assert abroad == {*WORDS_ALONE.split()}
