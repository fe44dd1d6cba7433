"""A step that a model read, held against its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runtime.language.instructions.text import CALL, CALLED
from runtime.language.lowering.checks.lost_words import lost_clauses, stands_in
from runtime.language.lowering.messages import without_going_on
from runtime.language.lowering.phrases import PBASM, VARIABLE, plain
from runtime.language.program import OpCode, Step, jump_target
from runtime.language.syntax.nodes import ListItem

_SETTLED = frozenset({OpCode.YLD, OpCode.RET, OpCode.JMP, OpCode.CHK})
"""Instructions that replace all words of a step."""
_BECOME_CODES = frozenset({"EndProgram", "Return", "Yld"})


def strays(item: ListItem, step: Step) -> bool:
    """Whether a reading has lost words of its step, or has many more instructions than the step has clauses."""
    most = sum(1 for inner in item.walk() if not inner.children)
    after = sum(1 for inner in step.walk() if not inner.children)
    clauses = sum(inner.text.count(mark) for inner in item.walk() for mark in (";", ",", " and ", " then ")) + 3
    return after > most * 2 + clauses or _loses(item, step)


def _loses(item: ListItem, step: Step) -> bool:
    """Whether variables, calls or clauses of a step's source are missing in its reading."""
    before, after = ("\n".join(inner.text for inner in whole.walk()) for whole in (item, step))
    said = (PBASM.sub(r"\2", plain(inner.text)) for inner in item.walk())
    texts = [without_going_on(text, in_a_loop=False) for text in said]
    rows = [f"{inner.op} {inner.text}" for inner in step.walk()]
    worded = len(texts) > 1 or not (step.op in _SETTLED or is_call(step))
    lost = any(one for text in texts for one in lost_clauses(text, rows) if worded or one != text)
    return lost or lost_names(before, after) != []


def is_call(step: Step) -> bool:
    """Whether a step calls the built-in that the words mean: "Wait five minutes" is Sleep(300)."""
    called = CALL.match(step.text)
    return step.op is OpCode.QUE and called is not None and called[1] != "Say"


def lost_names(said: str, compiled: str) -> list[str]:
    """The variables, with their types, and the calls in an author's text that a compiled one lacks."""
    if ("$" not in said and "(" not in said) or stands_in(said, compiled):
        return []
    before, after = said.replace("self.", ""), compiled.replace("self.", "")
    kept = {*_names(after), *_BECOME_CODES}
    kept |= {name.partition(":")[0] for name in kept}
    lost = dict.fromkeys(_names(before))
    return [name for name in lost if name not in kept and name.lower() != "say"]


def _names(text: str) -> Iterator[str]:
    yield from (found[0] for found in VARIABLE.finditer(text))
    yield from CALLED.findall(text)


def _goes_back(step: Step) -> bool:
    """Whether a step is the JMP at the end of a loop, back to the line of that loop."""
    return step.op is OpCode.JMP and not step.children and jump_target(step) == step.line.rpartition(".")[0]


def relocated(items: Sequence[ListItem], steps: Sequence[Step], parent: ListItem | None) -> tuple[Step, ...]:
    """Move each step to the place of its item; one without (a JMP, a clause of the same sentence) to its parent's."""
    extra = max(0, len(steps) - len(items)) if parent is not None else 0
    skipped = extra - 1 if extra and _goes_back(steps[-1]) else extra
    placed = []
    for index, step in enumerate(steps):
        own = items[index - skipped] if 0 <= index - skipped < len(items) else None
        item = own or parent
        children = relocated(own.children if own else (), step.children, item)
        placed.append(Step(step.line, step.op, step.text, item.span if item else step.span, children))
    return tuple(placed)
