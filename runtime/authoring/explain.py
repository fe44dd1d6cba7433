"""Explanation of an instruction: the part of the runtime, and the questions to a model."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from runtime.authoring.in_english import condition_in_english, listed, value_in_english
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.lookups import calls_before
from runtime.language.instructions.model import (
    Ask,
    BranchSide,
    Call,
    Condition,
    End,
    Free,
    Instruction,
    Jump,
    Leave,
    Loop,
    LoopKind,
    Meaning,
    Operand,
    Prose,
    Return,
    Say,
    Set,
    StepGroup,
    Template,
    Think,
    VariableTarget,
    Wait,
)
from runtime.language.instructions.uses import is_text
from runtime.language.value_types import variable_name

Required = Mapping[str, Sequence[str]]
"""The required parameters of each callable playbook, by name."""


class PartKind(StrEnum):
    """The executor of a part of a step: the runtime alone, or a model that answers a question of this kind."""

    ALONE = "alone"
    WORDS = "words"
    VALUE = "value"
    CHOICE = "choice"
    FREE = "free"


class StepPart(Struct, frozen=True):
    """One effect of a step, in words. `why` is the reason for a free step."""

    kind: PartKind
    text: str
    why: str = ""


def explain(instruction: Instruction, required: Required | None = None) -> tuple[StepPart, ...]:
    """The effects of an instruction, in order."""
    return tuple(part for meaning in instruction.parts for part in _parts(meaning, required or {}))


def as_worded(instruction: Instruction, defined: Collection[str], texts: Collection[str] = ()) -> Instruction:
    """An instruction for an agent whose Python defines these names, and whose variables `texts` are texts."""
    return replace(instruction, parts=tuple(_worded(part, defined, texts) for part in instruction.parts))


def _worded(part: Meaning, defined: Collection[str], texts: Collection[str]) -> Meaning:
    if isinstance(part, Loop) and part.variable is not None and not part.by_letters:
        over = part.over.tree if isinstance(part.over, Expression) else None
        parts = over is not None and (is_text(over) or (isinstance(over, ast.Name) and variable_name(over.id) in texts))
        return replace(part, over=Prose(f"each {part.variable.name} of {_source(part.over)}")) if parts else part
    words = part.words if isinstance(part, Say | Ask) else None
    if not isinstance(part, Say | Ask) or not isinstance(words, Template) or not words.otherwise:
        return part
    trees = [one.tree for one in words.parts if isinstance(one, Expression)]
    named = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return part if named & {*defined} else replace(part, words=Prose(words.otherwise))


def _parts(meaning: Meaning, required: Required) -> Iterator[StepPart]:
    yield from (_alone(f"Call {call.source}.") for call in calls_before(meaning))
    match meaning:
        case Ask():
            yield from _asked(meaning)
        case Call():
            yield from _called(meaning, required)
        case Loop():
            yield from _loop(meaning)
        case _:
            yield _EXPLAINED[type(meaning)](meaning)


def _alone(text: str) -> StepPart:
    return StepPart(PartKind.ALONE, text)


def _said(part: Say | Ask) -> StepPart:
    to = listed(_whom(part.targets))
    if isinstance(part.words, Template):
        return _alone(f'Say "{_exact_words(part.words)}" to {to}.')
    words = part.words.text if part.words is not None else ""
    return StepPart(PartKind.WORDS, f"A message to {to}: {words}")


def _exact_words(words: Template) -> str:
    return "".join(part if isinstance(part, str) else f"{{{part.source.removeprefix('$')}}}" for part in words.parts)


def _asked(part: Ask) -> Iterator[StepPart]:
    if part.words is not None:
        yield _said(part)
    names = [f"${want.name}" for want in part.wants]
    given = f" until {listed(names)} {'are' if len(names) > 1 else 'is'} given" if names else ""
    yield _alone(f"Wait for {listed(_whom(part.sources))}{given}.")
    if part.wants:
        yield StepPart(PartKind.VALUE, f"The answer: {listed([_declared(want) for want in part.wants])}.")
    match part.until:
        case Prose(text=text):
            yield StepPart(PartKind.CHOICE, f"Whether the talk is done: {text}")
        case Expression() as test:
            yield _alone(f"Talk on until {condition_in_english(test)}.")
        case None if not part.wants:
            yield _alone("Take the next message as the answer.")


def _called(part: Call, required: Required) -> Iterator[StepPart]:
    prose = [argument for argument in part.arguments if isinstance(argument.value, Prose)]
    names = required.get(part.name, ())
    for argument in prose:
        name = argument.name or _by_position(part, names, part.arguments.index(argument))
        yield StepPart(PartKind.VALUE, f"The argument {name}: {_source(argument.value)}")
    for name in _missing(part, names):
        yield StepPart(PartKind.VALUE, f"The argument {name}, unless ${name} is set.")
    shown = ", ".join(
        f"{argument.name}={_shown(argument.value)}" if argument.name else _shown(argument.value)
        for argument in part.arguments
    )
    result = f" Set {_declared(part.result)} to the result." if part.result is not None else ""
    yield _alone(f"Call {part.name}({shown}).{result}")


def _by_position(part: Call, names: Sequence[str], index: int) -> str:
    return names[index] if index < len(names) else f"number {index + 1} of {part.name}"


def _missing(part: Call, names: Sequence[str]) -> Sequence[str]:
    by_position = sum(not argument.name for argument in part.arguments)
    by_name = {argument.name for argument in part.arguments}
    return [name for name in names[by_position:] if name not in by_name]


def _shown(operand: Operand) -> str:
    return value_in_english(operand) if isinstance(operand, Expression) else "…"


def _set(part: Set) -> StepPart:
    names = listed([_declared(variable) for variable in part.variables])
    if isinstance(part.value, Prose):
        return StepPart(PartKind.VALUE, f"{names}: {part.value.text}")
    value = value_in_english(part.value)
    match part.operator:
        case "+":
            return _alone(f"Add {value} to {names}.")
        case "-":
            return _alone(f"Take {value} from {names}.")
        case "":
            return _alone(f"Set {names} to {value}.")
    return _alone(f"Set {names} to {names} {part.operator} {value}.")


def _condition(part: Condition) -> StepPart:
    match part.test:
        case None if part.side is BranchSide.ELSE:
            return _alone("Execute the steps below when no condition before held.")
        case None:
            return _alone("Pass over the steps below.")
        case Prose(text=text):
            return StepPart(PartKind.CHOICE, f"Yes or no: {text}")
        case Expression() as test:
            return _alone(f"Execute the steps below if {condition_in_english(test)}.")


def _loop(part: Loop) -> Iterator[StepPart]:
    exact = isinstance(part.over, Expression)
    is_value = part.kind in (LoopKind.EACH, LoopKind.TIMES)
    over = _source(part.over) if is_value or not isinstance(part.over, Expression) else condition_in_english(part.over)
    match part.kind:
        case LoopKind.EACH:
            if not exact:
                yield StepPart(PartKind.VALUE, f"The items: {over}")
            each = _declared(part.variable) if part.variable is not None else "item"
            yield _alone(f"Execute the steps below for each {each}{f' in {over}' if exact else ''}.")
        case LoopKind.TIMES:
            if not exact:
                yield StepPart(PartKind.VALUE, f"The number of rounds: {over}")
            yield _alone(f"Execute the steps below {over if exact else 'that many'} times.")
        case _:
            later = " The first round needs no test." if part.body_first else ""
            if exact:
                yield _alone(f"Repeat the steps below {part.kind} {over}.{later}")
            else:
                yield StepPart(
                    PartKind.CHOICE, f"Yes or no before each round ({part.kind}): {over}{later and '.'}{later}"
                )
    if part.waits:
        yield _alone(f"Wait for {listed(_whom((part.waits,)))} before each round.")
    if part.at_most is not None:
        yield _alone(f"Stop after {part.at_most} rounds.")


def _jump(part: Jump) -> StepPart:
    word = "unless" if part.unless else "if"
    match part.test:
        case None:
            return _alone(f"Go to {part.line}.")
        case Prose(text=text):
            return StepPart(PartKind.CHOICE, f"Yes or no, and go to {part.line} {word} so: {text}")
        case Expression() as test:
            return _alone(f"Go to {part.line} {word} {condition_in_english(test)}.")


def _left(part: Leave) -> StepPart:
    return _alone("Begin the next round of the loop." if part.next_round else "Leave the loop.")


def _grouped(part: StepGroup) -> StepPart:
    return _alone("Execute the steps below." if part.text else "Go on.")


def _returned(part: Return) -> StepPart:
    match part.value:
        case None:
            return _alone("Return.")
        case Prose(text=text):
            return StepPart(PartKind.VALUE, f"The result: {text}")
        case Expression() as value:
            return _alone(f"Return {value_in_english(value)}.")


def _source(operand: Operand) -> str:
    return value_in_english(operand) if isinstance(operand, Expression) else operand.text


def _declared(variable: VariableTarget) -> str:
    path = "".join(f"[{step.source}]" if isinstance(step, Expression) else f".{step}" for step in variable.path)
    return f"${variable.name}{path}{f':{variable.type}' if variable.type else ''}"


def _whom(targets: Sequence[str]) -> list[str]:
    return [f"the {target}" if target in ("user", "human", "meeting") else target for target in targets]


_EXPLAINED: Mapping[type, Callable[[Any], StepPart]] = {
    Say: _said,
    Wait: lambda part: _alone(f"Wait for {listed(_whom(part.sources))}."),
    Set: _set,
    Think: lambda part: StepPart(PartKind.WORDS, f"A thought that nobody else sees: {part.about.text}"),
    Condition: _condition,
    Jump: _jump,
    Leave: _left,
    Return: _returned,
    End: lambda _part: _alone("End the program."),
    StepGroup: _grouped,
    Free: lambda part: StepPart(PartKind.FREE, f"Carry out with statements: {part.text.text}", part.why),
}
