"""The English of steps: the patterns by which the rules recognise a step."""

from __future__ import annotations

import re
from functools import lru_cache

from runtime.language.instructions.steps.repeating import begins_loop
from runtime.language.instructions.text import CALL, assignment
from runtime.language.vocabulary.phrase import phrase

PREFIX = phrase("opening")
BOUNDED = phrase("bounded")
AGAIN_IF = phrase("again if")
REPEATS = phrase("repeats")
OF_WHAT_WAS_SAID = phrase("said before")
SAYS_WHETHER = phrase("says whether")
KEEP_ASKING = phrase("keep asking")
MODIFIES = phrase("how")
BRANCH = phrase("branch")
SWITCH = phrase("switch")
ELSE = phrase("else")
BRANCH_AT_START = phrase("branch at start")
TEST_AT_START = phrase("test at start")
JOINS = phrase("no action")
BEFORE_A_CONDITION = phrase("before a condition")
INDIRECT = phrase("indirect")
AND_RETURN = phrase("and return")
INVITES = phrase("gathers")
HOLD = phrase("hold a meeting")
TAKE_PART = phrase("take part")
TOGETHER = phrase("together")
THINK = phrase("think")
TO_ITSELF = phrase("to itself")
ASK = phrase("ask")
ASK_ALWAYS = phrase("ask always")
ASK_IF_OBJECT = phrase("ask if object")
ASKS_INSIDE = phrase("asks inside")
TELL = phrase("tell")
TELL_IF_NAMED = phrase("tell if named")
TELL_A_MEETING = phrase("tell a meeting")
WORK = phrase("work")
ASKS_OR_WAITS = phrase("asks or waits")
ACTS = phrase("acts")
CALL_WORD = phrase("call word")
ABOUT_OTHERS = phrase("about others")
ASKS_SOMEBODY = phrase("asks somebody")
PRONOUN = phrase("pronoun")
PERSON = phrase("people")
PERSON_OUTSIDE = phrase("people outside")
EVERYBODY = phrase("everybody")
REPLIES = phrase("replies")
WHILE_ACTIVE = phrase("while active")
WHOSE = phrase("whose")
BEHIND = phrase("condition behind")
WHILE_IT_LASTS = phrase("while it lasts")
LASTS = phrase("lasts")
SAYS_QUOTED_WHOLE = phrase("says only quoted")
SAYS_QUOTED = phrase("says quoted")
AND_END = phrase("and end")
INVITE = phrase("invite")
TALKED_ABOUT = phrase("talked about")
ITS_STATE = phrase("state of a variable")
ASKED_FOR = phrase("asked for")
OFFERS_OPTIONS = phrase("offers options")
UNTIL = phrase("until")
TO_VARIABLE_BEHIND = phrase("to a variable")
TO_A_NAME = phrase("to a name")
TO_SOMEBODY_ELSE = phrase("to somebody else")
TO_A_NAME_BEHIND = phrase("to a name behind")

_SYMBOLS = "\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff"
ORNAMENTS = re.compile(rf"^[\s{_SYMBOLS}]+(?=\S)|(?<=\S)[\s!{_SYMBOLS}]+$")
"""Emoji and similar ornaments around a sentence."""
PBASM = re.compile(r"^(?:\d+(?:\.\d+)*:)?(EXE|TNK|QUE|CND|CHK|JMP|RET|YLD|LOP|ELS)\b:?\s*(.*)$", re.DOTALL)
IF_SO = phrase("if so")
LAST_CONDITION = phrase("condition at the end")
_DOES_ONE_THING = phrase("does one thing")
_OTHER_SIDE = phrase("other side")
CLAUSE_START = re.compile(
    r",(?!\d{3}\b)\s*(?:then\s+)?|(?<=\s)(?<!by )(?<!til )(?<!till )(?<!ince )then\s+|:\s+", re.IGNORECASE
)

NOTE = phrase("note of a playbook")
WORKS_BY_CALL = phrase("works by a call")
BY_A_CALL = phrase("by a call")
CODE = phrase("code")
KEEPS_RESULT = phrase("keeps the result")
VARIABLE = re.compile(r"\$(\w+)(?::\w+(?:\[[\w, \[\]]*\])?)?")
_EMPHASIS = re.compile(r"^(\*\*|__|\*|_)(?=[^\W_])([^*_]+)(?<=[\w,:])\1(?!\w)")
_CODE = re.compile(r"`(\$\w+(?::\w+)?|(?:[^\W\d]\w*\.)?[^\W\d]\w*\([^`]*\)|\$[^`]*=[^`]*)`")
_LOOKS = ("[", "`", "*", "_")
"""The beginnings of a step with a box, code or emphasis."""
_BOXES = ("[ ] ", "[x] ", "[X] ")
_NUMBERED = phrase("numbered")
_ELSE_IF = phrase("else if")
RESULTLESS = frozenset({"Say", "Tell", "SaveArtifact", "EndMeeting", "LeaveMeeting", "InviteToMeeting"})


def begins_control(text: str) -> bool:
    """Whether a text begins with a condition, its other side, or a loop."""
    return BRANCH.begins(text) is not None or ELSE.begins(text) is not None or begins_loop(text)


@lru_cache(maxsize=1024)
def plain(text: str) -> str:
    """A step without what is only its looks: a box to tick, its number, emphasis at its beginning, code marks around
    variables and calls, and what Python would write around a call or for "else if". What stands in quotes stays as it
    is."""
    if text.startswith(_LOOKS):
        bare = text[len(_BOXES[0]) :].lstrip() if text.startswith(_BOXES) else text
        text = _EMPHASIS.sub(r"\2", _without_code(bare))
    if text[:1].isdigit() or text[:4].casefold() == "step":
        text = _EMPHASIS.sub(r"\2", _NUMBERED.without(text))
    if other := _ELSE_IF.begins(text):
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
    return [one.start() for one in _OTHER_SIDE.all_inside(text) if one["side"] and one.start() >= behind]


def does_one_thing(text: str) -> bool:
    """Whether a step sets a variable, or goes somewhere."""
    return _DOES_ONE_THING.begins(text) is not None or (text[:1] == "$" and text.partition("=")[2][:1] not in ("", "="))


def given_to(bare: str) -> tuple[str | None, str]:
    """The variable that a step sets, and the rest of it."""
    given = assignment(bare)
    return (None, bare) if given is None else (given[0], PREFIX.without(given[1]))


def whole_call(text: str) -> str | None:
    """The name that is called when the text is one call and nothing else."""
    match = CALL.match(text)
    if match is None:
        return None
    depth, quote = 0, ""
    for index in range(match.end() - 1, len(text)):
        char = text[index]
        if quote:
            quote = "" if char == quote and text[index - 1] != "\\" else quote
        elif char == '"' or (char == "'" and not text[index - 1].isalnum()):
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return match[1] if not text[index + 1 :].strip(" .;") else None
    return None
