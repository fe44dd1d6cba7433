"""Explanation of an instruction: the part of the runtime, and the questions to a model."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from runtime.authoring.in_english import condition_in_english, listed, value_in_english
from runtime.language.instructions import model as steps
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.lookups import calls_before
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


def explain(instruction: steps.Instruction, required: Required | None = None) -> tuple[StepPart, ...]:
    """The effects of an instruction, in order."""
    return tuple(part for meaning in instruction.parts for part in _parts(meaning, required or {}))


def as_worded(
    instruction: steps.Instruction, defined: Collection[str], texts: Collection[str] = ()
) -> steps.Instruction:
    """An instruction for an agent whose Python defines these names, and whose variables `texts` are texts."""
    return replace(instruction, parts=tuple(_worded(part, defined, texts) for part in instruction.parts))


def _worded(part: steps.Meaning, defined: Collection[str], texts: Collection[str]) -> steps.Meaning:
    if isinstance(part, steps.Loop) and part.variable is not None and not part.by_letters:
        over = part.over.tree if isinstance(part.over, Expression) else None
        parts = over is not None and (is_text(over) or (isinstance(over, ast.Name) and variable_name(over.id) in texts))
        return replace(part, over=steps.Prose(f"each {part.variable.name} of {_source(part.over)}")) if parts else part
    words = part.words if isinstance(part, steps.Say | steps.Ask) else None
    if not isinstance(part, steps.Say | steps.Ask) or not isinstance(words, steps.Template) or not words.otherwise:
        return part
    trees = [one.tree for one in words.parts if isinstance(one, Expression)]
    named = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return part if named & {*defined} else replace(part, words=steps.Prose(words.otherwise))


def _parts(meaning: steps.Meaning, required: Required) -> Iterator[StepPart]:
    yield from (_alone(f"Call {call.source}.") for call in calls_before(meaning))
    match meaning:
        case steps.Ask():
            yield from _asked(meaning)
        case steps.Call():
            yield from _called(meaning, required)
        case steps.Loop():
            yield from _loop(meaning)
        case _:
            yield _EXPLAINED[type(meaning)](meaning)


def _alone(text: str) -> StepPart:
    return StepPart(PartKind.ALONE, text)


def _tested(test: steps.Operand, asked: str, done: str) -> StepPart:
    """A condition: the question about it to a model, or what the runtime does by it."""
    if isinstance(test, steps.Prose):
        return StepPart(PartKind.CHOICE, f"{asked}: {test.text}")
    return _alone(f"{done} {condition_in_english(test)}.")


def _said(targets: Sequence[str], words: steps.Words) -> StepPart:
    to = listed(_whom(targets))
    if isinstance(words, steps.Prose):
        return StepPart(PartKind.WORDS, f"A message to {to}: {words.text}")
    parts = (part if isinstance(part, str) else f"{{{part.source.removeprefix('$')}}}" for part in words.parts)
    return _alone(f'Say "{"".join(parts)}" to {to}.')


def _asked(part: steps.Ask) -> Iterator[StepPart]:
    if part.words is not None:
        yield _said(part.targets, part.words)
    names = [f"${want.name}" for want in part.wants]
    given = f" until {listed(names)} {'are' if len(names) > 1 else 'is'} given" if names else ""
    yield _alone(f"Wait for {listed(_whom(part.sources))}{given}.")
    if part.wants:
        yield StepPart(PartKind.VALUE, f"The answer: {listed([_declared(want) for want in part.wants])}.")
    if part.until is not None:
        yield _tested(part.until, "Whether the talk is done", "Talk on until")
    elif not part.wants:
        yield _alone("Take the next message as the answer.")


def _called(part: steps.Call, required: Required) -> Iterator[StepPart]:
    names, shown = required.get(part.name, ()), []
    for index, argument in enumerate(part.arguments):
        prose = isinstance(argument.value, steps.Prose)
        if prose:
            name = argument.name or (names[index] if index < len(names) else f"number {index + 1} of {part.name}")
            yield StepPart(PartKind.VALUE, f"The argument {name}: {_source(argument.value)}")
        value = "…" if prose else _source(argument.value)
        shown.append(f"{argument.name}={value}" if argument.name else value)
    given = {argument.name for argument in part.arguments}
    for name in names[sum(not argument.name for argument in part.arguments) :]:
        if name not in given:
            yield StepPart(PartKind.VALUE, f"The argument {name}, unless ${name} is set.")
    result = f" Set {_declared(part.result)} to the result." if part.result is not None else ""
    yield _alone(f"Call {part.name}({', '.join(shown)}).{result}")


def _set(part: steps.Set) -> StepPart:
    names = listed([_declared(variable) for variable in part.variables])
    if isinstance(part.value, steps.Prose):
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


def _condition(part: steps.Condition) -> StepPart:
    if part.test is None:
        return _alone("Execute the steps below when no condition before held.")
    return _tested(part.test, "Yes or no", "Execute the steps below if")


def _loop(part: steps.Loop) -> Iterator[StepPart]:
    exact, over = isinstance(part.over, Expression), _source(part.over)
    match part.kind:
        case steps.LoopKind.EACH:
            if not exact:
                yield StepPart(PartKind.VALUE, f"The items: {over}")
            each = _declared(part.variable) if part.variable is not None else "item"
            yield _alone(f"Execute the steps below for each {each}{f' in {over}' if exact else ''}.")
        case steps.LoopKind.TIMES:
            if not exact:
                yield StepPart(PartKind.VALUE, f"The number of rounds: {over}")
            yield _alone(f"Execute the steps below {over if exact else 'that many'} times.")
        case _:
            test = _tested(
                part.over, f"Yes or no before each round ({part.kind})", f"Repeat the steps below {part.kind}"
            )
            later = f"{'' if exact else '.'} The first round needs no test." if part.body_first else ""
            yield replace(test, text=test.text + later)
    if part.waits:
        yield _alone(f"Wait for {listed(_whom((part.waits,)))} before each round.")
    if part.at_most is not None:
        yield _alone(f"Stop after {part.at_most} rounds.")


def _jump(part: steps.Jump) -> StepPart:
    word = "unless" if part.unless else "if"
    if part.test is None:
        return _alone(f"Go to {part.line}.")
    return _tested(part.test, f"Yes or no, and go to {part.line} {word} so", f"Go to {part.line} {word}")


def _returned(part: steps.Return) -> StepPart:
    if isinstance(part.value, steps.Prose):
        return StepPart(PartKind.VALUE, f"The result: {part.value.text}")
    return _alone("Return." if part.value is None else f"Return {value_in_english(part.value)}.")


def _source(operand: steps.Operand) -> str:
    return value_in_english(operand) if isinstance(operand, Expression) else operand.text


def _declared(variable: steps.VariableTarget) -> str:
    path = "".join(f"[{step.source}]" if isinstance(step, Expression) else f".{step}" for step in variable.path)
    return f"${variable.name}{path}{f':{variable.type}' if variable.type else ''}"


def _whom(targets: Sequence[str]) -> list[str]:
    return [f"the {target}" if target in ("user", "human", "meeting") else target for target in targets]


_EXPLAINED: Mapping[type, Callable[[Any], StepPart]] = {
    steps.Say: lambda part: _said(part.targets, part.words),
    steps.Wait: lambda part: _alone(f"Wait for {listed(_whom(part.sources))}."),
    steps.Set: _set,
    steps.Think: lambda part: StepPart(PartKind.WORDS, f"A thought that nobody else sees: {part.about.text}"),
    steps.Condition: _condition,
    steps.Jump: _jump,
    steps.Leave: lambda part: _alone("Begin the next round of the loop." if part.next_round else "Leave the loop."),
    steps.Return: _returned,
    steps.End: lambda _part: _alone("End the program."),
    steps.StepGroup: lambda part: _alone("Execute the steps below." if part.text else "Go on."),
    steps.Free: lambda part: StepPart(PartKind.FREE, f"Carry out with statements: {part.text.text}", part.why),
}
