"""Expressions of the debugger, evaluated in the sandbox for model-written code: without effects, within limits."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from runtime.core.errors import DebugError, SandboxError
from runtime.language.placeholders import placeholders
from runtime.sandbox.executor import Sandbox, Snippet
from runtime.sandbox.policy import check

MAX_EXPRESSION_CHARS = 10_000

_VALUE = "debugged_value"
_DOLLAR = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\$(?=[A-Za-z_])""")


class Expressions:
    """Evaluates over the variables of a frame. No function with an effect can be called."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def value(self, text: str, names: Mapping[str, Any]) -> Any:
        """The value of `text`, as data. Variables may be written with `$`. Raises DebugError."""
        tree = parsed(text)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        known = {name: value for name, value in names.items() if name in used}
        snippet = Snippet(f"{_VALUE} = ({ast.unparse(tree)})", names=known, keep=(_VALUE,))
        try:
            async with self._sandbox.evaluate(snippet) as evaluation:
                await evaluation.start()
                if evaluation.error is not None:
                    raise DebugError(f"{evaluation.error.type}: {evaluation.error.text}")
                return dict(evaluation.kept).get(_VALUE)
        except SandboxError as error:
            raise DebugError(str(error)) from error

    async def filled(self, template: str, names: Mapping[str, Any]) -> str:
        """A text with the values of its `{expressions}`; one that cannot be evaluated shows the reason."""
        text, at = "", 0
        for one in placeholders(template):
            text += template[at : one.start] + await self._shown(one.said, names)
            at = one.end
        return text + template[at:]

    async def _shown(self, expression: str, names: Mapping[str, Any]) -> str:
        try:
            value = await self.value(expression, names)
        except DebugError as error:
            return f"<{error}>"
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parsed(text: str) -> ast.expr:
    """The syntax tree of an expression. Raises DebugError for one that is wrong or not allowed."""
    plain = _DOLLAR.sub(lambda match: match[1] or "", text.strip())
    if len(plain) > MAX_EXPRESSION_CHARS:
        raise DebugError(f"an expression has at most {MAX_EXPRESSION_CHARS:,} characters")
    try:
        tree = ast.parse(plain, mode="eval").body
        refused = check(ast.parse(f"{_VALUE} = ({ast.unparse(tree)})"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else str(error)
        raise DebugError(f"{text.strip()[:200]!r} is not an expression of Python: {why}") from error
    if refused is not None:
        raise DebugError(f"{text.strip()[:200]!r} cannot be evaluated here: {refused.message}")
    return tree
