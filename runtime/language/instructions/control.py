"""Lines of control flow: conditions, loops and jumps."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from runtime.language.instructions.model import (
    Action,
    Condition,
    Free,
    Jump,
    Loop,
    LoopKind,
    Meaning,
    Operand,
    Prose,
    Side,
    Variable,
)
from runtime.language.instructions.operands import condition_of, exact, negated, operand_of, variable_of
from runtime.language.instructions.speaking_of import speaks_of_failure
from runtime.language.program import Op, Step

_WHOLE = r"\d+|\$\w+"
_BRANCH = re.compile(
    r"(else\s*if|(?:else|otherwise),?\s+(?:if|when)|elif|else|otherwise|if|when|unless|in case|once|whenever)\b[\s,:]*",
    re.IGNORECASE,
)


_THROUGH = (
    r"(?:(?:go|loop|iterate|step|run)\s+(?:through|over)|(?:repeat|loop)\s+(?:(?:this|these|the following)\s+)?for)"
)
_EACH = re.compile(
    rf"(?:for|{_THROUGH})\s+(?:(?:each|every|all)\s*)?(?:\w+\s+)?(\$\w+(?::\w+)?)\s+(?:in|of|from)\s+(.+?)\s*:?\Z",
    re.IGNORECASE | re.DOTALL,
)
_EACH_NOUN = re.compile(
    r"(?:repeat\s+)?for\s+(?:(?:each|every)\s+(?:(?:one\s+)?of\s+)?(?:the\s+)?(?![($])"
    r"(?:[\w' -]*?(\w+)\s+(?:in|of|from|on)\s+)?|(\w+)\s+(?:in|from)\s+)([^,]+?|[a-z]+\(.*\))\s*:?\Z",
    re.IGNORECASE | re.DOTALL,
)
_EACH_OF = re.compile(
    r"for\s+(?:(?:each|every)(?:\s+one)?\s+of|all)\s+(?:of\s+)?(?:the\s+)?(\$\w+)\s*:?\Z", re.IGNORECASE
)
_COUNTED = re.compile(rf"for\s+(\$\w+(?::\w+)?)\s*=\s*((?:{_WHOLE})\s+(?:down\s+)?to\s+.+?)\s*:?\Z", re.IGNORECASE)
_OVER = re.compile(
    r"(?:loop|iterate|step)\s+(?:through|over)\s+(?:all\s+)?(?:the\s+)?(\$\w+(?:\.\w+|\[[^\]]*\])*)"
    r"(?:\s+as\s+(\$\w+(?::\w+)?))?\s*:?\Z",
    re.IGNORECASE,
)
"""A loop over a list whose items have no name, or one at the end: "Loop through $guests as $guest"."""
_FROM_TO = re.compile(
    rf"({_WHOLE})\s+(down\s+)?to\s+({_WHOLE})(?:,?\s+(?:(?:by|step|in steps of)\s+)({_WHOLE}))?\Z", re.IGNORECASE
)
_FOREVER = re.compile(
    r"(?:loop\s+|repeat\s+)?(?:forever|endlessly|always|again and again|in an endless loop)\s*:?\Z", re.IGNORECASE
)


_TIMES = re.compile(
    r"(?:repeat|loop|do(?: (?:this|the following))?|for)?\s*(?:(?:up to|at most|exactly)\s*)?(?:(\d+|\$\w+|one|two"
    r"|three|four|five|six|seven|eight|nine|ten)(?:\s+(?:times|iterations|rounds|attempts|tries)|\s?x)"
    r"|(once|twice|thrice))(?!\w)\s*:?\Z",
    re.IGNORECASE,
)


_LIMIT = re.compile(
    r"(?:[,;(]|(?<!\s))\s*(?:but\s+)?(?:for\s+)?(?:up to|at most|no more than|a maximum of|max(?:imum)?)\s+(\d+|two"
    r"|three|four|five|ten)\s+(?:times|iterations|rounds|attempts|tries)\)?"
    r"|(?<!\s)\s+or\s+(\d+|two|three|four|five|ten)\s+times(?:\s+at\s+most)?\Z",
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
} | {"once": 1, "twice": 2, "thrice": 3}


_JUMPS_IF = ("if", "unless", "until", "while", "as long as")

_THEN = re.compile(
    r"[,\s]\s*then(?:\s+do)?\Z|,\s*do\Z|[,\s]\s*(?:then\s+)?do\s+(?:this|these|the following)(?:\s+steps)?\Z",
    re.IGNORECASE,
)
_LONGEST_THEN = 40


def without_then(text: str) -> str:
    """A condition without the "then" or "do the following" at its end."""
    text = text.rstrip()
    found = _THEN.search(text, max(0, len(text) - _LONGEST_THEN))
    return text[: found.start()].rstrip(" ,") if found else text


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


_WAITS = re.compile(r";\s*YLD\s+(?:for\s+)?(meeting|user|agent \w+)\.?\Z")
"""The wait with which each round of a loop begins."""


def control_of(step: Step) -> Meaning:
    loops = step.op is Op.LOP or any(
        child.op is Op.JMP and _target(child.text)[0] == step.line for child in step.children
    )
    return _control(step.op, step.text.strip(), loops=loops, below=bool(step.children))


@lru_cache(maxsize=4096)
def _control(op: Op, text: str, *, loops: bool, below: bool) -> Meaning:
    """What a line means that `loops` because one below it goes back to it, or that has others `below`; cached, because
    it is read several times."""
    waits = _WAITS.search(text)
    words = text[: waits.start()].rstrip() if waits else text
    loop = _loop(words) if not _BRANCH.match(text) or loops else None
    if loop is not None:
        return replace(loop, waits=waits[1]) if waits else loop
    branch = _BRANCH.match(text)
    if branch is None:
        if op is Op.LOP:
            return Loop(LoopKind.WHILE, condition_of(text))
        if op is Op.ELS:
            return Condition(Side.ELSE, None)
        return Condition(Side.IF, condition_of(text), speaks_of_failure(text))
    word = " ".join(branch[1].lower().replace(",", " ").split())
    rest = without_then(text[branch.end() :].rstrip(" :"))
    if word in ("else", "otherwise"):
        return Condition(Side.ELSE, None)
    otherwise = op is Op.ELS or word.startswith(("else", "elif", "otherwise"))
    side = Side.ELSE_IF if otherwise else Side.IF
    if loops:
        rest, at_most = _limited(rest)
        test = negated(condition_of(rest)) if word == "unless" else condition_of(rest)
        return Loop(LoopKind.WHILE, test, None, at_most)
    if not below:
        return Free(Prose(text), "it is a condition whose consequence is in the same sentence")
    if word == "unless":
        return Condition(side, negated(condition_of(rest)), speaks_of_failure(rest))
    return Condition(side, condition_of(rest), speaks_of_failure(rest))


def _items(text: str) -> Operand:
    """The items of a loop; `1 to 3` means 1, 2 and 3."""
    numbers = _FROM_TO.match(text)
    if numbers is None:
        return operand_of(text)
    first, down, last, by = numbers.groups()
    if down:
        return exact(f"range({first}, {last} - 1, -{by or 1})")
    return exact(f"range({first}, {last} + 1, {by})" if by else f"range({first}, {last} + 1)")


def _one_of(each: re.Match[str]) -> Variable:
    """The variable for items that have none: `For each guest in $guests` sets `$guest`."""
    noun = next(found for found in (*each.groups(), each[0]) if found)
    free = noun.isidentifier() and re.search(rf"\${noun}\b", each[0]) is None
    return Variable(noun.lower() if free else "item")


def _limited(text: str) -> tuple[str, int | None]:
    """The words of a loop without the largest number of its rounds, and that number."""
    limit = _LIMIT.search(text)
    if limit is None:
        return text, None
    number = (limit[1] or limit[2]).lower()
    at_most = _NUMBERS.get(number) or int(number)
    return (text[: limit.start()] + text[limit.end() :]).strip(), at_most


def _loop(text: str) -> Loop | None:
    """A loop, by its words; None for another line."""
    if _FOREVER.match(text):
        return Loop(LoopKind.WHILE, exact("True"))
    if times := _TIMES.match(text):
        word = (times[1] or times[2]).lower()
        return Loop(LoopKind.TIMES, exact(str(_NUMBERS.get(word, word))))
    text, at_most = _limited(text)
    if each := _EACH.match(text) or _COUNTED.match(text):
        return Loop(LoopKind.EACH, _items(each[2]), variable_of(each[1]), at_most)
    if each := _EACH_OF.match(text) or _EACH_NOUN.match(text):
        return Loop(LoopKind.EACH, _items(each[each.lastindex or 0]), _one_of(each), at_most)
    if over := _OVER.match(text):
        return Loop(LoopKind.EACH, operand_of(over[1]), variable_of(over[2] or "$item"), at_most)
    found = _WHILE.match(text)
    if found is None:
        return None
    word, rest = found[1].lower(), without_then(text[found.end() :].rstrip(" :"))
    if not rest:
        return Loop(LoopKind.WHILE, exact("True"), None, at_most)
    kind = LoopKind.UNTIL if "until" in word else LoopKind.WHILE
    later = (
        re.search(r"\b(until|while)\s+(.+)\Z", rest, re.IGNORECASE | re.DOTALL) if word in ("repeat", "loop") else None
    )
    if later:
        return Loop(LoopKind(later[1].lower()), condition_of(later[2]), None, at_most, body_first=True)
    test = condition_of(rest)
    if word in ("repeat", "loop") and isinstance(test, Prose):
        return None
    return Loop(kind, test, None, at_most, body_first=word.startswith(("repeat", "do", "keep", "loop")))
