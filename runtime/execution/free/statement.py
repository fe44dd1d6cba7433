"""One statement of a reply: read, lowered to what the sandbox runs, and run as the body of its frame."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct, field

from runtime.execution.calls.table import SIGNATURES
from runtime.execution.frames.frame import FrameCall
from runtime.language.instructions.evaluation import call_name
from runtime.language.value_types import MARK, python_name, variable_name
from runtime.sandbox.executor import CallOutcome, HostCall, SnippetEvaluation
from runtime.sandbox.policy import bound_names
from runtime.tape.state.frames import CallRecord

CONTROL = frozenset({"Yld", "Return"})
"""Calls that end a turn; the code after them never runs."""

WAITS_FOR_NOBODY = frozenset({"call", "exit", "return"})
"""Words of a `Yld` that name nobody to wait for."""

MAX_MESSAGES = 50
"""Messages that one statement of a model may send."""

_MUTATORS = frozenset(
    {
        *("add", "append", "clear", "discard", "extend", "insert", "pop"),
        *("popitem", "remove", "reverse", "setdefault", "sort", "update"),
    }
)


@lru_cache(maxsize=64)
def parsed(source: str) -> ast.Module:
    """The syntax tree of a statement, which several look at and nobody changes."""
    return ast.parse(source)


@lru_cache(maxsize=256)
def nodes_in(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree that nobody changes any more, in no order that means anything: many rules look at them."""
    return tuple(ast.walk(tree))


class LoweredStatement(Struct, frozen=True):
    """A statement ready to run. `keep` are the locals it changes, `definition` is set for `def` and `import`."""

    source: str
    keep: tuple[str, ...]
    definition: bool


def lower(source: str, state_names: Collection[str], functions: Collection[str]) -> LoweredStatement:
    """Make every change of a state variable a `Var` call, and every call of a host function awaited.

    `source` parses. State variables are read by their plain names, so `await Var("x", 1)` also binds `x`.
    """
    tree = ast.parse(source)
    variables = {name for node in ast.walk(tree) if isinstance(node, ast.expr) and (name := _var_name(node))}
    rewriter = _Lowering(frozenset(state_names) | variables, frozenset(functions))
    body: list[ast.stmt] = []
    for node in tree.body:
        lowered = rewriter.visit(node)
        body.extend(lowered if isinstance(lowered, list) else [lowered])
    tree.body = body
    ast.fix_missing_locations(tree)
    definition = all(isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Import | ast.ImportFrom) for n in body)
    kept = assigned_names(tree) | mutated_names(tree)
    keep = () if definition else tuple(sorted(kept - rewriter.state_names))
    return LoweredStatement(ast.unparse(tree), keep, definition)


def with_dollars(source: str, dollar_names: Collection[str]) -> str:
    """`source` with each assignment to a name that was written with `$` made a `Var` call, declared or not."""
    return lower(source, dollar_names, ()).source if dollar_names else source


def assigned_names(tree: ast.AST) -> set[str]:
    """The names that `tree` binds, those inside of its functions and comprehensions included, but for parameters."""
    return {name for node in nodes_in(tree) if not isinstance(node, ast.arg) for name in bound_names(node)}


