"""The variables that an instruction reads and sets, and its effects that cannot be undone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from msgspec import Struct

from runtime.language.instructions import model as steps
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.lookups import calls_before, operand_of_part
from runtime.language.value_types import variable_name


def reads(instruction: steps.Instruction) -> frozenset[str]:
    """The variables that the runtime reads when it executes the instruction."""
    return frozenset(name for part in instruction.parts for one in _operands(part) for name in one.names)


def _operands(part: steps.Meaning) -> Iterator[Expression | steps.Template]:
    given = [argument.value for argument in part.arguments] if isinstance(part, steps.Call) else [operand_of_part(part)]
    yield from (one for one in given if isinstance(one, Expression | steps.Template))
    yield from calls_before(part)


def sets(instruction: steps.Instruction) -> frozenset[str]:
    """The variables that it sets."""
    return frozenset(target.name for part in instruction.parts for target in _targets(part))


def _targets(part: steps.Meaning) -> tuple[steps.VariableTarget, ...]:
    match part:
        case steps.Ask(wants=targets) | steps.Set(variables=targets):
            return targets
        case steps.Call(result=target) | steps.Loop(variable=target) if target is not None:
            return (target,)
    return ()


def sets_texts(instruction: steps.Instruction) -> frozenset[str]:
    """The variables that it surely sets to a text."""
    return _sets_all(instruction, is_text, "str")


def sets_lists(instruction: steps.Instruction) -> frozenset[str]:
    """The variables that it surely sets to a list."""
    return _sets_all(instruction, lambda tree: isinstance(tree, ast.List | ast.ListComp), "list")


def sets_numbers(instruction: steps.Instruction) -> frozenset[str]:
    """The variables that it surely sets to a number."""
    return _sets_all(instruction, _is_number, "int") | _sets_all(instruction, _is_number, "float")


def _is_number(tree: ast.expr) -> bool:
    match tree:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(op=ast.USub(), operand=one):
            return _is_number(one)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _is_number(left) or _is_number(right)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return not (is_text(left) or is_text(right))
        case ast.Call(func=ast.Name(id=name)):
            return name in ("len", "round", "sum")
    return isinstance(tree, ast.BinOp) and not isinstance(tree.op, ast.Mod)


def _sets_all(instruction: steps.Instruction, fits: Callable[[ast.expr], bool], type_: str) -> frozenset[str]:
    names: set[str] = set()
    for part in instruction.parts:
        made = () if isinstance(part, steps.Loop) else _targets(part)
        value = part.value if isinstance(part, steps.Set) and not part.operator else None
        sure = isinstance(value, Expression) and fits(value.tree)
        names |= {one.name for one in made if not one.path and (sure or one.type.partition("[")[0] == type_)}
    return frozenset(names)


def is_text(tree: ast.expr) -> bool:
    """Whether an expression is a text, whatever it reads."""
    return isinstance(tree, ast.JoinedStr) or (isinstance(tree, ast.Constant) and isinstance(tree.value, str))


def calls(instruction: steps.Instruction) -> frozenset[str]:
    """The playbooks and built-ins that it calls, including those in its expressions."""
    names = {part.name for part in instruction.parts if isinstance(part, steps.Call)}
    operands = (one for part in instruction.parts for one in _operands(part))
    inner = (each for one in operands for each in (one.parts if isinstance(one, steps.Template) else (one,)))
    return frozenset(names.union(*(each.called for each in inner if isinstance(each, Expression))))


def arguments_of(instruction: steps.Instruction) -> Iterator[tuple[str, str | int, str]]:
    """The variables that it passes to calls as they are: the call, the parameter by name or position, the variable."""
    for part in instruction.parts:
        if isinstance(part, steps.Call):
            for index, argument in enumerate(part.arguments):
                if isinstance(argument.value, Expression) and isinstance(argument.value.tree, ast.Name):
                    yield part.name, argument.name or index, variable_name(argument.value.tree.id)


def operand_texts(instruction: steps.Instruction) -> list[str]:
    """The texts of all operands: everything that its execution knows of its author's words."""
    return [*_texts(instruction.parts)]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str | int):
        yield str(value)
    elif isinstance(value, tuple):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, Expression):
        yield value.source
    elif isinstance(value, steps.VariableTarget):
        yield f"${value.name}:{value.type} {value.name}"
        yield from _texts(value.path)
    elif isinstance(value, Struct):
        yield from _texts(tuple(getattr(value, name) for name in value.__struct_fields__ if name != "why"))


def is_open(instruction: steps.Instruction) -> bool:
    """Whether a model executes it with statements, or it ends the program: its effects cannot be known before."""
    return any(isinstance(part, steps.Free | steps.End) for part in instruction.parts)
