"""Names of public classes: each is found by searching for it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import ROOT

EVENTS, FACTS = "runtime/events", "runtime/tape/facts"
"""What an event tells of is often a fact, of the same name."""


def _classes() -> Iterator[tuple[str, str]]:
    for package in ("adapters", "gateway", "runtime"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    yield node.name, str(Path(path).relative_to(ROOT))


def test_no_two_public_classes_have_one_name_but_an_event_and_its_fact() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name, place in _classes():
        places[name].append(place)
    twice = {name: found for name, found in places.items() if len(found) > 1}
    pairs = {
        name
        for name, found in twice.items()
        if len(found) == 2 and found[0].startswith(EVENTS) and found[1].startswith(FACTS)
    }
    assert {name: found for name, found in twice.items() if name not in pairs} == {}
