"""Every sentence that the code says is in the texts, with its placeholders, and none is there for nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gateway.commands import COMMANDS, MAX_DESCRIPTION
from runtime.core.texts import english
from tests.architecture.source_tree import modules

KEY = re.compile(r"[a-z]+(\.[a-z_]+)+")


def _areas() -> set[str]:
    return {key.partition(".")[0] for key in english()}


def _named() -> Iterator[str]:
    """Every text in the code; `*` stands for what is filled in."""
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def _keys_in_code() -> set[str]:
    return {
        text for text in _named() if re.fullmatch(r"[a-z]+(\.[a-z_*]+)+", text) and text.partition(".")[0] in _areas()
    }


def _matches(key: str, pattern: str) -> bool:
    return re.fullmatch(pattern.replace(".", r"\.").replace("*", "[a-z_]+"), key) is not None


def test_every_text_is_said_somewhere() -> None:
    said = _keys_in_code()
    assert [key for key in english() if not any(_matches(key, pattern) for pattern in said)] == []


def test_every_command_has_a_text_that_fits_into_a_menu() -> None:
    texts = english()
    for name in COMMANDS:
        assert 0 < len(texts(f"commands.{name}.what")) <= MAX_DESCRIPTION


def test_every_text_that_is_asked_for_by_its_key_is_there() -> None:
    """The first or second argument of a call of texts, or of what tells one."""
    asked: set[str] = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in ("texts", "_texts", "tell", "_tell", "_not_taken"):
                named = {argument.value for argument in node.args[:2] if isinstance(argument, ast.Constant)}
                asked |= {text for text in named if isinstance(text, str) and KEY.fullmatch(text)}
    asked = {key for key in asked if key.partition(".")[0] in _areas()}
    assert len(asked) > 15
    assert [key for key in sorted(asked) if key not in english()] == []


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
