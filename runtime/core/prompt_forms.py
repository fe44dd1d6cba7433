"""The words with which lines of ours begin in a prompt, and texts of people, files, agents, tools and models, made
harmless where they enter one: no line of theirs poses as ours.

Who writes a line of ours takes its beginning from `LineForm`. What people see of others' texts stays, to the eye. A
line that could be taken for ours begins with `| `. Line separators of all kinds become line ends, since a model reads
each as one. What nobody sees, but a model reads, goes: tags, selectors without a sign, marks that turn the direction.
What joins letters and emoji stays between them, for words and pictures fall apart without it; the comparison looks
through it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, Self

from runtime.core.plain_text import whole_characters

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

_SEPARATORS: Final = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

_KEPT: Final = (
    "(?<=[^\\W\\d_a-zA-Z])[\u200c\u200d](?=[^\\W\\d_a-zA-Z])"  # between letters: Persian
    "|(?<=[\u0900-\u0dff\u1000-\u109f\u1780-\u17ff])[\u200c\u200d]"  # behind an Indic sign
    "|(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"  # emoji
    "|(?<=[#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
    "|(?<=[\u1000-\u109f\u2200-\u2aff\u3000-\u9fff\uaa60-\uaa7f\uf900-\uffef])[\ufe00-\ufe02]"
    "|(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e011f]"  # names in Japanese
    "|(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"  # flags of regions
)
"""What belongs to the sign before it, though nobody sees it alone."""

_UNSEEN: Final = re.compile(
    f"({_KEPT})|"
    "[\\0-\\x08\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)

_LOOKALIKES: Final = str.maketrans(
    (
        "\u0430\u0410\u03b1\u0391\u0432\u0412\u0392\u0441\u0421\u03f2\u0501\u0435\u0415\u03b5\u0395\u0261"
        "\u043d\u041d\u04bb\u0397\u0456\u0406\u0131\u03b9\u0399\u0458\u0408\u03f3\u043a\u041a\u03ba\u039a"
        "\u04cf\u04c0\u043c\u041c\u039c\u039d\u043e\u041e\u03bf\u039f\u0440\u0420\u03c1\u03a1\u051b\u0455"
        "\u0405\u0442\u0422\u03c4\u03a4\u03c5\u03bd\u051d\u0445\u0425\u03c7\u03a7\u0443\u0423\u03a5\u03b3"
        "\u2236\ua789\u02d0\u02f8\u0589\u05c3\u16ec\u3010\u3014\u3016\u27e6\u2772\u3011\u3015\u3017\u27e7"
        "\u2773\u2985\u2768\u2986\u2769\u203a\u27e9\u276f\u3009\u2039\u27e8\u276e\u3008\u2800"
    ),
    ("aaaabbbcccdeeeeghhhhiiiiijjjkkkkllmmmnooooppppqssttttuvwxxxxyyyy:::::::[[[[[]]]]](())>>>><<<< "),
)
"""Letters of Cyrillic and Greek, colons, brackets and blanks that look like those of our forms."""

_MORE_THAN_A_NAME: Final = re.compile(r"[:;\"“”|]|\((?:user|agent|shown as|host)\b|^[(\[<>]|^you$")

_INSIDE: Final = re.compile("(?<=; )\\$(?=\\w+ ?= ?)|”(?=[^“”]{1,60}: ?“)")
"""Inside a line of ours: what looks like the next value, or the next speaker."""

_LOOKED_THROUGH: Final = frozenset({"Mn", "Me", "Cf", "Cc", "Co", "Cn", "Cs"})


class LineForm(StrEnum):
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


def _pattern(form: LineForm) -> str:
    """A form as lines are compared with it: in lower case, with any blanks between its words and signs."""
    parts = (
        _FIELDS[field] if field else re.escape((word or sign).lower())
        for field, word, sign in _PARTS.findall(form.known)
    )
    end = r"\b" if form.known[-1].isalnum() else ""
    return r"\s*".join(parts) + end


def _any_of(forms: Iterable[LineForm]) -> re.Pattern[str]:
    return re.compile("|".join(map(_pattern, forms)))


_SIGNS: Final = {form.known[0].lower() for form in LineForm if form.known[0] != "{"}
_BY_SIGN: Final = {sign: _any_of(form for form in LineForm if form.known[0].lower() == sign) for sign in sorted(_SIGNS)}
_OPEN: Final = _any_of(form for form in LineForm if form.known[0] == "{")
"""Those that begin with somebody's name."""


def is_ours(line: str) -> bool:
    """Whether the reader of a prompt takes a line, in lower case, for one of ours."""
    lead = _LEAD.match(line)
    at = 0 if lead is None else lead.end()
    known = _BY_SIGN.get(line[at : at + 1])
    if known is not None and known.match(line, at):
        return True
    return ("(" in line or " gave" in line) and line[at : at + 1] != "|" and _OPEN.match(line, at) is not None


def foreign(text: str) -> str:
    """A text of others as a prompt may have it on lines of its own."""
    text = foreign_lines(text)
    return "\n".join("| " + line if is_ours(_compared(line)) else line for line in text.split("\n"))


def foreign_lines(text: str) -> str:
    """A text of others where its lines cannot be taken for ours, such as an answer of the model itself."""
    if not text.isascii():
        text = whole_characters(text)
    elif "<" not in text and "[" not in text and text.replace("\n", "").isprintable():
        return text  # most texts: a prompt has hundreds
    text = _UNSEEN.sub(lambda found: found[1] or "", _SEPARATORS.sub("\n", text))
    return MARKS.sub(" ", text)


def foreign_line(text: str) -> str:
    """A text of others inside a line of ours: on one line."""
    return _INSIDE.sub(r"|\g<0>", " ".join(foreign_lines(text).split()))


def foreign_json(text: str) -> str:
    """A JSON text in one line inside a line of ours, which JSON reads as the same but for what nobody sees."""
    return foreign_lines(_SEPARATORS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def foreign_name(name: str) -> str:
    """A name that others chose, inside a line of ours: in quotation marks where it may mean more than that."""
    name = " ".join(foreign_lines(name).split())
    return json.dumps(name, ensure_ascii=False) if _MORE_THAN_A_NAME.search(_compared(name)) else name


def _compared(line: str) -> str:
    """A line as it is compared with our forms: without case, accents, lookalikes, and what is not seen."""
    if line.isascii():
        return line.lower()
    folded = unicodedata.normalize("NFKD", line).translate(_LOOKALIKES).casefold()
    return "".join(char for char in folded if unicodedata.category(char) not in _LOOKED_THROUGH)
