"""Steps that end, leave, return, go to another step or wait, as typed readings: all that a step can mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.instructions.conditions.grammar import FILE, ConditionChart, PhraseGrammar, grammar_of
from runtime.language.instructions.conditions.meanings import ACTIONS, ValueMeaning
from runtime.language.instructions.conditions.reading import (
    in_symbols,
    is_one_condition,
    plain_marks,
    read_answer,
    read_condition,
)
from runtime.language.instructions.conditions.tokens import ConditionToken, leading_tokens
from runtime.language.instructions.expression import MAX_SOURCE, expression_of, read_expression
from runtime.language.instructions.model import Call, CallArgument, End, Jump, Leave, Return, Wait

_FILES = (FILE, Path(__file__).parent / "course.grammar")
_PLACE = frozenset({"to", "into", "from"})
_NO_ROUND = frozenset({"step", "steps", "playbook", "section", "part", "phase", "stage"})
"""What is no item of a list: what comes next then is what stands next."""
_JOINTS = frozenset({"and", "or", "but", "not"})
_OTHER_SIDE = frozenset({"otherwise", "else"})
_NO_CONDITION = frozenset({"and", "or", "then", "to", "not", "but", "also", "say", "tell", "ask"})
"""What a condition in words before a jump has none of, where it is surely the whole condition."""


class CourseReading(Struct, frozen=True):
    """One reading: the instruction, and the value, condition or source as `said`; `elsewhere`: a return to a place."""

    does: End | Return | Leave | Jump | Call | Wait
    said: str = ""
    elsewhere: bool = False


@lru_cache(maxsize=4096)
def course_of(text: str) -> CourseReading | None:
    """What a step does that ends, leaves, returns, goes or waits; None for another step, and for two readings."""
    source = text.strip().rstrip(".;!").rstrip()
    if len(source) > MAX_SOURCE or not _begins(source):
        return None
    chart, tokens = _chart(source)
    found = list(dict.fromkeys([*chart.meanings("course"), *_conditional(source, chart, tokens)]))
    if not found:
        found = list(_led(source, chart, tokens))
    return found[0] if len(found) == 1 else None


def ends_program(text: str) -> bool:
    """Whether a step ends the program, and does nothing else."""
    found = course_of(text)
    return found is not None and isinstance(found.does, End)


def goes_to_a_step(text: str) -> bool:
    """Whether a step goes to another one, perhaps under a condition."""
    found = course_of(text)
    return found is not None and isinstance(found.does, Jump)


def starts_over(text: str) -> bool:
    """Whether a step goes back to the first one of its playbook, which it does not name by its number."""
    return goes_to_a_step(text) and not any(char.isdigit() for char in text)


def jump_behind(text: str) -> CourseReading | None:
    """The jump behind a condition without a comma: "If yes go to step 2"; None where that may be more than one."""
    source = text.strip().rstrip(".;!").rstrip()
    said = source.lower()
    if not said.startswith("if ") or _grammar().firsts["jump"].isdisjoint(said.split()):
        return None
    chart, tokens = _chart(source)
    for at in range(2, len(tokens)):
        meanings = chart.ends("jump", at).get(len(tokens), ())
        if not meanings:
            continue
        last = at - 1 if tokens[at - 1].text == "then" else at
        said = source[tokens[0].end : tokens[last].at].strip()
        words = {token.text for token in tokens[1:last]}
        if not said or "," in words:
            return None
        sure = words.isdisjoint(_NO_CONDITION) or read_condition(said) is not None or read_answer(said) is not None
        return replace(meanings[0], said=said) if sure else None
    return None


def begins_to_wait(text: str) -> bool:
    """Whether a step waits, whatever else it does."""
    return _begins(text) and _chart(text)[0].begins("waiting", 0)


def _begins(source: str) -> bool:
    first, firsts = source.partition(" ")[0].lower().rstrip(","), _grammar().firsts
    return first in firsts["course"] or first in firsts["leading"]


@cache
def _grammar() -> PhraseGrammar:
    return grammar_of(*_FILES)


def _chart(source: str) -> tuple[ConditionChart, tuple[ConditionToken, ...]]:
    tokens = leading_tokens(plain_marks(source))
    return ConditionChart(_grammar(), _ACTIONS, tokens), tokens


def _conditional(source: str, chart: ConditionChart, tokens: tuple[ConditionToken, ...]) -> Iterator[CourseReading]:
    """ "Go to step 2 unless $done": a jump, and its condition behind it."""
    for end, meanings in chart.ends("jump", 0).items():
        for behind, words in chart.ends("conditional", end).items() if end < len(tokens) else ():
            said = source[tokens[behind - 1].end :].strip()
            if _is_one(said) and {token.text for token in tokens[behind:]}.isdisjoint(_OTHER_SIDE):
                jump = replace(meanings[0].does, unless=words[0] == "unless")
                yield CourseReading(jump, said)


def _is_one(said: str) -> bool:
    """Whether the condition of a jump is surely no more than that: "if yes, to step 2 if no"."""
    further = not {"if", "unless", "when"}.isdisjoint(said.lower().split())
    return read_condition(said) is not None or (said != "" and not further and is_one_condition(said))


def _led(source: str, chart: ConditionChart, tokens: tuple[ConditionToken, ...]) -> Iterator[CourseReading]:
    """ "Return …", "Wait for …": what leads, and all that stands behind it."""
    for end, meanings in chart.ends("leading", 0).items():
        said = source[tokens[end - 1].end :].strip()
        if not said or end == len(tokens) or tokens[end].text == ",":
            continue
        if isinstance(meanings[0].does, Leave):  # "continue with the next guest", and not "with the next step"
            if end == len(tokens) - 1 and tokens[end].text not in _NO_ROUND:
                yield meanings[0]
            continue
        if isinstance(meanings[0].does, Wait):
            yield CourseReading(Wait(()), said)
            continue
        caller = next((at for at in range(end + 1, len(tokens)) if len(tokens) in chart.ends("behind", at)), None)
        if caller is not None and tokens[caller - 1].text in _JOINTS:  # "Return $n or nothing"
            caller = None
        value = tokens[end:caller]
        words = [word for one in value for word in (one.text.lower().split() if one.kind == "OTHER" else (one.text,))]
        goes = any(
            word in _PLACE and (at or words[1:]) and words[at + 1 : at + 2] not in ([], ["me"])
            for at, word in enumerate(words)
        )
        said = said if caller is None else source[tokens[end - 1].end : tokens[caller].at].strip()
        if [one.text for one in value[:-1]] == ["the"] and value[-1].form == "variable":
            said = value[-1].text
        yield CourseReading(Return(), said, goes)


def _goes(*parts: Any) -> CourseReading | None:
    line = getattr(parts[-1], "text", "")
    return CourseReading(Jump(f"{int(line):02}")) if line.isdecimal() else None


def _meeting(name: str) -> Callable[..., CourseReading | None]:
    def over(_: str, __: str, number: ConditionToken | None) -> CourseReading | None:
        if number is not None and not number.text.isdecimal():
            return None
        which = "" if number is None else f'"meeting {number.text}"'
        value = read_expression(which)
        return CourseReading(Call(name, () if value is None else (CallArgument("", value),)), which)

    return over


def _lasts(_: str, __: str | None, length: ValueMeaning) -> CourseReading | None:
    seconds = expression_of("", length.code)
    if seconds is None:
        return None
    written = in_symbols(seconds) if seconds.names else f"{seconds.evaluate({}):.15g}"
    return CourseReading(Call("Sleep", (CallArgument("", replace(seconds, source=written)),)), written)


def _next_round(last: Any) -> CourseReading | None:
    exact = isinstance(last, ConditionToken) and last.form != "variable"
    return None if exact else CourseReading(Leave(next_round=True))


_ACTIONS: Mapping[str, Callable[..., Any]] = {
    **ACTIONS,
    "nothing": lambda *_: True,
    "ends": lambda *_: CourseReading(End()),
    "returns": lambda *_: CourseReading(Return()),
    "leaves": lambda *_: CourseReading(Leave()),
    "goes_on": lambda *parts: _next_round(parts[-1]),
    "ends_meeting": _meeting("EndMeeting"),
    "leaves_meeting": _meeting("LeaveMeeting"),
    "goes": _goes,
    "starts_over": lambda *_: CourseReading(Jump("01")),
    "lasts": _lasts,
    "waits": lambda *_: CourseReading(Wait(())),
}