def mutated_names(tree: ast.AST) -> set[str]:
    """The names whose values `tree` changes in place: `x[0] = …`, `x.append(…)`."""
    roots: list[ast.expr] = []
    for node in nodes_in(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            roots.append(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
            roots.append(node.func.value)
    names: set[str] = set()
    for root in roots:
        while isinstance(root, ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name):
            names.add(root.id)
    return names


def called_names(source: str) -> set[str]:
    calls = (node for node in nodes_in(parsed(source)) if isinstance(node, ast.Call))
    return {name for call in calls if (name := call_name(call.func)) is not None}


class _Lowering(ast.NodeTransformer):
    def __init__(self, state_names: frozenset[str], functions: frozenset[str], *, binds: bool = True) -> None:
        self.state_names = state_names
        self._functions = functions
        self._binds = binds

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node  # its names are its own, and nothing can be awaited in it

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return _Lowering(frozenset(), self._functions, binds=False).generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        updates = self._updates(assigned_names(node.target))
        self.generic_visit(node)
        node.body = [*updates, *node.body]
        return node

    def _visit_test(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        node.test = self._asked(node.test)
        return self.generic_visit(node)

    visit_If = visit_While = visit_IfExp = _visit_test  # noqa: N815 - names of the base class

    def _asked(self, test: ast.expr) -> ast.expr:
        """A condition whose values are wanted: `if Ask(…) == "Yes"`."""
        match test:
            case ast.Compare():
                test.left = self._asked(test.left)
                test.comparators = [self._asked(value) for value in test.comparators]
            case ast.BoolOp():
                test.values = [self._asked(value) for value in test.values]
            case ast.UnaryOp():
                test.operand = self._asked(test.operand)
            case ast.NamedExpr():
                test.value = self._asked(test.value)
        return self._awaited(test)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.AST]:
        node.value = self._awaited(node.value)
        name = _var_name(node.value)
        if name is not None and self._binds:
            return ast.Assign(targets=[ast.Name(name, ast.Store())], value=node.value)
        return [node, *self._updates(mutated_names(node))]

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.AST]:
        node.value = self._awaited(node.value)
        match node.targets:
            case [ast.Name(id=name)] if name in self.state_names:
                if _var_name(node.value) != name:
                    node.value = _var(name, node.value)
                return node
        bound = {name for target in node.targets for name in assigned_names(target)}
        return [node, *self._updates(bound | mutated_names(node))]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.AST]:
        if node.value is None or not isinstance(node.target, ast.Name):
            return node
        return self.visit_Assign(ast.Assign(targets=[node.target], value=node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.AST]:
        node.value = self._awaited(node.value)
        if isinstance(node.target, ast.Name) and node.target.id in self.state_names:
            old = ast.Name(node.target.id, ast.Load())
            return self.visit_Assign(ast.Assign(targets=[node.target], value=ast.BinOp(old, node.op, node.value)))
        return [node, *self._updates(mutated_names(node))]

    def _updates(self, changed: set[str]) -> list[ast.stmt]:
        names = sorted(changed & self.state_names)
        return [ast.Assign(targets=[ast.Name(n, ast.Store())], value=_var(n, ast.Name(n, ast.Load()))) for n in names]

    def _awaited(self, value: ast.expr) -> ast.expr:
        inner = value.value if isinstance(value, ast.Await) else value
        if isinstance(inner, ast.Call) and call_name(inner.func) == "Var":
            inner.args = [self._awaited(argument) for argument in inner.args]
        if isinstance(value, ast.Call) and call_name(value.func) in self._functions:
            return ast.Await(value=value)
        return value


def _var(name: str, value: ast.expr) -> ast.expr:
    called = ast.Name("Var", ast.Load())
    call = ast.Call(func=called, args=[ast.Constant(variable_name(name)), value], keywords=[])
    return ast.Await(value=call)


def _var_name(value: ast.expr) -> str | None:
    if isinstance(value, ast.Await) and isinstance(value.value, ast.Call) and call_name(value.value.func) == "Var":
        first = value.value.args[0] if value.value.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            name = first.value.removeprefix("$")
            return python_name(name) if name.isidentifier() else None
    return None


class _Meaning(ast.NodeTransformer):
    def __init__(self, known: Collection[str], functions: Collection[str]) -> None:
        self._known = known
        self._functions = functions

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Name) or call_name(function) in self._functions:
            node.func = ast.Constant(None)
            self.generic_visit(node)
            node.func = function
            return node
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = python_name(node.id)
        return ast.copy_location(ast.Name(name, node.ctx), node) if name in self._known else node


def with_variables(source: str, known: Collection[str], functions: Collection[str]) -> str:
    """`source` with the names in Python of the variables that are `known` by such names, where they are not called:
    beside a variable `$sum`, `sum` is that variable, and `sum(prices)` is the call. `functions` may be called.
    """
    tree = ast.parse(source)
    marked = {name for name in known if name.endswith(MARK)}
    named = {python_name(node.id) for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return ast.unparse(_Meaning(marked, functions).visit(tree)) if marked & named else source


class SnippetBody(Struct):
    """A statement in the sandbox as the body of its frame. `control` is the `Yld` or `Return` that ended it."""

    evaluation: SnippetEvaluation
    index: int | str
    control: HostCall | None = None
    too_many: set[str] = field(default_factory=set)
    """The positions of messages beyond what one statement may send."""
    _messages: int = 0
    _started: bool = False

    async def quiet(self) -> None:
        if not self._started:
            self._started = True
            await self.evaluation.start()

    def take_calls(self) -> Sequence[FrameCall]:
        calls: list[FrameCall] = []
        for made in self.evaluation.take_calls():
            if made.name in CONTROL:
                self.control = made
                break
            call = FrameCall(f"{self.index}.{made.number}", made.name, made.args, made.kwargs)
            known = SIGNATURES.get(made.name)
            sends = known is not None and known.sends
            self._messages += sends
            if sends and self._messages > MAX_MESSAGES:
                self.too_many.add(call.pos)
            calls.append(call)
        return calls

    def take_cancelled(self) -> Sequence[FrameCall]:
        return ()

    async def hand(self, pos: str, record: CallRecord, /) -> None:
        await self.evaluation.resolve(int(pos.partition(".")[2]), CallOutcome(record.value, record.error))

    @property
    def ended(self) -> bool:
        return self.control is not None or self.evaluation.ended


def control_value(call: HostCall | FrameCall, name: str, default: Any = None) -> Any:
    """The one argument of `Step`, `Yld` or `Return`."""
    return call.args[0] if call.args else call.kwargs.get(name, default)
