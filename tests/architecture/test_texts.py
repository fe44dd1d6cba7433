"""Every sentence that the code says is in the texts, with its placeholders, and none is there for nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from gateway.inbound.commands import COMMANDS, MAX_DESCRIPTION
from runtime.core.texts import english
from tests.architecture.source_tree import modules

KEY = re.compile(r"[a-z]+(\.[a-z_]+)+")


@cache
def _areas() -> frozenset[str]:
    return frozenset(key.partition(".")[0] for key in english())


@cache
def _named() -> frozenset[str]:
    """Every text in the code; `*` stands for what is filled in."""
    return frozenset(text for path in modules() for text in _texts_in(ast.parse(path.read_bytes())))


def _texts_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _keys_in_code() -> set[str]:
    return {
        text for text in _named() if re.fullmatch(r"[a-z]+(\.[a-z_*]+)+", text) and text.partition(".")[0] in _areas()
    }


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.replace(".", r"\.").replace("*", "[a-z_]+"))


def test_every_text_is_said_somewhere() -> None:
    """Where a whole area is asked for (`session.*`), the rest of the key stands somewhere too."""
    said, words = _keys_in_code(), _named()
    areas = {pattern for pattern in said if pattern.endswith(".*")}
    said = (said - areas) | {area[:-1] + word for area in areas for word in words if re.fullmatch(r"[a-z_*]+", word)}
    patterns = [_pattern(text) for text in said if "*" in text]
    unsaid = [key for key in english() if key not in said and not any(one.fullmatch(key) for one in patterns)]
    assert unsaid == []


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


def test_every_text_whose_area_is_filled_in_by_a_function_is_there() -> None:
    """A function that says `texts(f"session.{key}")` is given the rest of the key."""
    asked: set[str] = set()
    for path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        sayers = dict(_sayers(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _name(node.func) in sayers:
                area, at = sayers[_name(node.func)]
                said = node.args[at : at + 1]
                asked |= {area + str(key.value) for key in said if isinstance(key, ast.Constant)}
    assert len(asked) > 25
    assert [key for key in sorted(asked) if key not in english()] == []


def _sayers(tree: ast.Module) -> Iterator[tuple[str, tuple[str, int]]]:
    """The functions that take the rest of a key: the area, and which argument it is."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        taken = [argument.arg for argument in function.args.args if argument.arg != "self"]
        for node in ast.walk(function):
            if isinstance(node, ast.JoinedStr) and len(node.values) == 2:
                area, rest = node.values
                name = rest.value if isinstance(rest, ast.FormattedValue) else None
                known = isinstance(area, ast.Constant) and str(area.value).removesuffix(".") in _areas()
                if known and isinstance(name, ast.Name) and name.id in taken:
                    yield function.name, (ast.literal_eval(area), taken.index(name.id))


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
