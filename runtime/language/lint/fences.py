"""Probable mistakes in the Python of a program, found without executing it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from runtime.language.lint.findings import Finding
from runtime.language.program import AgentSpec, PythonFence
from runtime.language.syntax.signature import parse_python


def missing_modules(agent: AgentSpec) -> Iterator[Finding]:
    """Modules that fences import and that are neither installed nor beside the program."""
    for fence in agent.fences:
        for node in parse_python(fence.source).body:
            for name in dict.fromkeys(_imported(node)):
                if not (name == "playbooks" or _installed(name) or _beside(name, fence)):
                    span = replace(fence.span, line=fence.span.line + node.lineno - 1)
                    hint = "Install it in the environment that runs Parley."
                    yield Finding(span, f"there is no module {name}", hint, name)


def _imported(node: ast.stmt) -> Iterator[str]:
    """The top-level modules that a statement imports."""
    match node:
        case ast.Import(names=names):
            yield from (one.name.partition(".")[0] for one in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module.partition(".")[0]


@lru_cache(maxsize=1024)
def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return True


def _beside(name: str, fence: PythonFence) -> bool:
    place = Path(fence.span.file).parent / name
    return place.with_suffix(".py").exists() or place.is_dir()
