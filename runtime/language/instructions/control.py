"""Lines that say where control goes: conditions, loops and jumps."""

from __future__ import annotations

import re

from runtime.language.instructions.model import (
    Action,
    Condition,
    Free,
    Jump,
    Loop,
    LoopKind,
    Meaning,
    Prose,
    Side,
)
from runtime.language.instructions.operands import condition_of, exact, negated, operand_of, variable_of
from runtime.language.program import Op, Step

_BRANCH = re.compile(
    r"(else\s*if|(?:else|otherwise),?\s+(?:if|when)|elif|else|otherwise|if|when|unless|in case|once|whenever)\b[\s,:]*",
    re.IGNORECASE,
)


_EACH = re.compile(
    r"for\s+(?:each|every|all)?\s*(?:\w+\s+)?(\$\w+)(?::\w+)?\s+(?:in|of|from)\s+(.+?)\s*:?\Z",
    re.IGNORECASE | re.DOTALL,
)


_TIMES = re.compile(
    r"(?:repeat|loop|do (?:this|the following)|for)?\s*(?:up to|at most|exactly)?\s*(\d+|\$\w+|one|two"
    r"|three|four|five|six|seven|eight|nine|ten)\s+(?:times|iterations|rounds|attempts|tries)\b\s*:?\Z",
    re.IGNORECASE,
)


_LIMIT = re.compile(
    r"[,;(]?\s*(?:but\s+)?(?:for\s+)?(?:up to|at most|no more than|a maximum of|max(?:imum)?)\s+(\d+|two"
    r"|three|four|five|ten)\s+(?:times|iterations|rounds|attempts|tries)\)?",
    re.IGNORECASE,
)


_WHILE = re.compile(
    r"(while|as long as|until|repeat until|keep (?:going|repeating)(?: this)? (?:until|while)|do (?:this"
    r"|the following|these) (?:until|while)|repeat (?:this |these |the following )?(?:until|while"
    r"|as long as)|loop (?:until|while)|repeat|loop)\b\s*",
    re.IGNORECASE,
)


_NUMBERS = {
    word: n for n, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1)
}


_TARGET_LINE = re.compile(
    r"\s*(?:to\s+)?(?:step\s+)?(\d+(?:\.\d+)*)\s*[,;]?\s*(?:(if|unless|until|while|as long as)\s+(.*))?\Z",
    re.IGNORECASE | re.DOTALL,
)


def jump_of(text: str) -> Action:
    found = _TARGET_LINE.match(text)
    if found is None:
        return Free(Prose(text), "it goes to a line that is not named")
    if found[2] is None:
        return Jump(found[1])
    return Jump(found[1], condition_of(found[3]), unless=found[2].lower() in ("unless", "until"))


def control_of(step: Step) -> Meaning:
    text = step.text.strip()
    loops = step.op is Op.LOP or any(
        child.op is Op.JMP and (found := _TARGET_LINE.match(child.text)) and found[1] == step.line
        for child in step.children
    )
    loop = _loop(text) if not _BRANCH.match(text) or loops else None
    if loop is not None:
        return loop
    branch = _BRANCH.match(text)
    if branch is None:
        if step.op is Op.LOP:
            endless = re.fullmatch(r"(?:forever|endlessly|always|again and again)\s*:?", text, re.IGNORECASE)
            return Loop(LoopKind.WHILE, exact("True") if endless else condition_of(text))
        if step.op is Op.ELS:
            return Condition(Side.ELSE, None)
        return Condition(Side.IF, condition_of(text))
    word = " ".join(branch[1].lower().replace(",", " ").split())
    rest = text[branch.end() :].rstrip(" :")
    if word in ("else", "otherwise"):
        return Condition(Side.ELSE, None)
    otherwise = step.op is Op.ELS or word.startswith(("else", "elif", "otherwise"))
    side = Side.ELSE_IF if otherwise else Side.IF
    if loops:
        return Loop(LoopKind.WHILE, condition_of(rest))
    if not step.children:
        return Free(Prose(text), "it is a condition whose consequence stands in the same sentence")
    if word == "unless":
        return Condition(side, negated(condition_of(rest)))
    return Condition(side, condition_of(rest))


def _loop(text: str) -> Loop | None:
    """A loop by its words; None for a line that is none."""
    limit = _LIMIT.search(text)
    at_most = None
    if times := _TIMES.match(text):
        word = times[1].lower()
        return Loop(LoopKind.TIMES, exact(str(_NUMBERS.get(word, word))))
    if limit:
        at_most = _NUMBERS.get(limit[1].lower()) or int(limit[1])
        text = (text[: limit.start()] + text[limit.end() :]).strip()
    if each := _EACH.match(text):
        return Loop(LoopKind.EACH, operand_of(each[2]), variable_of(each[1]), at_most)
    found = _WHILE.match(text)
    if found is None:
        return None
    word, rest = found[1].lower(), text[found.end() :].rstrip(" :")
    if not rest:
        return Loop(LoopKind.WHILE, exact("True"), None, at_most)
    kind = LoopKind.UNTIL if "until" in word else LoopKind.WHILE
    later = (
        re.search(r"\b(until|while)\s+(.+)\Z", rest, re.IGNORECASE | re.DOTALL) if word in ("repeat", "loop") else None
    )
    if later:
        return Loop(LoopKind(later[1].lower()), condition_of(later[2]), None, at_most, body_first=True)
    return Loop(kind, condition_of(rest), None, at_most, body_first=word.startswith(("repeat", "do", "keep", "loop")))
