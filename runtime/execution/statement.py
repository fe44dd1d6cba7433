"""One statement of a reply: read, lowered to what the sandbox runs, and run as the body of its frame."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.execution.frame import Call, Handed
from runtime.sandbox.executor import Evaluation, HostCall, Outcome

CONTROL = frozenset({"Yld", "Return"})
"""Calls that end a turn; the code after them never runs."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A statement ready to run. `keep` are the locals it assigns, `definition` is set for `def` and `import`."""

    source: str
    keep: tuple[str, ...]
    definition: bool


def lower(source: str, state_names: Collection[str], functions: Collection[str]) -> Lowered:
    """Make every assignment to a state variable a `Var` call, and every call of a host function awaited.

    `source` parses. State variables are read by their plain names, so `await Var("x", 1)` also binds `x`.
    """
    tree = ast.parse(source)
    rewriter = _Lowering(frozenset(state_names), frozenset(functions))
    body: list[ast.stmt] = []
    for node in tree.body:
        lowered = rewriter.visit(node)
        body.extend(lowered if isinstance(lowered, list) else [lowered])
    tree.body = body
    ast.fix_missing_locations(tree)
    definition = all(isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Import | ast.ImportFrom) for n in body)
    keep = () if definition else tuple(sorted(assigned_names(tree) - rewriter.state_names))
    return Lowered(ast.unparse(tree), keep, definition)


def assigned_names(tree: ast.AST) -> set[str]:
    """The names that running `tree` binds at its top level."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
    return names


def call_name(node: ast.expr) -> str | None:
    """`Name` or `Agent.Playbook`, when `node` is written so."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return None


class _Lowering(ast.NodeTransformer):
    def __init__(self, state_names: frozenset[str], functions: frozenset[str]) -> None:
        self.state_names = state_names
        self._functions = functions

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        node.value = self._awaited(node.value)
        name = _var_name(node.value)
        if name is not None:
            return ast.Assign(targets=[ast.Name(name, ast.Store())], value=node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.AST]:
        node.value = self._awaited(node.value)
        match node.targets:
            case [ast.Name(id=name)] if name in self.state_names:
                if _var_name(node.value) != name:
                    node.value = _var(name, node.value)
                return node
        return [node, *self._updates(node)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None or not isinstance(node.target, ast.Name):
            return node
        return self._one(ast.Assign(targets=[node.target], value=node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if isinstance(node.target, ast.Name) and node.target.id in self.state_names:
            old = ast.Name(node.target.id, ast.Load())
            return self._one(ast.Assign(targets=[node.target], value=ast.BinOp(old, node.op, node.value)))
        return node

    def _one(self, node: ast.Assign) -> ast.AST:
        lowered = self.visit_Assign(node)
        return lowered[0] if isinstance(lowered, list) else lowered

    def _updates(self, node: ast.Assign) -> list[ast.AST]:
        names = sorted(assigned_names(node) & self.state_names)
        return [ast.Assign(targets=[ast.Name(n, ast.Store())], value=_var(n, ast.Name(n, ast.Load()))) for n in names]

    def _awaited(self, value: ast.expr) -> ast.expr:
        if isinstance(value, ast.Call) and call_name(value.func) in self._functions:
            return ast.Await(value=value)
        return value


def _var(name: str, value: ast.expr) -> ast.expr:
    call = ast.Call(func=ast.Name("Var", ast.Load()), args=[ast.Constant(name), value], keywords=[])
    return ast.Await(value=call)


def _var_name(value: ast.expr) -> str | None:
    if isinstance(value, ast.Await) and isinstance(value.value, ast.Call) and call_name(value.value.func) == "Var":
        first = value.value.args[0] if value.value.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            name = first.value.removeprefix("$")
            return name if name.isidentifier() else None
    return None


@dataclass(slots=True)
class SnippetBody:
    """A statement in the sandbox as the body of its frame. `control` is the `Yld` or `Return` that ended it."""

    evaluation: Evaluation
    index: int
    control: HostCall | None = None
    _started: bool = False

    async def quiet(self) -> None:
        if not self._started:
            self._started = True
            await self.evaluation.start()

    def take_calls(self) -> Sequence[Call]:
        calls: list[Call] = []
        for made in self.evaluation.take_calls():
            if made.name in CONTROL:
                self.control = made
                break
            calls.append(Call(f"{self.index}.{made.number}", made.name, made.args, made.kwargs))
        return calls

    def take_cancelled(self) -> Sequence[Call]:
        return ()

    async def hand(self, result: Handed, /) -> None:
        outcome = Outcome(result.value, result.error)
        await self.evaluation.resolve(int(result.pos.partition(".")[2]), outcome)

    @property
    def ended(self) -> bool:
        return self.control is not None or self.evaluation.ended


def control_value(call: HostCall, name: str, default: Any = None) -> Any:
    """The one argument of `Yld` or `Return`."""
    if call.args:
        return call.args[0]
    return call.kwargs.get(name, default)
