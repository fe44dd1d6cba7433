"""Values in words with a single reading: "the result of Find($city)", "an empty list", "12 if $big, otherwise 3"."""

from __future__ import annotations

import ast
from functools import lru_cache

from msgspec.structs import replace

from runtime.language.instructions.conditions.reading import in_symbols, read_condition, read_worded_value
from runtime.language.instructions.expression import Expression, read_expression, telephone_in
from runtime.language.instructions.text import STRING, with_straight_quotes
from runtime.language.vocabulary.phrase import phrase

_TESTS = (ast.Compare, ast.BoolOp, ast.UnaryOp)
_NO_TESTS = (ast.Constant, ast.BinOp, ast.List, ast.Dict, ast.JoinedStr)


def result_of(text: str) -> str:
    """The call in "the result of Find($city)"; any other text as it is."""
    found = phrase("result of a call").begins(text.strip().rstrip(".;"))
    call = found["call"] if found else ""
    read = read_expression(call) if call else None
    return call if read is not None and isinstance(read.tree, ast.Call) else text


@lru_cache(maxsize=4096)
def read_value(text: str) -> Expression | None:
    """The exact value that a text is, in symbols or in words; None for prose."""
    found = telephone_in(text.strip().rstrip(";")) or read_expression(text)
    if found is not None:
        return _with_all(found)
    bare = with_straight_quotes(text.strip())
    said = bare if bare != text.strip() and read_expression(bare) is not None else _in_symbols(bare.rstrip(".;"))
    read = read_worded_value(bare.rstrip(".;")) if said is None else read_expression(said)
    return None if read is None else replace(read, source=text.strip())


def _with_all(found: Expression) -> Expression | None:
    """`$name and "x"` is both, in a list. None where it may be a test, or one is to be chosen: `$a or 5`."""
    tree = found.tree
    if not isinstance(tree, ast.BoolOp) or all(isinstance(part, _TESTS) for part in tree.values):
        return found
    plain = any(isinstance(part, _NO_TESTS) for part in tree.values)
    both = plain and isinstance(tree.op, ast.And) and not any(isinstance(part, _TESTS) for part in tree.values)
    return replace(found, tree=ast.List(tree.values, ast.Load())) if both else None


def _in_symbols(text: str) -> str | None:
    if (call := result_of(text)) != text:
        return call
    if named := phrase("value of").begins(text):
        return named["what"]
    if listed := phrase("a list of").begins(text):
        return listed["items"] if "[" in listed["items"] else f"[{', '.join(STRING.findall(listed['items']))}]"
    if empty := phrase("empty").begins(text):
        return "[]" if empty["list"] else "{}" if empty["dict"] else '""'
    word, _, whether = text.partition(" ")
    if word.lower() == "whether" and (test := read_condition(whether)) is not None:
        return in_symbols(test)
    either = phrase("either").begins(text)
    test = None if either is None else read_condition(either["test"])
    if either is None or test is None:
        return None
    first, second = (_side(either[side].strip()) for side in ("first", "second"))
    return None if first is None or second is None else f"({first}) if ({in_symbols(test)}) else ({second})"


def _side(text: str) -> str | None:
    """One of two values, in symbols; None for prose."""
    if text.lower() == "nothing":
        return "None"
    return text if read_expression(text) is not None else _in_symbols(text)
