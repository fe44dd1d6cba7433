"""The policy for model-written statements, judged by their syntax before they run.

The sandbox contains what gets past this. The policy exists so that a refusal comes early, names a rule and can be
told to the model; and so that what it may write stays within what the interpreter can run.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator

from msgspec import Struct

from runtime.sandbox.executor import MAX_INT_BITS

MAX_NODES = 3000
MAX_DEPTH = 60
MAX_TEXT_CHARS = 300_000

HOST_FUNCTIONS = frozenset({"Step", "Say", "Var", "Artifact", "Trigger", "Yld", "Return"})
"""Names that the runtime gives a statement and that it must not rebind."""

PURE_MODULES = frozenset({"asyncio", "collections", "datetime", "functools", "itertools", "json", "math", "re"})
"""Modules that only compute; of asyncio only `gather`. Chance and time are host calls."""

_STATEMENTS = (
    "Module Expr Assign AugAssign AnnAssign If For While Break Continue Pass Try ExceptHandler Raise Assert Import "
    "ImportFrom alias FunctionDef AsyncFunctionDef arguments arg Return Match match_case MatchValue MatchSingleton "
    "MatchSequence MatchMapping MatchStar MatchAs MatchOr"
)
_EXPRESSIONS = (
    "Await BoolOp NamedExpr BinOp UnaryOp Lambda IfExp Dict Set List Tuple ListComp SetComp DictComp GeneratorExp "
    "comprehension Compare Call keyword FormattedValue JoinedStr Constant Attribute Subscript Starred Name Slice"
)
_ALLOWED = tuple(getattr(ast, name) for name in f"{_STATEMENTS} {_EXPRESSIONS}".split())
_PLUMBING = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)

_NO_NAMES = (
    "open eval exec compile globals locals vars getattr setattr delattr input breakpoint dir help exit quit super "
    "memoryview classmethod staticmethod property"
)
_FORBIDDEN_NAMES = frozenset(_NO_NAMES.split())
_NO_ATTRIBUTES = (
    "f_back f_builtins f_code f_globals f_locals gi_frame gi_code cr_frame cr_code ag_frame ag_code tb_frame "
    "tb_next func_globals mro format_map os sys codecs builtins modules"
)
_FORBIDDEN_ATTRIBUTES = frozenset(_NO_ATTRIBUTES.split())
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Violation(Struct, frozen=True):
    """The reason why a statement may not run. `rule` is one word for records."""

    rule: str
    message: str


class _Place(Struct, frozen=True):
    """A node and its surroundings."""

    node: ast.AST
    depth: int
    in_function: bool
    parent: ast.AST | None


def check(tree: ast.AST, *, protected: frozenset[str] = HOST_FUNCTIONS) -> Violation | None:
    """The first violation of one statement (as a Module or by itself), or None when it may run.

    `protected` are names that it may not bind again.
    """
    too_big = check_size(tree)
    if too_big is not None:
        return too_big
    return next((found for place in _walk(tree) if (found := _judge(place, protected)) is not None), None)


def check_size(tree: ast.AST) -> Violation | None:
    """The reason why a tree is too big to be looked at any further, by code that goes into its depth, or to be written
    again."""
    text_chars = 0
    for nodes, place in enumerate(_walk(tree), start=1):
        value = place.node.value if isinstance(place.node, ast.Constant) else None
        if isinstance(value, str | bytes):
            text_chars += len(value)
        if isinstance(value, int) and value.bit_length() > MAX_INT_BITS:
            return Violation("size", f"a number has more than {MAX_INT_BITS} bits; use a shorter one")
        if nodes > MAX_NODES:
            return Violation("size", f"the statement is too long (more than {MAX_NODES} parts); split it")
        if text_chars > MAX_TEXT_CHARS:
            return Violation("size", f"the statement has more than {MAX_TEXT_CHARS} characters of text; split it")
        if place.depth > MAX_DEPTH:
            return Violation("size", f"the statement is nested more than {MAX_DEPTH} deep; use variables")
    return None


def _walk(tree: ast.AST) -> Iterator[_Place]:
    """All nodes, parents first, without recursion, because the tree may be deep on purpose."""
    waiting = [_Place(tree, 0, False, None)]
    while waiting:
        place = waiting.pop()
        yield place
        inside = place.in_function or isinstance(place.node, _SCOPES)
        children = [*ast.iter_child_nodes(place.node)]
        waiting.extend(_Place(child, place.depth + 1, inside, place.node) for child in reversed(children))


def _judge(place: _Place, protected: frozenset[str]) -> Violation | None:
    node = place.node
    if isinstance(node, _PLUMBING):
        return None
    if not isinstance(node, _ALLOWED):
        return Violation("syntax", f"'{_spoken(node)}' may not be used here")
    found = _judge_bindings(node, protected)
    if found is not None:
        return found
    match node:
        case ast.Name():
            return _judge_name(node, place.parent)
        case ast.Attribute():
            return _judge_attribute(node, place.parent)
        case ast.Import() | ast.ImportFrom():
            return _judge_import(node)
        case ast.Return() if not place.in_function:
            return Violation("syntax", "'return' outside a function; call Return(...)")
        case ast.comprehension(is_async=1):
            return Violation("syntax", "'async for' may not be used here")
    return None


def _judge_bindings(node: ast.AST, protected: frozenset[str]) -> Violation | None:
    for name in bound_names(node):
        if name in protected:
            return Violation("protected", f"'{name}' belongs to the runtime and may not be given another meaning")
        if name in _FORBIDDEN_NAMES or _is_dunder(name):
            return Violation("name", f"'{name}' may not be used here")
    return None


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a node itself binds."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case ast.alias():
            yield (node.asname or node.name).partition(".")[0]


def _judge_name(node: ast.Name, parent: ast.AST | None) -> Violation | None:
    if node.id in _FORBIDDEN_NAMES or _is_dunder(node.id):
        return Violation("name", f"'{node.id}' may not be used here")
    if node.id == "asyncio" and not (isinstance(parent, ast.Attribute) and parent.attr == "gather"):
        return Violation("import", "of asyncio only 'asyncio.gather(...)' may be used")
    return None


def _judge_attribute(node: ast.Attribute, parent: ast.AST | None) -> Violation | None:
    if node.attr.startswith("_") or node.attr in _FORBIDDEN_ATTRIBUTES:
        return Violation("attribute", f"the attribute '{node.attr}' may not be used here")
    if isinstance(node.ctx, ast.Store):
        return Violation("attribute", "attributes may not be assigned")
    if node.attr == "format" and not _is_plain_format(node, parent):
        return Violation("format", "'.format' needs a literal text with plain fields; use an f-string")
    return None


def _is_plain_format(node: ast.Attribute, parent: ast.AST | None) -> bool:
    """Whether it is `"literal".format(...)` whose fields reach into nothing."""
    called = isinstance(parent, ast.Call) and parent.func is node
    if not called or not isinstance(node.value, ast.Constant) or not isinstance(node.value.value, str):
        return False
    try:
        fields = list(string.Formatter().parse(node.value.value))
    except ValueError:
        return False
    return all(
        not set(".[") & set(name or "") and "{" not in (spec or "") and "_" not in (name or "")[:1]
        for _, name, spec, _ in fields
    )


def _judge_import(node: ast.Import | ast.ImportFrom) -> Violation | None:
    allowed = ", ".join(sorted(PURE_MODULES))
    modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    for module in modules:
        if module not in PURE_MODULES or (isinstance(node, ast.ImportFrom) and node.level > 0):
            return Violation("import", f"'{module or '.'}' may not be imported; allowed are {allowed}")
    for alias in node.names:
        taken_in = alias.name if isinstance(node, ast.ImportFrom) else ""
        if taken_in == "*" or taken_in.startswith("_") or taken_in in _FORBIDDEN_ATTRIBUTES | _FORBIDDEN_NAMES:
            return Violation("import", f"'{taken_in}' may not be imported")
        if modules[0] == "asyncio" and taken_in not in {"", "gather"}:
            return Violation("import", "of asyncio only 'gather' may be imported")
        if alias.name == "asyncio" and alias.asname:
            return Violation("import", "asyncio may not be renamed")
    return None


def _is_dunder(name: str) -> bool:
    """Whether a name is a dunder. `__` alone is the variable with a playbook's summary."""
    return name.startswith("__") and name != "__"


def _spoken(node: ast.AST) -> str:
    kind = type(node).__name__
    words = {
        "AsyncFor": "async for",
        "AsyncWith": "async with",
        "YieldFrom": "yield from",
        "ClassDef": "class",
        "Delete": "del",
        "TryStar": "except*",
    }
    return words.get(kind, kind.lower())
