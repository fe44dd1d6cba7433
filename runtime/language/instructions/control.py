"""Lines of control flow: conditions, loops and jumps."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from runtime.language.instructions.model import (
    Action,
    BranchSide,
    Condition,
    Free,
    Jump,
    Loop,
    LoopKind,
    Meaning,
    Prose,
)
from runtime.language.instructions.operands import condition_of, negated
from runtime.language.instructions.speaking_of import speaks_of_failure
from runtime.language.instructions.steps.repeating import branch_of, loop_again, loop_of
from runtime.language.program import OpCode, Step

_JUMPS_IF = ("if", "unless", "until", "while", "as long as")


def jump_of(text: str) -> Action:
    line, word, condition = _target(text)
    if not line:
        return Free(Prose(text), "it goes to a line without a name")
    return Jump(line, condition_of(condition), unless=word in ("unless", "until")) if word else Jump(line)


def _target(text: str) -> tuple[str, str, str]:
    """The line of a jump ("" for none), and the word and the text of its condition: `02.01 unless $done`."""
    said = text.strip()
    for start in ("to ", "step "):
        said = said[len(start) :].lstrip() if said.lower().startswith(start) else said
    line, *behind = said.split(maxsplit=1)[:2] or [""]
    rest = behind[0].lstrip(",; ") if behind else ""
    word = next((one for one in _JUMPS_IF if rest.lower().startswith(f"{one} ")), "")
    named = all(part.isdecimal() for part in line.rstrip(",;").split(".")) and (word or not rest)
    return (line.rstrip(",;"), word, rest[len(word) :].strip()) if named else ("", "", "")


_SOURCES = ("meeting", "user")


def control_of(step: Step) -> Meaning:
    loops = step.op is OpCode.LOP or any(
        child.op is OpCode.JMP and _target(child.text)[0] == step.line for child in step.children
    )
    return _control(step.op, step.text.strip(), loops=loops, below=bool(step.children))


@lru_cache(maxsize=4096)
def _control(op: OpCode, text: str, *, loops: bool, below: bool) -> Meaning:
    """What a line means that `loops` because one below it goes back to it, or that has others `below`; cached, because
    it is read several times."""
    words, waits = _without_wait(text)
    branch = branch_of(text)
    loop = loop_of(words) if branch is None else loop_again(branch) if loops else None
    if loop is not None:
        return replace(loop, waits=waits)
    if branch is None:
        if op is OpCode.LOP:
            return Loop(LoopKind.WHILE, condition_of(text))
        if op is OpCode.ELS:
            return Condition(BranchSide.ELSE, None)
        return Condition(BranchSide.IF, condition_of(text), speaks_of_failure(text))
    if branch.side is BranchSide.ELSE:
        return Condition(BranchSide.ELSE, None)
    if not below:
        return Free(Prose(text), "it is a condition whose consequence is in the same sentence")
    test = negated(condition_of(branch.test)) if branch.denied else condition_of(branch.test)
    return Condition(BranchSide.ELSE_IF if op is OpCode.ELS else branch.side, test, speaks_of_failure(branch.test))


def _without_wait(text: str) -> tuple[str, str]:
    """A heading without the wait with which each round of its loop begins, and for whom that is; "" for none."""
    words, wait, whom = text.rstrip(".").rpartition("; YLD for ")
    known = wait and (whom in _SOURCES or (whom.startswith("agent ") and whom.removeprefix("agent ").isidentifier()))
    return (words.rstrip(), whom) if known else (text, "")
