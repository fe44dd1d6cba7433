"""The heading of a playbook, `Title($a:int = 1, b: str) -> float`, and names derived from headings."""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
import warnings

from msgspec import Struct

from runtime.language.diagnostics import DiagnosticList
from runtime.language.program import Param
from runtime.language.syntax.blocks import HeadingLine
from runtime.language.vocabulary.word_list import WORD

_PUBLIC = frozenset({"public", "exported", "export"})
_EXAMPLE = "For example: ## GetRate($country:str, year:int = 2026) -> float"
_BEFORE = "def f"

STATEMENTS = frozenset({"Say", "Step", "Var", "Return", "Yld", "Trigger"})
"""The statements of a model's replies, whose names no playbook can have."""


NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_AROUND = " \t:;.,!?*`~'\""
"""What people put around a name in a heading."""


class HeadingSignature(Struct, frozen=True):
    """The content of a heading. `public` when it was written `## public: Name(…)`."""

    name: str
    params: tuple[Param, ...]
    returns: str | None
    public: bool


def read_signature(heading: HeadingLine, problems: DiagnosticList) -> HeadingSignature | None:
    """The signature, or None with an error noted at its column."""
    word, _, behind = heading.text.partition(":")
    public = word.rstrip() in _PUBLIC
    text = behind.lstrip() if public else heading.text
    column = heading.column + len(heading.text) - len(text)
    title = min(text.partition("(")[0], text.partition("->")[0], key=len)
    rest = text[len(title) :]
    name = playbook_name(title.strip())
    if name is None:
        problems.at(heading.line, "a playbook needs a name of letters and digits", column=column, hint=_EXAMPLE)
        return None
    if is_taken(name):
        problems.at(heading.line, f"`{name}` means something else in calls", column=column, hint="Choose another name.")
    added = "" if rest.startswith("(") else "()"
    read = _read_rest(added + rest, heading, column + len(title) - len(added), problems)
    return None if read is None else HeadingSignature(name, *read, public)


def _read_rest(
    rest: str, heading: HeadingLine, column: int, problems: DiagnosticList
) -> tuple[tuple[Param, ...], str | None] | None:
    """Parameters and return type of `(…) -> …`, which begins at this column. `$` is one byte, as is `_`."""
    code = f"{_BEFORE}{rest.replace('$', '_')}: pass"

    def place(at: int) -> int:
        return column + min(max(at - len(_BEFORE), 0), len(rest) - 1)

    try:
        function = parse_python(code).body[0]
    except SyntaxError as error:
        message = f"this is not a signature: {_reason(error, rest)}"
        problems.at(heading.line, message, column=place((error.offset or 1) - 1), hint=_EXAMPLE)
        return None
    assert isinstance(function, ast.FunctionDef)
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        problems.at(heading.line, "a playbook has plain parameters only, no *, ** or /", column=column, hint=_EXAMPLE)
        return None
    original = (_BEFORE + rest).encode()

    def text(node: ast.expr) -> str:
        return original[node.col_offset : node.end_col_offset].decode()

    def chars(node: ast.expr | ast.arg) -> int:
        return len(original[: node.col_offset].decode())

    defaults: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults))
    params: list[Param] = []
    names: set[str] = set()
    for argument, default in zip(arguments.args, [*defaults, *arguments.defaults], strict=True):
        state = original[argument.col_offset : argument.col_offset + 1] == b"$"
        name = argument.arg[1:] if state else argument.arg
        name = name if name.isidentifier() else ""
        if not name or name in names:
            wrong = f"parameter {name!r} is given twice" if name else "a parameter needs a name"
            problems.at(heading.line, wrong, column=place(chars(argument)))
        if default is not None and not is_literal(default):
            message = f"the default of {name!r} must be a literal, not {text(default)}"
            problems.at(heading.line, message, column=place(chars(default)))
        names.add(name)
        params.append(
            Param(
                name,
                state,
                text(argument.annotation) if argument.annotation else None,
                text(default) if default is not None else None,
            )
        )
    return tuple(params), text(function.returns) if function.returns else None


def _reason(error: SyntaxError, rest: str) -> str:
    """The error in this language's words, because Python's own differ between versions."""
    if rest.count("(") > rest.count(")"):
        return "the parenthesis is never closed"
    if "default argument" in error.msg or "without a default" in error.msg:
        return "a parameter without a default comes after one that has a default"
    return "only `-> type` may follow the parameters" if error.msg == "expected ':'" else error.msg


def parse_python(code: str) -> ast.Module:
    """The tree of Python code. Every error becomes a SyntaxError, and no warnings are printed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "too deeply nested") from error


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is a literal, whose value `ast.literal_eval` gives."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def agent_name(text: str) -> str | None:
    """The class name of an agent: "Tax (US) agent" -> TaxUsAgent. None when there is no letter to begin with."""
    text = text.strip(_AROUND)
    one_word = text.isidentifier() and "_" not in text and text[0].title() == text[0]
    return unicodedata.normalize("NFKC", text) if one_word else camel_case(text)


def playbook_name(text: str) -> str | None:
    """The name of a playbook: one word stays as it is, "Redesign menu" -> RedesignMenu."""
    text = text.strip(_AROUND)
    return unicodedata.normalize("NFKC", text) if text.isidentifier() else camel_case(text)


def is_taken(name: str) -> bool:
    """Whether a name has another meaning where playbooks are called."""
    return keyword.iskeyword(name) or name in STATEMENTS


def spaced(name: str) -> str:
    """The words of a CamelCase name: HeadChef -> Head Chef."""
    return name if name.islower() else _HUMP.sub(" ", name)


def without_gaps(text: str) -> str:
    """A name without what stands between its words."""
    return "".join(text.replace("_", " ").replace("-", " ").split())


def camel_case(text: str) -> str | None:
    """Each word capitalised, with the rest in lower case, and only letters and digits kept."""
    text = unicodedata.normalize("NFKC", text).replace("'", "").replace("\u2019", "")
    words = WORD.findall(text.replace("_", " "))
    name = "".join(word.capitalize() for word in words)
    return name if name.isidentifier() and name.isprintable() else None
