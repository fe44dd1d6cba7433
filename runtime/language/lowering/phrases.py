"""The English of steps: the patterns by which the rules recognise a step."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from runtime.language.instructions.steps.repeating import begins_loop
from runtime.language.instructions.text import CALL, assignment, inside_of
from runtime.language.vocabulary.phrase import phrase, words_of

_LONGEST = 3
"""The number of words in the longest phrase."""

ROLES: Final = words_of("served") | words_of("roles")
THEIRS: Final = ROLES | words_of("relatives")
_SYMBOLS = "\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff"
ORNAMENTS = re.compile(rf"^[\s{_SYMBOLS}]+(?=\S)|(?<=\S)[\s!{_SYMBOLS}]+$")
"""Emoji and similar ornaments around a sentence."""
PBASM = re.compile(r"^(?:\d+(?:\.\d+)*:)?(EXE|TNK|QUE|CND|CHK|JMP|RET|YLD|LOP|ELS)\b:?\s*(.*)$", re.DOTALL)
CLAUSE_START = re.compile(
    r",(?!\d{3}\b)\s*(?:then\s+)?|(?<=\s)(?<!by )(?<!til )(?<!till )(?<!ince )then\s+|:\s+", re.IGNORECASE
)

VARIABLE = re.compile(r"\$(\w+)(?::\w+(?:\[[\w, \"\[\]]*\])?)?")
_EMPHASIS = re.compile(r"^(\*\*|__|\*|_)(?=[^\W_])([^*_]+)(?<=[\w,:])\1(?!\w)")
_CODE = re.compile(r"`(\$\w+(?::\w+)?|(?:[^\W\d]\w*\.)?[^\W\d]\w*\([^`]*\)|\$[^`]*=[^`]*)`")
_LOOKS = ("[", "`", "*", "_")
"""The beginnings of a step with a box, code or emphasis."""
_BOXES = ("[ ] ", "[x] ", "[X] ")
RESULTLESS = frozenset({"Say", "Tell", "SaveArtifact", "EndMeeting", "LeaveMeeting", "InviteToMeeting"})


def begins_control(text: str) -> bool:
    """Whether a text begins with a condition, its other side, or a loop."""
    return phrase("branch").begins(text) is not None or phrase("else").begins(text) is not None or begins_loop(text)


@lru_cache(maxsize=1024)
def plain(text: str) -> str:
    """A step without what is only its looks: a box, its number, emphasis, code marks, and Python around a call."""
    if text.startswith(_LOOKS):
        bare = text[len(_BOXES[0]) :].lstrip() if text.startswith(_BOXES) else text
        text = _EMPHASIS.sub(r"\2", _without_code(bare))
    if text[:1].isdigit() or text[:4].casefold() == "step":
        text = _EMPHASIS.sub(r"\2", phrase("numbered").without(text))
    if other := phrase("else if").begins(text):
        text = f"Else if {other.rest}"
    if "`" in text:
        text = _CODE.sub(lambda match: match[0] if text.count('"', 0, match.start()) % 2 else match[1], text)
    given = assignment(text)
    if given and ": " in f"{given[0]} ":
        text = f"{given[0].replace(': ', ':').rstrip(': ')} = {given[1]}"
    target, called = text[: -len(given[1])] if given and given[1] else "", given[1] if given else text
    bare = called.removeprefix("await ").lstrip().removeprefix("self.")
    return f"{target}{bare}" if "(" in called and CALL.match(bare) else text


def _without_code(text: str) -> str:
    code = text.rstrip(".;")
    return code[1:-1] if code[:1] == code[-1:] == "`" and "`" not in code[1:-1] else text


def other_sides(text: str, behind: int = 0) -> list[int]:
    """Where the other side of a condition begins, at "else" or "otherwise", and not at "something else"."""
    return [one.start() for one in phrase("other side").all_inside(text) if one["side"] and one.start() >= behind]


def does_one_thing(text: str) -> bool:
    """Whether a step sets a variable, or goes somewhere."""
    sets = text[:1] == "$" and text.partition("=")[2][:1] not in ("", "=")
    return sets or phrase("does one thing").begins(text) is not None


def given_to(bare: str) -> tuple[str | None, str]:
    """The variable that a step sets, and the rest of it."""
    given = assignment(bare)
    return (None, bare) if given is None else (given[0], phrase("opening").without(given[1]))


def whole_call(text: str) -> str | None:
    """The name that is called when the text is one call and nothing else."""
    match = CALL.match(text)
    inside = inside_of(text, match.end() - 1) if match else None
    if match is None or inside is None or text[match.end() + len(inside) + 1 :].strip(" .;"):
        return None
    return match[1]


def beginning(text: str, phrases: frozenset[str]) -> str:
    """The longest of these phrases with which a text begins; "" for none."""
    words = text.lower().replace(",", " ").split(maxsplit=_LONGEST)[:_LONGEST]
    if not words or words[0] not in _firsts(phrases):
        return ""
    starts = (" ".join(words[:count]) for count in range(len(words), 0, -1))
    return next((start for start in starts if start in phrases), "")


@cache
def _firsts(phrases: frozenset[str]) -> frozenset[str]:
    return frozenset(one.partition(" ")[0] for one in phrases)


def variable_behind(text: str, phrases: frozenset[str]) -> str:
    """The variable at the end of a text behind one of these words, perhaps with an article; "" for none."""
    words = text.rstrip(" .").split()
    before = [word.lower() for word in words[:-1] if word.lower() != "the"]
    ends = len(words) > 1 and words[-1].startswith("$") and before[-1:] and before[-1] in phrases
    return words[-1] if ends else ""


def object_of(text: str, verbs: frozenset[str]) -> str:
    """The one variable that is all that follows a verb and an article: "figure out the $age"; "" for none."""
    rest = text[len(beginning(text, verbs)) :].split()
    words = rest[1:] if rest and rest[0].lower() in words_of("articles") else rest
    return words[0] if len(words) == 1 and words[0].startswith("$") and beginning(text, verbs) else ""
