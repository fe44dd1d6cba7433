"""Steps of PBAsm, `02.01:QUE text`, in their tree by number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from runtime.language.diagnostics import DiagnosticList
from runtime.language.flow import jump_target
from runtime.language.program import OpCode, Step
from runtime.language.syntax.nodes import ListItem

_STEP = re.compile(r"(\d+(?:\.\d+)*):([A-Za-z]+)(?:\s+(.*))?\Z", re.DOTALL)
_SHORT_YIELD = re.compile(r"\bYLD (?=(?:call|user|human|agent|meeting|return|exit)\b)")
_HINT = "Expected for example: 01:QUE Say(user, Greet the user). Codes: " + ", ".join(OpCode) + "."


@dataclass(slots=True)
class _Node:
    line: str
    op: OpCode
    text: str
    item: ListItem
    children: list[_Node] = field(default_factory=list)

    def frozen(self) -> Step:
        return Step(self.line, self.op, self.text, self.item.span, tuple(child.frozen() for child in self.children))


def is_coded(item: ListItem) -> bool:
    """Whether an item of a list is a step of PBAsm, with number and code."""
    match = _STEP.match(item.text)
    return match is not None and match[2] in OpCode.__members__


def given_steps(items: Sequence[ListItem], problems: DiagnosticList) -> tuple[Step, ...] | None:
    """The steps of a list that is PBAsm already, each item of it; None for one in prose.

    Where each item has the form of a step and the code of one is unknown, that is noted.
    """
    every = [inner for item in items for inner in item.walk()]
    if not all(_STEP.match(item.text) for item in every) or not any(map(is_coded, every)):
        return None
    return read_steps(items, problems)


def read_steps(items: Sequence[ListItem], problems: DiagnosticList) -> tuple[Step, ...]:
    """The tree of steps. Errors are noted: a bad code, a duplicate number or one without its parent, a jump to nowhere.

    `YLD call`, from older compilers, is read as `YLD for call`.
    """
    roots: list[_Node] = []
    chain: list[_Node] = []
    seen: dict[str, ListItem] = {}
    for item in (inner for outer in items for inner in outer.walk()):
        node = _node(item, problems)
        if node is None:
            continue
        if node.line in seen:
            _note(
                problems, item, f"step {node.line} is given twice", f"It is also at {seen[node.line].span}.", node.line
            )
        seen[node.line] = item
        parent = node.line.rpartition(".")[0]
        while chain and chain[-1].line != parent:
            chain.pop()
        if parent and not chain:
            message = f"step {node.line} is not below a step {parent}"
            _note(problems, item, message, f"Put {parent} before it.", node.line)
        (chain[-1].children if chain else roots).append(node)
        chain.append(node)
    steps = tuple(node.frozen() for node in roots)
    _check_jumps(steps, seen, problems)
    return steps


def _node(item: ListItem, problems: DiagnosticList) -> _Node | None:
    match = _STEP.match(item.text)
    if match is None:
        _note(problems, item, "a step needs its number and code", _HINT)
        return None
    if match[2] not in OpCode.__members__:
        near = get_close_matches(match[2].upper(), OpCode, n=1)
        hint = f"Did you mean {near[0]}? {_HINT}" if near else _HINT
        _note(problems, item, f"there is no operation {match[2]}", hint, match[2])
        return None
    op, text = OpCode(match[2]), _SHORT_YIELD.sub("YLD for ", f"{match[2]} {(match[3] or '').strip()}")
    return _Node(match[1], op, text[len(op) :].strip(), item)


def _check_jumps(steps: Sequence[Step], items: Mapping[str, ListItem], problems: DiagnosticList) -> None:
    for step in (step for outer in steps for step in outer.walk()):
        target = jump_target(step)
        if step.op is OpCode.JMP and target not in items:
            named = f"step {target}, which does not exist" if target else "no step"
            hint = "Name one of " + ", ".join(sorted(items)[:12]) + "."
            _note(problems, items[step.line], f"this jumps to {named}", hint, f"JMP {step.text}".strip())


def _note(problems: DiagnosticList, item: ListItem, message: str, hint: str, word: str = "") -> None:
    problems.at_span(item.span, message, text=item.shown, hint=hint, word=word)
