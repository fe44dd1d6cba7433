"""The headings of loops and conditions, as typed readings: what is done again and again, and on which condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.instructions.conditions.grammar import FILE, ConditionChart, PhraseGrammar, grammar_of
from runtime.language.instructions.conditions.meanings import ACTIONS, ValueMeaning
from runtime.language.instructions.conditions.reading import plain_marks
from runtime.language.instructions.conditions.tokens import ConditionToken, leading_tokens
from runtime.language.instructions.expression import expression_of
from runtime.language.instructions.model import BranchSide, Loop, LoopKind, Prose, VariableTarget
from runtime.language.instructions.operands import condition_of, exact, negated, operand_of, variable_of
from runtime.language.vocabulary.phrase import phrase

_FILES = (FILE, Path(__file__).parent / "repeating.grammar")
_ITEMS = frozenset(
    {"one", "item", "element", "entry", "member", "character", "char", "letter", "digit", "word", "line"}
)
"""What a list or a text has, whatever it is."""
_LONGEST_END = 9
"""The most words of a limit, or of what leads to the steps below a heading."""
_LONGEST_BRANCH = 40
"""The characters of what a condition begins with."""
_JOINTS = frozenset({"and", "or"})
_GOES_ON = frozenset({"to", "down", "as", "by", "and", "or", "but"})
_NAMED = ("named", "ordered")
"""The rules for what a loop goes through that has a name."""
_Takes = Literal["items", "numbers", "named", "ordered", "noun"]
_LAST_OF_AN_ENDING = frozenset({"then", "do", "this", "these", "following", "steps", "below"})
_ENDLESS = exact("True")


class BranchReading(Struct, frozen=True):
    """The side of a condition, whether it is denied, and what is tested, as it is written."""

    side: BranchSide
    test: str
    denied: bool = False


class _Opening(Struct, frozen=True):
    """How a loop begins; behind it stands what it tests, or what it goes through for a `variable` or a `noun`."""

    kind: LoopKind
    variable: str = ""
    noun: str = ""
    at_most: int | None = None
    behind: bool = False
    of: bool = False
    together: bool = False
    takes: _Takes = "items"


@lru_cache(maxsize=4096)
def loop_of(text: str) -> Loop | None:
    """The loop whose heading a text is; None for another step, and for a heading of which it is unclear."""
    source = without_then(text.strip().rstrip(" :"))
    if not _may_begin(source):
        return None
    chart, tokens = _chart(source)
    whole: tuple[Loop, ...] = chart.meanings("loop")
    if whole:
        return whole[0] if len(whole) == 1 else None
    before, at_most = _limited(source)
    if at_most is None:
        return None
    if at_most:
        source = before
        chart, tokens = _chart(source)
        whole = chart.meanings("loop")
        if whole:
            return replace(whole[0], at_most=at_most)
    for end, openings in sorted(chart.ends("opening", 0).items(), reverse=True):
        rest = _tested_once(source[tokens[end - 1].end :].strip(), "TEST", tokens[:end])
        for one in openings if rest else ():
            tested = None if one.kind is LoopKind.EACH else Loop(one.kind, condition_of(rest), body_first=one.behind)
            loop = tested or _each(one, rest)
            if loop is not None:
                return replace(loop, at_most=one.at_most or at_most or None)
    return None


def loop_again(branch: BranchReading) -> Loop:
    """The loop that a condition is whose steps end with a jump to it: "If it is not enough, up to 3 times"."""
    said, at_most = _limited(branch.test)
    test = condition_of(said)
    return Loop(LoopKind.WHILE, negated(test) if branch.denied else test, None, at_most or None)


def begins_loop(text: str) -> bool:
    """Whether a step is a loop or begins with one, whatever stands behind its heading."""
    if not _may_begin(text) or phrase("words again").begins(text):
        return False
    chart, tokens = _chart(text)
    if tokens[0].text in _firsts("AGAIN"):
        return True
    for end, openings in chart.ends("opening", 0).items():
        if any(one.takes not in _NAMED or chart.begins(one.takes, end) for one in openings):
            return True
    whole = len(tokens) - (tokens[-1].text == ":")
    return whole in chart.ends("loop", 0) or any(tokens[end].text[0] in ",:" for end in chart.ends("headed", 0))


def heading_before(text: str) -> str:
    """The heading of a loop over a named list, right before a step: "For each $x in $xs call Go"; "" for none."""
    if not text[:4].lower().startswith("for ") or without_then(text.rstrip(" :")) != text.rstrip(" :"):
        return ""
    chart, tokens = _chart(text)
    for end in chart.ends("opening", 0):
        at = end + (tokens[end].text == "the") if end < len(tokens) - 1 else end
        listed = at < len(tokens) - 1 and tokens[at].form == "variable" and tokens[at + 1].kind == "WORD"
        head = text[: tokens[at].end] if listed and tokens[at + 1].text not in _GOES_ON else ""
        if head and loop_of(head) is not None:
            return head
    return ""


def times_said(text: str) -> str:
    """How often a loop is done, as its heading says that: "eleven times", "twice"; "" for another loop."""
    source = text.strip().rstrip(" :")
    chart, tokens = _chart(source)
    if not any(one.kind is LoopKind.TIMES for one in chart.meanings("loop")):
        return ""
    at = next(at for at in range(len(tokens)) if len(tokens) in chart.ends("often", at))
    *count, rounds = tokens[at:]
    if not count or source[count[-1].end : rounds.at] == "":
        return source[tokens[at].at :]
    return f"{source[count[0].at : count[-1].end]} times"


def repeats_steps(text: str) -> bool:
    """Whether a step begins with a verb for doing other steps again, or for going on with them."""
    return text.partition(" ")[0].lower().rstrip(":") in _firsts("AGAIN") | _firsts("DO") | _firsts("KEEP")


def tests_more(heading: str, rest: str) -> bool:
    """Whether what follows a comma is tested, too: "While $ok, and while $n is 3"."""
    again = rest.lower().split(maxsplit=2)[:2]
    return again[:1] in (["and"], ["or"]) and again[1:] == heading.lower().split(maxsplit=1)[:1]


def is_limit(text: str) -> bool:
    """Whether a text says how often something is done, or at most: "three times", "but at most twice"."""
    first = text[:20].partition(" ")[0].lower()
    if first not in _grammar().firsts["limit"] and not _may_begin(text):
        return False
    chart, _ = _chart(text.strip().rstrip(" :"))
    return bool(chart.meanings("limit") or chart.meanings("loop"))


def without_then(text: str) -> str:
    """A heading without the "then" or "do the following" at its end."""
    text = text.rstrip()
    if text[text.rfind(" ") + 1 :].lower().lstrip(",") not in _LAST_OF_AN_ENDING:
        return text
    for start in _starts(text):
        begin = start - len(text[:start]) + len(text[:start].rstrip(" ,"))
        if begin and _chart(text[begin:])[0].meanings("ending"):
            return text[:begin]
    return text


@lru_cache(maxsize=4096)
def branch_of(text: str) -> BranchReading | None:
    """The condition whose heading a text is; None for another step."""
    first = text.partition(" ")[0].lower().rstrip(",:")
    if first not in _grammar().firsts["branch"]:
        return None
    chart, tokens = _chart(text[:_LONGEST_BRANCH])
    ends = chart.ends("branch", 0)
    if not ends:
        return None
    one: BranchReading = ends[end := max(ends)][0]
    test = without_then(text[tokens[end - 1].end :].lstrip(" ,:").rstrip(" :"))
    return replace(one, test=test if one.denied else _tested_once(test, "IF", tokens[:end]))


def _tested_once(test: str, kind: str, opening: Sequence[ConditionToken]) -> str:
    """What is tested, without the word of its heading again: "$ok, and while $n is 3" behind "while"."""
    said = [token.text for token in opening]
    again = max(
        (words for words, _ in _grammar().classes[kind] if [*words] == said[-len(words) :]), key=len, default=()
    )
    tokens = leading_tokens(plain_marks(test)) if again and again[0] in test.lower() else ()
    for at in reversed(range(1, len(tokens) - len(again))):
        behind = at + len(again)
        if tokens[at - 1].text in _JOINTS and tuple(token.text for token in tokens[at:behind]) == again:
            test = test[: tokens[at].at] + test[tokens[behind].at :]
    return test


def _may_begin(text: str) -> bool:
    first = text[:20].partition(" ")[0].lower().rstrip(",:")
    firsts = _grammar().firsts
    return first != "once" and (first in firsts["opening"] or first in firsts["loop"] or first[:1].isdigit())


@cache
def _grammar() -> PhraseGrammar:
    return grammar_of(*_FILES)


@cache
def _firsts(name: str) -> frozenset[str]:
    return frozenset(words[0] for words, _ in _grammar().classes[name])


def _chart(source: str) -> tuple[ConditionChart, tuple[ConditionToken, ...]]:
    tokens = leading_tokens(plain_marks(source))
    return ConditionChart(_grammar(), _ACTIONS, tokens), tokens


def _limited(text: str) -> tuple[str, int | None]:
    """A heading without the limit at its end, and that limit: 0 where there is none, None where it is no number."""
    last = text.rstrip(" )").rpartition(" ")[2].lower()
    if last not in _firsts("ROUNDS") | _firsts("OFTEN") and last != "most":
        return text, 0
    for start in _starts(text.rstrip(" )")):
        begin = start - (text[start - 1] == "(")
        if limits := _chart(text[begin:])[0].meanings("limit"):
            return text[:begin].rstrip(" ,;").removesuffix(" and").removesuffix(" but"), limits[0] or None
    return text, 0


def _starts(text: str) -> Iterator[int]:
    """The places where the last words of a text begin, in their order."""
    words, at = text.rsplit(maxsplit=_LONGEST_END)[1:], len(text)
    return reversed([at := text.rindex(word, 0, at) for word in reversed(words)])


def _each(opening: _Opening, rest: str) -> Loop | None:
    chart, tokens = _chart(rest)
    if opening.takes == "noun":  # "For each guest": who that is is left to a model
        alone = len(tokens) == 1 and tokens[0].kind == "WORD" and tokens[0].text not in _firsts("NO_NOUN")
        return Loop(LoopKind.EACH, Prose(rest), _noun(rest.lower())) if alone else None
    if opening.takes in _NAMED:
        named = chart.meanings(opening.takes)
        return Loop(LoopKind.EACH, operand_of(named[0][0]), variable_of(named[0][1])) if named else None
    if (numbers := chart.meanings("range")) and opening.noun not in _firsts("SOME"):
        return Loop(LoopKind.EACH, exact(numbers[0]), _item(opening, ""))
    first = tokens[1] if tokens[0].text == "the" and tokens[1:] and tokens[1].kind == "OPERAND" else tokens[0]
    over = operand_of(rest[first.at :])
    prose = isinstance(over, Prose)
    if prose and (first.kind == "OPERAND" or "," in rest or (opening.together and not opening.variable)):
        return None
    some = opening.noun and (opening.variable or (opening.of and not prose))  # "each pair of", "every second $guest in"
    whose = f"{opening.variable} {rest}"
    if prose and opening.noun and opening.takes == "items" and not opening.of and opening.noun not in _ITEMS:
        rest, some = f"every {opening.noun} in {rest}", ""  # "For every question in the form"
        over = Prose(rest)
    sure = not some or (not prose and (opening.noun in _ITEMS or opening.noun.removesuffix("y") in whose))
    if opening.of and not sure:  # "For each chapter of $outline": a model is asked what they are
        return Loop(LoopKind.EACH, Prose(f"{opening.noun} of {rest}"), _noun(opening.noun))
    return Loop(LoopKind.EACH, over, _item(opening, rest)) if sure and opening.takes == "items" else None


def _item(opening: _Opening, rest: str) -> VariableTarget:
    """The variable for items; one that has none is named by its noun."""
    if opening.variable:
        return variable_of(opening.variable)
    return VariableTarget("item") if f"${opening.noun}" in rest.split() else _noun(opening.noun)


def _noun(noun: str) -> VariableTarget:
    return VariableTarget(noun if noun.isidentifier() else "item")


def _numbers(first: ValueMeaning | str, *parts: Any) -> str:
    down, _, last, by = parts
    start, end = _code(first), _code(last)
    if down:
        return f"range({start}, {end} - 1, -{_code(by) if by else 1})"
    return f"range({start}, {end} + 1, {_code(by)})" if by else f"range({start}, {end} + 1)"


def _code(value: ValueMeaning | str) -> str:
    return value if isinstance(value, str) else value.code


def _times(*parts: Any) -> Loop | None:
    over = expression_of("", _code(parts[-1]))
    return None if over is None else Loop(LoopKind.TIMES, replace(over, source=_code(parts[-1])))


def _rounds(value: ValueMeaning, _: str) -> ValueMeaning | None:
    return None if value.code[:1] in "\"'[{f" else value


def _at_most(*parts: Any) -> int | None:
    often = next(part for part in parts if isinstance(part, ValueMeaning))
    return int(often.code) if often.code.isdigit() else 0


def _opens(*parts: Any, behind: bool = False) -> _Opening:
    most = next((part for part in parts if isinstance(part, int) and not isinstance(part, bool)), None)
    return _Opening(LoopKind(parts[-1]), at_most=most, behind=behind)


def _each_opens(*parts: Any, takes: _Takes = "items", of: bool = False) -> _Opening | None:
    words = [part.text for part in parts if isinstance(part, ConditionToken) and part.text not in ("for", "of", "=")]
    noun, place = words[-1] if words else "", next((str(part) for part in parts if str(part)[:1] == "$"), "")
    sure = place or noun not in _firsts("NO_ITEM") | _firsts("SOME")
    return _Opening(LoopKind.EACH, place, noun, of=of, together="all" in parts, takes=takes) if sure else None


def _given_place(*parts: Any) -> tuple[str, str]:
    places = [part for part in parts if isinstance(part, str) and part.startswith("$")]
    return places[0], places[-1] if places[1:] else "$item"


def _branches(side: BranchSide) -> Callable[..., BranchReading]:
    return lambda *parts: BranchReading(side, "", parts[-1] == "unless")


_ACTIONS: Mapping[str, Callable[..., Any]] = {
    **ACTIONS,
    "forever": lambda *_: Loop(LoopKind.WHILE, _ENDLESS),
    "times": _times,
    "counted_rounds": _rounds,
    "at_most": _at_most,
    "again": lambda *_: True,
    "tests": _opens,
    "tests_behind": lambda *parts: _opens(*parts, behind=True),
    "each": _each_opens,
    "each_number": lambda *parts: _each_opens(*parts, takes="numbers"),
    "each_part": lambda *parts: _each_opens(*parts, of=True),
    "each_item": lambda *_: _Opening(LoopKind.EACH, takes="named"),
    "each_in_order": lambda *_: _Opening(LoopKind.EACH, takes="ordered"),
    "each_noun": lambda *_: _Opening(LoopKind.EACH, takes="noun"),
    "given_place": _given_place,
    "numbers": _numbers,
    "branches": _branches(BranchSide.IF),
    "branches_else": _branches(BranchSide.ELSE_IF),
    "other_side": lambda *_: BranchReading(BranchSide.ELSE, ""),
}
