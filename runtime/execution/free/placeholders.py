"""Placeholders in a playbook's description: `{expression}`, evaluated once when the playbook is called.

Those in words are left to the model, which sees the description.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from msgspec import Struct

from runtime.core.errors import JournalError, NoWorker, SandboxError, StorageError
from runtime.core.plain_text import error_text
from runtime.core.prompt_forms import foreign
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.drive import drive
from runtime.execution.frames.frame import Frame
from runtime.execution.free.scope import StatementScope
from runtime.execution.free.statement import SnippetBody, lower, with_variables
from runtime.execution.prompt.situation import shown_value
from runtime.language.instructions.evaluation import call_name
from runtime.language.placeholders import placeholders
from runtime.sandbox.executor import CodeSnippet
from runtime.sandbox.policy import check as check_policy
from runtime.tape.facts.frames import DescriptionFilled

POSITION = "d"
"""The prefix of the positions of placeholders' calls: `d0.1` is the second call of the first placeholder."""

MAX_PLACEHOLDER_CHARS = 20_000
"""The longest value of a placeholder."""

_VALUE = "placeholder_value"
_DATA = (str, int, float, list, tuple, dict, type(None))


class AuthorsPython(Protocol):
    """The Python of an agent class. It is the author's, as its placeholders are: what these name of it is evaluated
    outside of the sandbox."""

    def names(self) -> Collection[str]:
        """The names that its placeholders may use."""

    async def value_of(self, frame: Frame, source: str, values: Mapping[str, Any], prefix: str) -> Any:
        """The value of an expression, with `values` by name. The positions of its calls begin with `prefix`.

        Raises whatever the author's code raises.
        """


class PlaybookDescription(Struct, eq=False):
    """The description of a frame's playbook, with values in the place of its placeholders, and what its steps' words
    name of the agent's Python."""

    _context: ExecutionContext
    _frame: Frame
    _scope: StatementScope
    _python: AuthorsPython
    _template: str

    async def resolve(self) -> None:
        """Evaluate the placeholders, once for the frame. The results of calls are on the tape, so a restart does not
        repeat them.
        """
        state = self._frame.state
        if state.turn or state.description is not None or "{" not in self._template:
            return
        text, at = "", 0
        for number, placeholder in enumerate(one for one in placeholders(self._template) if one.code):
            value = await self._value(number, placeholder.code)
            written = self._template[placeholder.start : placeholder.end] if value is None else foreign(value)
            text += self._template[at : placeholder.start] + written
            at = placeholder.end
        self._context.journal.note(DescriptionFilled(self._frame.id, text + self._template[at:]))
        await self._context.journal.commit()

    def is_the_authors(self, source: str) -> bool:
        """Whether its names are known to the agent's Python and to Python itself, and one of them to the former."""
        names, own = self._unknown(ast.parse(source), self._scope.functions([source])), self._python.names()
        return any(name in own for name in names) and all(name in own or hasattr(builtins, name) for name in names)

    async def in_python(self, source: str, prefix: str) -> str:
        """The value of an expression in the agent's Python, as text. The positions of its calls begin with `prefix`.

        Raises whatever the author's code raises.
        """
        known = self._scope.names(self._frame.agent.variables)
        functions = self._scope.functions([source])
        tree = ast.parse(with_variables(source, known, functions))
        awaited = _awaited(tree, functions)
        value = await self._python.value_of(
            self._frame, awaited, {name: known[name] for name in _names(tree, ast.Load) & known.keys()}, prefix
        )
        return _shown(value if isinstance(value, _DATA) else str(value))

    def _unknown(self, tree: ast.AST, functions: Collection[str]) -> set[str]:
        owners = {name.partition(".")[0] for name in functions}
        known = self._scope.names(self._frame.agent.variables)
        own = _names(tree, ast.Store)  # those that an expression itself binds, in comprehensions
        return _names(tree, ast.Load) - own - owners - known.keys()

    async def _value(self, number: int, source: str) -> str | None:
        """The value of an expression; None if it uses an unknown name, which makes it text."""
        if self.is_the_authors(source):
            return await self._value_in_python(source, number)
        known = self._scope.names(self._frame.agent.variables)
        functions = self._scope.functions([source])
        tree = ast.parse(with_variables(source, known, functions))
        unknown = self._unknown(tree, functions)
        if check_policy(tree) is not None or any(not hasattr(builtins, name) for name in unknown):
            return None
        lowered = lower(f"{_VALUE} = {_awaited(tree, functions)}", (), functions)
        used = self._scope.used(self._frame.agent.variables, [lowered.source])
        snippet = CodeSnippet(lowered.source, names=used, functions=functions, keep=(_VALUE,))
        async with self._context.sandbox.evaluate(snippet) as evaluation:
            body = SnippetBody(evaluation, f"{POSITION}{number}")
            try:
                await drive(self._frame, body, self._frame.host, prefix=f"{POSITION}{number}.")
                value = dict(evaluation.kept).get(_VALUE)
            except NoWorker:
                raise
            except SandboxError as error:
                return f"(not known: {error})"
            if evaluation.error is not None:
                return f"(not known: {evaluation.error.type}: {evaluation.error.text})"
            return _shown(value)

    async def _value_in_python(self, source: str, number: int) -> str:
        try:
            return await self.in_python(source, f"{POSITION}{number}.")
        except (JournalError, StorageError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever the author's code raises is what stands there
            return f"(not known: {type(error).__name__}: {error_text(error)})"


class _Awaiting(ast.NodeTransformer):
    """Adds `await` to every call of a host function, wherever it is in an expression."""

    def __init__(self, functions: Collection[str]) -> None:
        self._functions = functions

    def visit_Await(self, node: ast.Await) -> ast.AST:
        self.generic_visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return ast.Await(node) if call_name(node.func) in self._functions else node


def _awaited(tree: ast.AST, functions: Collection[str]) -> str:
    return ast.unparse(ast.fix_missing_locations(_Awaiting(functions).visit(tree)))


def _names(tree: ast.AST, used_as: type[ast.expr_context]) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, used_as)}


def _shown(value: Any) -> str:
    if isinstance(value, str) and len(value) <= MAX_PLACEHOLDER_CHARS:
        return value
    return shown_value(value, MAX_PLACEHOLDER_CHARS)
