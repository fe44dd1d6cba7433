"""The verification contract: the model proposes a statement, the runtime says whether it is a legal next one."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence

from runtime.core.errors import UnknownTarget
from runtime.execution.calls.table import SIGNATURES
from runtime.execution.free.scope import Position, Rejected
from runtime.execution.free.statement import (
    CONTROL,
    WAITS_FOR_NOBODY,
    assigned_names,
    mutated_names,
    nodes_in,
    parsed,
)
from runtime.language.instructions.evaluation import call_name
from runtime.language.value_types import MARK, coerced, variable_name
from runtime.sandbox.policy import HOST_FUNCTIONS, bound_names, check_size
from runtime.sandbox.policy import check as check_policy

_IN_THE_REPLY = frozenset({"Step", "Trigger", "Yld", "Return"})
"""Calls that say where control is: they stand in the reply itself."""


def verify_size(source: str) -> Rejected | None:
    """None when a statement, which parses, is small enough to be rewritten, compared and verified, else why not."""
    violation = check_size(parsed(source))
    return None if violation is None else Rejected("policy", f"{violation.message} ({violation.rule})", source)


def verify(source: str, position: Position) -> Rejected | None:
    """None when the statement may run in `position`, else why not. Nothing of it has run or been shown."""
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError) as error:
        return Rejected("parse", f"this is not Python: {error}", source)
    violation = check_policy(tree, protected=HOST_FUNCTIONS | SIGNATURES.keys())
    if violation is not None:
        return Rejected("policy", f"{violation.message} ({violation.rule})", source)
    if position.ended:
        return Rejected("end", "nothing may follow Return or Yld", source)
    rules = (_check_names, _check_use, _check_calls, _check_steps, _check_end, _check_fence)
    for rule in rules:
        rejected = rule(tree, position)
        if rejected is not None:
            return Rejected(rejected.rule, rejected.message, source)
    return None


def verify_say_head(target: str, position: Position) -> Rejected | None:
    """None when a `Say` to `target` may begin to be shown in `position`."""
    if position.ended:
        return Rejected("end", "nothing may follow Return or Yld")
    refused = position.fenced.refuses("Say", target) if position.fenced is not None else None
    if refused is not None:
        return Rejected("fence", refused)
    return _check_literal(position.check_target, target, "target")


def calls_in(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """The calls of a statement in their order, by the names they use."""
    nodes = [node for node in nodes_in(tree) if isinstance(node, ast.Call)]
    for node in sorted(nodes, key=lambda n: (n.lineno, n.col_offset)):
        name = call_name(node.func)
        if name is not None:
            yield name, node


def _check_names(tree: ast.AST, position: Position) -> Rejected | None:
    bound = {name for node in nodes_in(tree) for name in bound_names(node)}
    agents = {name.partition(".")[0] for name in position.functions if "." in name}
    closed = {name.partition(".")[0] for name in position.closed}
    for name in sorted((assigned_names(tree) | mutated_names(tree)) & position.read_only):
        return Rejected("name", f"{name} is only read; `await Share(name, value)` sets a value for all in the meeting")
    for name in sorted(set(_bound_aside(tree)) & position.variables):
        return Rejected("name", f"${name} is set by `{name} = …`, and this would hide it; use another name here")
    for node in nodes_in(tree):
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        known = node.id in bound or node.id in position.names or node.id in position.functions
        known = known or node.id in agents or node.id in position.unlisted or node.id in closed
        if known or hasattr(builtins, node.id) or node.id == "asyncio":
            continue
        shown = sorted(f"${variable_name(name)}" if name.endswith(MARK) else name for name in position.names)
        return Rejected("name", f"{node.id!r} is not known here; known are {', '.join(shown) or 'no variables yet'}")
    return None


def _bound_aside(tree: ast.AST) -> Iterator[str]:
    """The names that a statement binds in other ways than by an assignment or a loop, which no variable is set by."""
    for node in nodes_in(tree):
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
        elif not isinstance(node, ast.Name | ast.arg):
            yield from bound_names(node)


def _check_calls(tree: ast.AST, position: Position) -> Rejected | None:
    agents = {name.partition(".")[0] for name in position.functions if "." in name}
    if _says_perhaps(tree):
        return Rejected("say", "a Say that depends on something must be below an `if`, not inside an expression")
    for name, node in calls_in(tree):
        shape = position.functions.get(name)
        if shape is None:
            owner, _, playbook = name.partition(".")
            if owner in position.unlisted:
                continue
            public = ", ".join(sorted(f for f in position.functions if f.startswith(f"{owner}.")))
            there_are = f"; public are {public}" if public else ""
            if name in position.closed:
                wrong = f"{playbook} of {owner} is not public, so other agents cannot call it"
                return Rejected("call", f"{wrong}{there_are}")
            if owner in agents and playbook:
                return Rejected("call", f"{owner} has no playbook {playbook}{there_are}")
            continue
        mismatch = shape.mismatch(node)
        if mismatch is not None:
            known = SIGNATURES.get(name)
            return Rejected("arguments", f"{name} {mismatch if known is None else known.corrected(mismatch)}")
        rejected = _check_meaning(name, [shape.argument(node, index) for index in (0, 1)], position)
        if rejected is not None:
            return rejected
    return None


def _check_use(tree: ast.AST, position: Position) -> Rejected | None:
    """Whether host functions are called where they are named: what is passed on, or put into a function, is executed
    where nobody has looked."""
    called, named, functions = set[int](), list[ast.Name](), list[ast.AST]()
    for node in nodes_in(tree):
        if isinstance(node, ast.Call):
            called.add(id(node.func))
        elif isinstance(node, ast.Name) and node.id in HOST_FUNCTIONS:
            named.append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            functions.append(node)
    for node in named:
        if id(node) not in called:
            return Rejected(
                "call", f"{node.id} is called where it is named, as `await {node.id}(…)`, and not passed on"
            )
    for name in (name for node in functions for name, _ in calls_in(node) if name in _IN_THE_REPLY):
        return Rejected("call", f"{name} must be in the reply itself, not in a function")
    return None


def _says_perhaps(tree: ast.AST) -> bool:
    """Whether an expression says something only in some cases: its text would be shown before that is known."""
    choosing = (node for node in nodes_in(tree) if isinstance(node, ast.IfExp | ast.BoolOp))
    return any(name == "Say" for node in choosing for name, _ in calls_in(node))


def _check_meaning(name: str, arguments: Sequence[ast.expr | None], position: Position) -> Rejected | None:
    first, second = arguments
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
    if name == "Say" and text is not None:
        return _check_literal(position.check_target, text, "target")
    if name == "Yld" and text is not None and text.strip().lower() not in WAITS_FOR_NOBODY:
        return _check_literal(position.check_source, text, "source")
    if name == "Trigger" and text is not None:
        return _check_trigger(text, position)
    if name == "Var" and text is not None and second is not None:
        return _check_type(text.removeprefix("$"), second, position)
    return None


def _check_trigger(code: str, position: Position) -> Rejected | None:
    """Whether it is `Agent:Playbook:T1:CND`, or a part of that."""
    parts = code.split(":")
    keys = [":".join(parts[at : at + length]) for length in (3, 2) for at in range(len(parts) - length + 1)]
    if any(key in position.triggers for key in keys):
        return None
    known = ", ".join(sorted(position.triggers)) or "none"
    return Rejected("trigger", f"there is no trigger {code!r}; this agent has {known}")


def _check_literal(check: Callable[[str], object], text: str, rule: str) -> Rejected | None:
    try:
        check(text)
    except UnknownTarget as error:
        return Rejected(rule, str(error))
    return None


def _check_type(name: str, value: ast.expr, position: Position) -> Rejected | None:
    declared = position.types.get(name)
    if declared is None:
        return None
    try:
        literal = ast.literal_eval(value)
    except (ValueError, TypeError):
        return None
    try:
        coerced(literal, declared)
    except ValueError as error:
        return Rejected("type", f"${name} {error}")
    return None


def _check_steps(tree: ast.AST, position: Position) -> Rejected | None:
    for name, node in calls_in(tree):
        if name == "Step" and (node.args or node.keywords):
            first = node.args[0] if node.args else node.keywords[0].value
            if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
                return Rejected("step", "a Step is named by its text, as in the program")
            if not _is_step(first.value, position):
                return Rejected("step", f"there is no step {first.value!r} in {position.playbook}")
    return None


def _is_step(location: str, position: Position) -> bool:
    parts = location.split(":")
    named = len(parts) == 3 and parts[0].rpartition(".")[2] == position.playbook
    return named and position.steps.get(parts[1]) == parts[2]


def _check_end(tree: ast.AST, position: Position) -> Rejected | None:
    blocks = (getattr(node, name, None) for node in nodes_in(tree) for name in ("body", "orelse", "finalbody"))
    for statement in (one for block in blocks if isinstance(block, list) for one in block[:-1]):
        if _is_control(statement):
            return Rejected("end", f"nothing may follow {ast.unparse(statement)}")
    if not position.may_end_program and any(name == "EndProgram" for name, _ in calls_in(tree)):
        return Rejected("fence", "this step does not end the program; the block ends when the step is done")
    return None


def _check_fence(tree: ast.AST, position: Position) -> Rejected | None:
    """Whether the statement keeps to its step, as far as its text tells; what it really does is looked at again."""
    fenced = position.fenced
    if fenced is None:
        return None
    refused = [fenced.refuses(name, _first_text(node)) for name, node in calls_in(tree)]
    changed = sorted(map(variable_name, (assigned_names(tree) | mutated_names(tree)) & position.variables))
    refused += [fenced.fence.refuses_change(name) for name in changed]
    if fenced.owes and isinstance(tree, ast.Module) and _returns(tree):
        refused.append(owed(fenced.owes))
    return next((Rejected("fence", one) for one in refused if one is not None), None)


def owed(names: Sequence[str]) -> str:
    return f"the step is not done: {' and '.join(f'${name}' for name in names)} has no value yet"


def _first_text(node: ast.Call) -> str | None:
    first = node.args[0] if node.args else node.keywords[0].value if node.keywords else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def _returns(tree: ast.Module) -> bool:
    last = tree.body[-1] if tree.body else None
    return isinstance(last, ast.Expr) and any(name == "Return" for name, _ in calls_in(last))


def _is_control(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    inner = value.value if isinstance(value, ast.Await) else value
    return isinstance(inner, ast.Call) and call_name(inner.func) in CONTROL


def ends_turn(source: str) -> bool:
    body = parsed(source).body
    return bool(body) and _is_control(body[-1])
