"""Values in words with a single reading: "the result of Find($city)", "an empty list", "12 if $big, otherwise 3"."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import lru_cache

from runtime.language.instructions.conditions.reading import in_symbols, read_condition, read_worded_value
from runtime.language.instructions.expression import Expression, read_expression
from runtime.language.instructions.text import with_straight_quotes

_TESTS = (ast.Compare, ast.BoolOp, ast.UnaryOp)
_NO_TESTS = (ast.Constant, ast.BinOp, ast.List, ast.Dict, ast.JoinedStr)
_PATH = r"(?:\.\w+|\[[^\]]*\])*"
_RESULT_OF = re.compile(
    r"(?:the\s+)?(?:results?|outputs?|return(?:ed)?\s+value|value)\s+(?:of|from|returned\s+by|given\s+by)\s+"
    r"(?:(?:a\s+|the\s+)?(?:call(?:ing)?(?:\s+(?:to|of))?|running|executing)\s+)?(?P<call>[^\W\d][\w.]*\(.*\))\Z"
    r"|what\s+(?P<called>[^\W\d][\w.]*\(.*\))\s+(?:returns|gives|says)\Z",
    re.IGNORECASE | re.DOTALL,
)
_VALUE_OF = re.compile(rf"(?:the\s+)?(?:current\s+)?value\s+of\s+(\$[^\W\d]\w*{_PATH})\Z", re.IGNORECASE)
_EMPTY = re.compile(
    r"(?:an?\s+|the\s+)?empty\s+(?:(?P<list>list|array)|(?P<dict>dict|dictionary|object|map)|string|text)\Z",
    re.IGNORECASE,
)
_EITHER = re.compile(
    r"(?P<first>[^,;]+?)\s+(?:if|when)\s+(?P<test>.+?)\s*[,;]?\s+(?:otherwise|else)\s+(?:return\s+)?(?P<second>[^,;]+)\Z",
    re.IGNORECASE | re.DOTALL,
)


def result_of(text: str) -> str:
    """The call in "the result of Find($city)"; any other text as it is."""
    found = _RESULT_OF.match(text.strip().rstrip(".;"))
    call = (found["call"] or found["called"]) if found else ""
    read = read_expression(call) if call else None
    return call if read is not None and isinstance(read.tree, ast.Call) else text


@lru_cache(maxsize=4096)
def read_value(text: str) -> Expression | None:
    """The exact value that a text is, in symbols or in words; None for prose."""
    found = read_expression(text)
    if found is not None:
        return _with_all(found)
    bare = with_straight_quotes(text.strip())
    said = bare if bare != text.strip() and read_expression(bare) is not None else _in_symbols(bare.rstrip(".;"))
    read = read_worded_value(bare.rstrip(".;")) if said is None else read_expression(said)
    return None if read is None else replace(read, source=text.strip())


def _with_all(found: Expression) -> Expression | None:
    """`$name and "x"` as a value is both, in a list. None where it may be a test as well, as `$a and $b` is, and where
    one of several values is to be chosen: `$a or 5`."""
    tree = found.tree
    if not isinstance(tree, ast.BoolOp) or all(isinstance(part, _TESTS) for part in tree.values):
        return found
    plain = any(isinstance(part, _NO_TESTS) for part in tree.values)
    both = plain and isinstance(tree.op, ast.And) and not any(isinstance(part, _TESTS) for part in tree.values)
    return replace(found, tree=ast.List(tree.values, ast.Load())) if both else None


def _in_symbols(text: str) -> str | None:
    if (call := result_of(text)) != text:
        return call
    if named := _VALUE_OF.match(text):
        return named[1]
    if empty := _EMPTY.match(text):
        return "[]" if empty["list"] else "{}" if empty["dict"] else '""'
    word, _, whether = text.partition(" ")
    if word.lower() == "whether" and (test := read_condition(whether)) is not None:
        return in_symbols(test)
    either = _EITHER.match(text)
    test = None if either is None else read_condition(either["test"])
    if either is None or test is None:
        return None
    first, second = (_side(either[side].strip()) for side in ("first", "second"))
    if first is None or second is None:
        return None
    return f"({first}) if ({in_symbols(test)}) else ({second})"


def _side(text: str) -> str | None:
    """One of two values, in symbols; None for prose."""
    if text.lower() == "nothing":
        return "None"
    return text if read_expression(text) is not None else _in_symbols(text)
