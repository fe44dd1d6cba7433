"""The variables of a frame in scopes, as an editor shows them, and expressions, evaluated in the sandbox for
model-written code: without effects, within limits.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from itertools import count, islice
from typing import Any

from msgspec import Struct, field

from runtime.core.errors import DebugError, SandboxError
from runtime.language.placeholders import placeholders
from runtime.language.program import PlaybookSpec
from runtime.sandbox.executor import CodeSnippet, Sandbox
from runtime.sandbox.policy import check
from runtime.tape.state.frames import SHARED, FrameState
from runtime.tape.state.session import SessionState

_MAX_SHOWN_CHARS = 1000
"""The longest value on one line; its parts can be unfolded."""

_MAX_AT_ONCE = 1000
"""The number of a value's parts shown at once."""

_MAX_REFERENCES = 100_000
"""The number of values that an editor may unfold while sessions are stopped."""

_MAX_EXPRESSION_CHARS = 10_000

_VALUE = "debugged_value"
_DOLLAR = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\$(?=[A-Za-z_])""")


def names_of(state: SessionState, frame: FrameState, spec: PlaybookSpec | None) -> dict[str, Any]:
    """The values of plain names in a frame: its agent's variables, its arguments, its locals."""
    shared = _shared_by(state, frame)
    return {
        **({SHARED: shared} if shared is not None else {}),
        **state.agents[frame.agent].variables,
        **arguments_of(frame, spec),
        **frame.locals,
    }


def arguments_of(frame: FrameState, spec: PlaybookSpec | None) -> dict[str, Any]:
    """The arguments that are no variables of the agent."""
    kept = {param.name for param in spec.params if param.state} if spec is not None else set()
    return {name: value for name, value in frame.kwargs.items() if name not in kept}


def _shared_by(state: SessionState, frame: FrameState) -> dict[str, Any] | None:
    """The shared state of the frame's meeting; None outside of one."""
    meeting = state.meetings.get(frame.meeting or "")
    return None if meeting is None else {name: known.value for name, known in meeting.shared.items()}


class References(Struct):
    """The numbers by which an editor refers to values and frames while their session is stopped."""

    _of: dict[int, tuple[object, Any]] = field(default_factory=dict)
    _next: Iterator[int] = field(default_factory=lambda: count(1))

    def give(self, owner: object, what: Any) -> int:
        """A number for an object of `owner`."""
        if len(self._of) >= _MAX_REFERENCES:
            raise DebugError("too many values are unfolded; continue or step to close them")
        number = next(self._next)
        self._of[number] = (owner, what)
        return number

    def get(self, number: int) -> tuple[Any, Any]:
        """The owner and the object of a number. Raises DebugError when it is void."""
        try:
            return self._of[number]
        except KeyError:
            raise DebugError("this belongs to a session that is running again; look at where it stops next") from None

    def forget(self, owner: object) -> None:
        """Make the numbers of `owner` void."""
        self._of = {number: given for number, given in self._of.items() if given[0] is not owner}


def shown(references: References, owner: object, name: str, value: Any) -> dict[str, Any]:
    text = json.dumps(value, ensure_ascii=False, default=str)
    body: dict[str, Any] = {"name": name, "value": _cut(text), "type": type(value).__name__, "variablesReference": 0}
    if name.isidentifier():
        body["evaluateName"] = name
    if isinstance(value, list | dict) and value:
        body["variablesReference"] = references.give(owner, value)
        body["indexedVariables" if isinstance(value, list) else "namedVariables"] = len(value)
    return body


def parts(
    references: References, owner: object, value: Any, first: int, most: int, wanted: str | None
) -> list[dict[str, Any]]:
    """The parts of a value: `most` of them (0: all) from `first`; only the `wanted` kind, named or indexed."""
    if wanted is not None and wanted != ("indexed" if isinstance(value, list) else "named"):
        return []
    pairs: Iterator[tuple[str, Any]]
    if isinstance(value, list):
        pairs = ((f"[{index}]", value[index]) for index in range(max(0, first), len(value)))
    else:
        pairs = islice(((str(name), one) for name, one in value.items()), max(0, first), None)
    limit = min(most, _MAX_AT_ONCE) if most > 0 else _MAX_AT_ONCE
    return [shown(references, owner, name, one) for name, one in islice(pairs, limit)]


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}… ({len(text):,} characters in all)"


def scopes_of(state: SessionState, frame: FrameState, spec: PlaybookSpec | None) -> list[tuple[str, Mapping[str, Any]]]:
    own = {**arguments_of(frame, spec), **frame.locals}
    agent = state.agents[frame.agent]
    scopes: list[tuple[str, Mapping[str, Any]]] = [("Locals", own), (f"Agent {agent.klass}", agent.variables)]
    shared = _shared_by(state, frame)
    if shared is not None:
        scopes.append((f"Shared in meeting {frame.meeting}", shared))
    return scopes


class Expressions:
    """Evaluates over the variables of a frame. No function with an effect can be called."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def value(self, text: str, names: Mapping[str, Any]) -> Any:
        """The value of `text`, as data. Variables may be written with `$`. Raises DebugError."""
        tree = parsed(text)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        known = {name: value for name, value in names.items() if name in used}
        snippet = CodeSnippet(f"{_VALUE} = ({ast.unparse(tree)})", names=known, keep=(_VALUE,))
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
    if len(plain) > _MAX_EXPRESSION_CHARS:
        raise DebugError(f"an expression has at most {_MAX_EXPRESSION_CHARS:,} characters")
    try:
        tree = ast.parse(plain, mode="eval").body
        refused = check(ast.parse(f"{_VALUE} = ({ast.unparse(tree)})"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else str(error)
        raise DebugError(f"{text.strip()[:200]!r} is not an expression of Python: {why}") from error
    if refused is not None:
        raise DebugError(f"{text.strip()[:200]!r} cannot be evaluated here: {refused.message}")
    return tree
