"""The words with which lines of ours begin in a prompt.

Who writes such a line takes its beginning from here, and no line of others' texts may begin so: see
`runtime.core.foreign_text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, Self

_FIELDS: Final[Mapping[str, str]] = {
    "number": r"\d+",
    "name": r"\w+(?:\.\w+)*",
    "whom": r"[^\n]{1,80}?",
    "called": r"[^\n]{1,80}?\s",
    "any": r"[^\n]{0,2000}?",
    "file": r"[^\n\]]{1,120}?\.\w{1,8}",
    "call": r"\w+(?:\.\w+)*\(",
    "kind": r"(?:image|voice or sound|video|file)",
    "value": (r"(?:\"|\[|\{|artifact of|(?:-?\d[\d.,]*(?:e[+-]?\d+)?|true|false|null|none)\s*(?:$|[^\w\s]))"),
}
"""What may stand in the fields of a form. After a number or a word of JSON the line of ours ends."""

_PARTS: Final = re.compile(r"\{(\w+)\}|(\w+)|(\S)")

_LEAD: Final = re.compile(r"[\s*_~`]*(?:\[\d+\]\s*)?")
"""What may stand before a form: blanks, marks of bold, the number of a question."""

MARKS: Final = re.compile(
    r"(?<=<)(?=[|\uff5c][^\s<>|\uff5c]{1,40}[|\uff5c]>)|(?<=<)(?=/?(?:begun|start_of_turn|end_of_turn|eos|bos)>)"
    r"|(?<=\[)(?=/?INST\])|(?<=<)(?=</?SYS>>)"
)
"""Where, inside of a line, something begins that a model, or its server, takes for the border of a message."""


class Form(StrEnum):
    """The beginning of a line of ours. `known` is the part of it by which a line is taken for ours."""

    known: str

    def __new__(cls, words: str, known: str = "") -> Self:
        form = str.__new__(cls, words)
        form._value_, form.known = words, known or words
        return form

    # who speaks
    FROM_PROGRAM = "(From the program, not from a person.)", "(From the program"
    BEGINS = "(The conversation begins.)"
    MESSAGE = "Message from"
    WORKING = "While you were working,"
    DUE = "It is time:"
    REMINDER = "Reminder that you set:", "Reminder that you set"
    NOTICE = "Notice in meeting"
    PERSON = "{whom} (user)", "{called} (user)"
    PERSON_SAYS = "{whom} (user):", "{whom}(user):"
    AGENT = "{whom} (agent {number})", "{called} (agent"
    AGENT_SAYS = "{whom} (agent {number}):", "{whom}(agent {number}):"
    CHANGED = "changed what they said from"
    CHANGED_FILES = "changed the files of what they said:"
    SENT_ANEW = "changed what they sent:"
    TAKEN_BACK = "took back what they said:"
    MARKED = 'put {whom} on "'
    UNMARKED = "took their mark off"
    LOOKING_AT = "(looking at"
    TASK = "{whom} (task {number})", "{called} (task {number})"
    ORDERER = "{whom} (orderer)", "{called} (orderer)"
    QUOTED = "> {whom}:"
    WITH_FILES = "[with"
    PAST = "[said here before,"
    SAID_BEFORE = "(Said before:"

    # the present state
    EXECUTES = "You execute"
    FROM_OUTSIDE = "The event {name} of another program has begun this.", "The event {name} of another program"
    OTHERS = "Other agents:"
    PEOPLE = "People here:"
    FILES = "Files people sent:"
    MEETING = "Meeting {number} ("
    INVITED = "Invited to meeting {number}:"
    INVITATION = "You are invited to meeting"
    SHARED = "Shared state of meeting {number}:"
    STACK = "Call stack:"
    ARGUMENTS = "Arguments:"
    VARIABLES = "Variables:"
    LOCALS = "Locals:"
    KNOWN = "Known:"

    # what was done
    GAVE = "{name} gave {value}"
    RAISED = "{name} gave raised {name}:"
    CALL_GAVE = "({name}({any}) gave"
    CALL_FAILED = "({name} failed:"
    CALL_TOLD = "(For {name}:"
    DONE = "({name} was executed"
    THOUGHT = "(You thought:"
    INSIDE = "(In {name}:"
    SUMMED_UP = "What came before, summed up"
    CUT_SHORT = "What came before, by the beginnings of what was said"
    TOLD = "TOLD:"
    ANSWERED = "ANSWERED:"

    # files and memories
    FILE = "[{kind} {whom} ({name}/"
    FILE_NOTE = "[{whom}:", "[{file}:"
    CONTENT = "[content of"
    END = "[end of"
    MEMORIES = "Remembered from earlier conversations."
    MEMORY = '- about "{any}", {number}-{number}-{number}:'

    # questions
    WRONG_ANSWER = "Your last answer could not be used:"
    IN_ORDER = "Answer these in order:"
    WRITE = "Write the next message to"
    SPEAK = "Speak to {whom} now, as"
    ASKED = "The person was asked:"
    WROTE = "The person wrote:"
    ARGUMENTS_FOR = "Values for {name}."
    THINK = "Think about this step,"
    DECIDE = "Decide by what is known"
    ASK_AGAIN = "Ask the person again,"
    GO_ON_UNTIL = "Go on with this until"
    UNWILLING = "The person does not want to tell"
    COME_BACK = "Come back to what was asked before:"
    CORRECTED = "The person corrects"
    REPLY = "Write a reply to"
    IN_YOUR_ROLE = "Answer this in your role,"
    TRIGGERED = "Which of these begins to hold"
    BEGUN = "You have begun this message,"
    WRITE_ON = "Write on from there:"
    NOTHING_TO_SAY = "If there is nothing to say, write only"

    # statements
    FROM_BEGINNING = "Execute from the beginning."
    DESCRIPTION = "The description of {name} with its values:"
    BROKE_OFF = "Your reply broke off."
    HALF_SAID = "What was to be said to"
    SAY_AGAIN = "Say it again as a whole"
    REFUSED = "Your reply was refused:", "Your reply was"
    REFUSED_SOURCE = "Refused:"
    STANDS_AT = "You stand at"
    NOTHING_RAN = "Nothing of the refused statement ran."
    CARRY_OUT = "Carry out this one step of the script"
    BLOCK_ENDS = "The block ends when the step is done"
    RESUMES = "# resume:"

    # the program
    THE_PROGRAM = "The program:"
    SCRIPT = "The script ("
    OTHERS_PART = "Others who take part:"
    ABOUT = "What this is about:"
    NOTES = "Notes to keep to:"
    STEPS_HEAD = "### Steps"
    SCRIPT_HEAD = "### Script, for orientation"
    TRIGGERS_HEAD = "### Triggers"
    NOTES_HEAD = "### Notes"
    PLAYBOOK = "## {name}(", "## {call}"


def _pattern(form: Form) -> str:
    """A form as lines are compared with it: in lower case, with any blanks between its words and signs."""
    parts = (
        _FIELDS[field] if field else re.escape((word or sign).lower())
        for field, word, sign in _PARTS.findall(form.known)
    )
    end = r"\b" if form.known[-1].isalnum() else ""
    return r"\s*".join(parts) + end


def _any_of(forms: Iterable[Form]) -> re.Pattern[str]:
    return re.compile("|".join(map(_pattern, forms)))


_SIGNS: Final = {form.known[0].lower() for form in Form if form.known[0] != "{"}
_BY_SIGN: Final = {sign: _any_of(form for form in Form if form.known[0].lower() == sign) for sign in sorted(_SIGNS)}
_OPEN: Final = _any_of(form for form in Form if form.known[0] == "{")
"""Those that begin with somebody's name."""


def is_ours(line: str) -> bool:
    """Whether the reader of a prompt takes a line, in lower case, for one of ours."""
    lead = _LEAD.match(line)
    at = 0 if lead is None else lead.end()
    known = _BY_SIGN.get(line[at : at + 1])
    if known is not None and known.match(line, at):
        return True
    return ("(" in line or " gave" in line) and line[at : at + 1] != "|" and _OPEN.match(line, at) is not None
