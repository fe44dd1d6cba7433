"""Conditions whose sides, or whose question, stand in the same sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.instructions.decode import work_of
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import Free, Leave, LoopKind, Prose, Set
from runtime.language.instructions.operands import condition_of
from runtime.language.instructions.steps.repeating import branch_of, loop_of
from runtime.language.lowering import phrases
from runtime.language.lowering.clauses import open_text, unquoted
from runtime.language.lowering.instruction import LoweredInstruction, free
from runtime.language.program import OpCode
from runtime.language.vocabulary.phrase import phrase

_IN_A_LIST = phrase("goes on in a list")
_ENDS_A_LIST = phrase("ends a list")


def both_sides(text: str, bare: str, classify: Callable[[str], LoweredInstruction]) -> LoweredInstruction | None:
    """ "If $ready, call Go, otherwise end the program": a condition and its other side, below a heading. None where
    the first side may go on behind its comma, as a message and a second condition do."""
    cuts = phrases.other_sides(unquoted(text))
    if len(cuts) != 1 or not phrases.BRANCH_AT_START.begins(bare) or phrases.ELSE.begins(bare):
        return None
    sides = text[: cuts[0]].rstrip(" ,;."), text[cuts[0] :]
    bodies = [
        classify(side.body)
        for side in map(classify, sides)
        if side.known and side.op is OpCode.CND and not side.loop and side.body
    ]
    if len(bodies) < 2 or not all(body.known for body in bodies):
        return None
    apart = text[: cuts[0]].rstrip().endswith((";", "."))
    exact = all(body.op is not OpCode.EXE or is_exact(body.text) for body in bodies)
    return LoweredInstruction(OpCode.EXE, "", after=sides) if apart or (exact and _is_closed(bodies[0])) else None


def if_so(text: str, bare: str) -> LoweredInstruction | None:
    """ "Check whether it is late: if so" is a condition; "if so" asks nothing that the check has not answered."""
    match = phrases.IF_SO.begins(bare)
    if match is None:
        return None
    if phrases.other_sides(open_text(match["then"])):
        return free(text, "both sides of a condition are in one sentence", whole=True)
    denied = match["answer"].lower().endswith(("not", "no", "n't", "n\u2019t"))
    unless = "Unless" if read_condition(match["test"]) else "If it is not true that"
    head = f"{unless} {match['test']}" if denied else f"If {match['test']}"
    return LoweredInstruction(OpCode.CND, head, match["then"] or None)


def is_exact(clause: str) -> bool:
    """Whether a clause leaves a loop, or sets a variable to an exact value."""
    head = work_of(clause)[0]
    return isinstance(head, Leave) or (isinstance(head, Set) and isinstance(head.value, Expression))


def work_first(found: LoweredInstruction) -> LoweredInstruction:
    """Work in words, followed by other clauses, becomes a step of its own, because a heading would only be skipped."""
    if not found.after or found.op is not OpCode.EXE or not isinstance(work_of(found.text)[0], Free):
        return found
    return replace(found, text="", after=(found.text, *found.after))


def beyond_the_test(heading: str) -> str:
    """Why a condition in words may be more than that: "If they are late, take 5 off it, then …"; "" where it is not."""
    branch, loop = branch_of(heading), loop_of(heading)
    test = condition_of(branch.test) if branch else loop.over if loop and loop.kind is not LoopKind.EACH else None
    if not isinstance(test, Prose):
        return ""
    _, *more = (part.strip() for part in unquoted(test.text).split(","))
    more = [part for part in more if not part[:1].isdigit()]
    acts = any(phrases.ACTS.begins(phrases.PREFIX.without(part)) for part in more)
    listed = any(_IN_A_LIST.begins(part) for part in more) or bool(more and _ENDS_A_LIST.inside(more[-1]))
    return "the end of its condition is unclear" if more and (acts or not listed) else ""


def _is_closed(found: LoweredInstruction) -> bool:
    if found.after or found.op is OpCode.CND:
        return False
    said = phrases.PREFIX.without(found.talk.said) if found.talk else ""
    return found.talk is None or phrases.SAYS_QUOTED_WHOLE.begins(said) is not None
