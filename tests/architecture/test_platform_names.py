"""Platforms are named by their adapters, their settings and their commands: everything else reads capabilities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGES, ROOT, named, tracked
from tests.contract.stands.kinds import STANDS

PLATFORMS = sorted(path.parent.name for path in (ROOT / "adapters").glob("*/adapter.py"))
OUTER = [name for name in PLATFORMS if name != "web"]
"""The web chat's name is also a word, and a package of the gateway serves it; it is looked for as a string."""

AT_HOME = {
    "gateway/catalog.py": "makes every adapter",
    "gateway/extensions/extension.py": "has a decorator for each platform's library",
    "gateway/settings/tree.py": "names the sections",
    "gateway/settings/platforms.py": "has the sections",
    "gateway/settings/sources.py": "knows the tables whose values are files with secrets",
    "gateway/cli/commands.py": "knows the earlier names of the platforms' own commands",
    "gateway/cli/setup.py": "puts the platforms' own commands on the command line",
    "gateway/dev/new/env.example": "has a place for every secret",
}
IN_WORDS = {
    "adapters/adapter.py": "an example of an id",
    "gateway/cli/operate/access.py": "an example of an id",
    "runtime/core/ids.py": "an example of an id",
    "runtime/storage/redis/client/keys.py": "examples of keys",
    "runtime/storage/redis/records.py": "an example of a table's name",
    "gateway/settings/execution.py": "which condition of a route is about which platform's word for a space",
    "gateway/inbound/commands.py": "the source of a limit",
    "gateway/web/files.py": "the source of a limit",
    "gateway/observability/watching.py": "whose tokens look so that they are masked wherever they stand",
}
"""Only in docstrings and help: these lines can be left out and the code does the same."""

SHARED_SUITE = sorted((ROOT / "tests" / "contract" / "adapters").glob("test_adapter_*.py"))


def _code() -> Iterator[Path]:
    """What is no adapter."""
    homes = {f"adapters/{name}" for name in PLATFORMS}
    for path in tracked():
        parts = path.relative_to(ROOT).parts
        if parts[0] in PACKAGES and not homes & {"/".join(parts[:2]), "/".join(parts)}:
            yield path


def _speaking(paths: Iterator[Path], pattern: str) -> dict[str, list[str]]:
    """The lines of each file that name a platform."""
    found: dict[str, list[str]] = {}
    for path in paths:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        if named_in := [line.strip() for line in lines if re.search(pattern, line, re.IGNORECASE)]:
            found[named(path)] = named_in
    return found


def test_no_platform_is_named_outside_its_own_places() -> None:
    found = _speaking(_code(), "|".join(OUTER))
    assert sorted(found) == sorted(AT_HOME | IN_WORDS)


def test_where_platforms_are_examples_no_code_asks_for_one() -> None:
    """A name that code compares with or looks up is a string of its own."""
    found = _speaking(_code(), "([\"'])(?:" + "|".join(OUTER) + r")\1")
    assert set(found) <= set(AT_HOME)


def test_the_web_chat_is_asked_for_only_by_the_catalogue() -> None:
    assert set(_speaking(_code(), "[\"']web[\"']")) <= {"gateway/catalog.py"}


@pytest.mark.parametrize("path", SHARED_SUITE, ids=lambda path: path.name)
def test_the_shared_suite_names_no_platform(path: Path) -> None:
    assert _speaking(iter([path]), "|".join(OUTER) + "|[\"']web[\"']|adapter\\.name ==") == {}


def test_every_platform_has_a_stand_and_a_page_of_documentation() -> None:
    assert set(PLATFORMS) | {"minimal"} == set(STANDS)
    assert [name for name in OUTER if not (ROOT / "docs" / "chats" / f"{name}.md").is_file()] == []
