"""The author's Python: fences, and the functions in them that are playbooks."""

from __future__ import annotations

import ast
from typing import Any

from runtime.language.diagnostics import DiagnosticList, SourceLine
from runtime.language.program import Param, PythonFence
from runtime.language.syntax.blocks import FencedBlock
from runtime.language.syntax.metadata import PLAYBOOK_KEYS, misspelt_key
from runtime.language.syntax.nodes import ListItem, ParsedPlaybook
from runtime.language.syntax.signature import is_literal, is_taken, parse_python

PUBLIC_JSON = "public.json"
_KEYS = PLAYBOOK_KEYS | {"triggers"}
_LANGUAGES = frozenset({"python", "py", "python3"})


def is_python(fence: FencedBlock) -> bool:
    """Whether the fence contains the program's code."""
    return fence.language in _LANGUAGES


def is_code(fence: FencedBlock) -> bool:
    """Whether the fence is meant for the machine, and no part of the prose."""
    return is_python(fence) or fence.language == PUBLIC_JSON


def read_fence(fence: FencedBlock, problems: DiagnosticList) -> tuple[PythonFence, list[ParsedPlaybook]]:
    """The unindented code, none if it is not Python, and the functions marked `@playbook`, whose triggers are still
    plain text."""
    reader = _FenceReader(fence, problems)
    first = fence.lines[0] if fence.lines else fence.opening
    playbooks = reader.playbooks()
    return PythonFence(reader.source, first.span(fence.indent + 1)), playbooks


class _FenceReader:
    def __init__(self, fence: FencedBlock, problems: DiagnosticList) -> None:
        self._fence = fence
        self._problems = problems
        self._cuts = [min(fence.indent, line.content_column - 1) for line in fence.lines]
        self.source = "\n".join(line.text[cut:] for line, cut in zip(fence.lines, self._cuts, strict=True))

    def playbooks(self) -> list[ParsedPlaybook]:
        try:
            tree = parse_python(self.source)
        except SyntaxError as error:
            row = min(error.lineno or 1, len(self._fence.lines))
            column = max(1, error.offset or 1) + self._cuts[row - 1]
            self._problems.at(self._fence.lines[row - 1], f"this is not Python: {error.msg}", column=column)
            self.source = ""
            return []
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        return [
            self._playbook(node, decorator)
            for node in functions
            for decorator in node.decorator_list
            if is_playbook(decorator)
        ]

    def _playbook(self, node: ast.FunctionDef | ast.AsyncFunctionDef, decorator: ast.expr) -> ParsedPlaybook:
        triggers: list[ListItem] = []
        metadata: dict[str, Any] = {}
        if is_taken(node.name):
            self._problem_at(node, f"`{node.name}` means something else in calls: choose another name")
        if isinstance(decorator, ast.Call):
            for argument in decorator.args:
                triggers += self._triggers(argument)
            for keyword in decorator.keywords:
                if keyword.arg == "triggers":
                    triggers += self._triggers(keyword.value)
                elif keyword.arg is None:
                    self._problem_at(keyword.value, "@playbook takes names and literals, not **")
                else:
                    if meant := misspelt_key(keyword.arg, _KEYS):
                        line, column = self._place(keyword)
                        message, hint = f"there is no key `{keyword.arg}`", f"Did you mean {meant}?"
                        self._problems.warn(line, message, column=column, hint=hint)
                    metadata[keyword.arg] = self._literal(keyword.value)
        doc = (ast.get_docstring(node) or "").strip().split("\n", 1)[0].strip()
        line, column = self._place(node)
        return ParsedPlaybook(
            node.name,
            "python",
            line.span(column),
            _params(node.args),
            ast.unparse(node.returns) if node.returns else None,
            str(metadata.pop("description", "") or doc),
            metadata,
            tuple(triggers),
        )

    def _triggers(self, node: ast.expr) -> list[ListItem]:
        elements = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else [node]
        items = []
        for element in elements:
            if isinstance(element, ast.Constant) and isinstance(element.value, str) and element.value.strip():
                line, column = self._place(element)
                text, shown = " ".join(element.value.split()), line.text[line.shift :]
                items.append(ListItem(text, line.span(column), source_line=shown))
            else:
                self._problem_at(element, 'a trigger is a text, for example triggers=["When the user asks for help"]')
        return items

    def _literal(self, node: ast.expr) -> Any:
        if is_literal(node):
            return ast.literal_eval(node)
        self._problem_at(node, f"@playbook takes literals, not {ast.unparse(node)}")
        return None

    def _problem_at(self, node: ast.expr | ast.stmt, message: str) -> None:
        line, column = self._place(node)
        self._problems.at(line, message, column=column)

    def _place(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[SourceLine, int]:
        line, cut = self._fence.lines[node.lineno - 1], self._cuts[node.lineno - 1]
        return line, len(line.text[cut:].encode()[: node.col_offset].decode(errors="ignore")) + cut + 1


def is_playbook(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(target, ast.Name) and target.id == "playbook"


def _params(arguments: ast.arguments) -> tuple[Param, ...]:
    """The named parameters, without *args and **kwargs, whose names are unknown."""
    named = [*arguments.posonlyargs, *arguments.args]
    missing = [None] * (len(named) - len(arguments.defaults))
    defaults = (*missing, *arguments.defaults, *arguments.kw_defaults)
    return tuple(
        Param(
            argument.arg,
            type=ast.unparse(argument.annotation) if argument.annotation else None,
            default=ast.unparse(default) if default is not None else None,
        )
        for argument, default in zip((*named, *arguments.kwonlyargs), defaults, strict=True)
    )
