"""Names of public classes: each is found by searching for it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import ROOT


def _classes() -> Iterator[tuple[str, str]]:
    for package in ("adapters", "gateway", "runtime"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    yield node.name, str(Path(path).relative_to(ROOT))


def test_no_two_public_classes_have_one_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name, place in _classes():
        places[name].append(place)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
