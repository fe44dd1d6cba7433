"""The tree as the architecture tests see it."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_HOLDING = ("body", "orelse", "finalbody", "handlers", "cases")
PACKAGES = ("parley", "gateway", "adapters", "runtime")


def modules() -> Iterator[Path]:
    """Every Python file of the product."""
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def named(path: Path) -> str:
    """A path as people name it: from the checkout's root."""
    return str(path.relative_to(ROOT))


def classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    """Every class of the product, with its file."""
    for path in modules():
        for node in statements(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ClassDef):
                yield path, node


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement, and what holds statements, at any depth. Expressions, most of a tree, are not visited."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for name in _HOLDING:
            waiting.extend(getattr(node, name, ()))


def tracked() -> Iterator[Path]:
    """The text files that are in version control, or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in path.read_bytes()[:4096]:
            yield path
