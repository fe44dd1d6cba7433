"""What is not surely one thing: sentences that a rule reads one way and a person may read another. They stay free."""

from __future__ import annotations

import re
from collections.abc import Callable

from runtime.language.instructions.conditions.reading import lasts_a_time, says_that_nothing_came
from runtime.language.instructions.expression import is_unsure_call
from runtime.language.instructions.making import TO_A_FILE
from runtime.language.lowering import messages, phrases
from runtime.language.lowering.clauses import joints, unquoted
from runtime.language.lowering.instruction import Instruction, free
from runtime.language.program import Op

_WORK = frozenset(
    {
        *("fix", "change", "improve", "update", "correct", "adjust", "edit", "rewrite", "delete", "remove", "save"),
        *("store", "call", "calculate", "compute", "recalculate", "increase", "decrease", "append", "register", "book"),
        *(
            "create",
            "build",
            "record",
            "log",
            "move",
            "repeat",
            "restart",
            "rerun",
            "write",
            "draft",
            "prepare",
            "print",
            *("look", "find", "search", "fetch", "check", "send", "translate", "count"),
        ),
    }
)
"""Verbs of work, which nobody says to a person as part of a message when no *to* introduces it."""

_GOES = re.compile(
    r"^(?:go|jump|return|start|begin|repeat|restart|continue|proceed|move|skip|retry)\b"
    r"(?=.*\b(?:back|again|over|start|beginning|step|top|menu|question|from|to)\b|\s*$)",
    re.IGNORECASE,
)
_TO_PEOPLE = re.compile(r"\b(?:to|how|that they should|please)\s+\w+", re.IGNORECASE)
_KEPT = re.compile(
    r"(?:,?\s+(?:and|then)\s+|[,;]\s*)(?P<verb>save|store|keep|put|record|remember|hold|write|note|call|add|append)\s+"
    r"(?:it|this|that|them|(?:the|their|your|its)\s+\w+)\s+(?:down\s+)?(?:(?:as|in|into|to|under|on)\s+)?(?:the\s+)?(?:list\s+)?"
    r"(?P<target>\$\w+(?::[\w\[\]]+)?)\s*$",
    re.IGNORECASE,
)
"""The end of a sentence that names the variable for what it makes."""
_LISTS = frozenset({"add", "append"})
_MAKES_A_THOUGHT = re.compile(
    r"^(?:decide|determine|judge|assess|evaluate|figure\s+out|work\s+out|think(?:\s+of|\s+about|\s+up)?|consider|choose|pick|select"
    r"|guess|estimate|create|make|generate|prepare|produce|calculate|compute|come\s+up\s+with|make\s+up|invent|write|draft|compose|summari[sz]e|reason|plan)\b",
    re.IGNORECASE,
)
_FIGURED = re.compile(
    r"^(?:figure|work)\s+out\s+(?:(?:the|a|an|their|his|her|its)\s+)?(?P<target>\$\w+(?::[\w\[\]]+)?)$"
    r"|^(?:decide(?:\s+on)?|determine)\s+(?:(?:the|a|an|their|his|her|its)\s+)?(?P<other>\$\w+(?::[\w\[\]]+)?)$",
    re.IGNORECASE,
)
_NOTED = re.compile(
    r"^(?:note|jot|write\s+down|record|put)\b(?!.*\().*\b(?:in|into|to|on)\s+(?:the\s+)?\$\w+$", re.IGNORECASE
)
_BOUND = re.compile(
    r"\b(?:up\s+to|at\s+most|no\s+more\s+than|not\s+more\s+than)\s+(?:\w+\s+times|once|twice)\b|\b(?:once|twice|\w+\s+times)\s+at\s+most\b",
    re.IGNORECASE,
)
_TO_BE = re.compile(r"\bto\s+(?:be|stay|keep|wait|remain|stop|hold|go\s+on|continue|sit|think|work)\b", re.IGNORECASE)
_INTO = re.compile(r"\b(?:in|into|as|to)\s+\$\w+(?::[\w\[\]]+)?\s*\.?$")
_LATER = re.compile(r"^(?:once|when|whenever|as\s+soon\s+as|after|if|unless|until)\b", re.IGNORECASE)
_STEPS_AGAIN = re.compile(
    r"^(?:repeat|redo|do)\s+(?:the\s+)?(?:last|previous|above|first|these)\b.*\bsteps?\b", re.IGNORECASE
)
_EACH = re.compile(
    r"^(?P<head>for\s+(?:each|every|all)\s+\$?[^\s,:]+(?:\s+in|\s+of)\s+(?:the\s+)?\$[\w.]+)\s+(?P<body>[a-z]\w*\s+\S.*)$",
    re.IGNORECASE,
)
_GETS = re.compile(
    r"^(?:get|fetch|take|obtain|receive|read)\s+(?:the\s+|an?\s+)?(?P<target>\$\w+(?::\w+)?)\s+from\s+(?P<call>\w+)$",
    re.IGNORECASE,
)


class Certainty:
    """Decides before and after the other rules. `classify` reads a part of a step, `no_arguments` says whether a name
    is a playbook that takes none (None where it is no playbook)."""

    def __init__(self, classify: Callable[[str], Instruction], no_arguments: Callable[[str], bool | None]) -> None:
        self._classify = classify
        self._no_arguments = no_arguments

    def rule(self, text: str, bare: str) -> Instruction | None:
        """A step that makes a value, is several things, or is surely free; None for what the other rules decide."""
        if figured := _FIGURED.match(bare):
            return Instruction(Op.EXE, f"{figured['target'] or figured['other']} = {bare}")
        if "(" in bare and is_unsure_call(bare):
            return free(text, "a comma in its numbers may separate arguments, or thousands")
        if _NOTED.match(bare):
            return free(text, "it may replace the value or add to it")
        if TO_A_FILE.match(unquoted(bare)) and "$" in bare:
            return free(text, "a file is something else than a variable")
        if _STEPS_AGAIN.match(bare):
            return free(text, "the repeated steps are not below it")
        if got := _GETS.match(bare):
            takes_none = self._no_arguments(got["call"])
            if takes_none is not None:
                call = f"{got['target']} = {got['call']}(); YLD for call"
                return (
                    Instruction(Op.QUE, call)
                    if takes_none
                    else free(text, f"the arguments of {got['call']} are not given")
                )
        if each := _EACH.match(bare):
            known = self._classify(each["body"]).known
            return (
                Instruction(Op.CND, each["head"], each["body"], loop=True)
                if known
                else free(text, "what is repeated is unclear")
            )
        return self._kept(text, bare)

    def _kept(self, text: str, bare: str) -> Instruction | None:
        """ "Decide whether … and save it as $kind" is a value; "Ask … and add it to $names" is a list that grows."""
        kept = _KEPT.search(bare)
        if kept is None:
            return None
        if kept["verb"].lower() in _LISTS:
            return free(text, f"what it makes is added to {kept['target']}")
        head = bare[: kept.start()]
        made = _MAKES_A_THOUGHT.match(head) is not None and "(" not in head
        return Instruction(Op.EXE, f"{kept['target']} = {head}") if made else None

    def doubt(self, found: Instruction, text: str) -> Instruction | None:
        """The free step in place of an instruction that may mean something else; None where it is sure."""
        plain = unquoted(text)
        why = ""
        if found.op is Op.RET and _LATER.match(found.text):
            why = "when it returns is part of the sentence"
        elif found.op is Op.TNK and _INTO.search(plain):
            why = "what it thinks of goes to a variable"
        elif found.op is Op.CND and not found.loop and says_that_nothing_came(plain):
            why = "a time limit for an answer is part of the sentence"
        elif found.talk is not None and not found.after:
            why = _of_a_message(plain, asks=found.talk.asks)
            if not why and found.talk.asks and not phrases.ASK_ALWAYS.match(plain) and lasts_a_time(plain):
                why = "how long it lasts is part of the sentence"
        return free(text, why, whole=found.op is Op.CND) if why else None


def _of_a_message(plain: str, *, asks: bool) -> str:
    """Why a message may be more than one; "" where it is sure."""
    plain = messages.ANSWER_KEPT.sub("", plain)
    if _BOUND.search(plain):
        return "the largest number of times is part of the sentence"
    if asks and _TO_BE.search(plain) and phrases.UNTIL.search(plain):
        return "until when may be part of what is asked"
    for head, tail in joints(plain):
        bare = phrases.PREFIX.sub("", tail).strip(" .;")
        first = bare.partition(" ")[0].lower()
        if _GOES.match(bare) and not _TO_PEOPLE.search(head):
            return f"{bare[:40]!r} may be part of what is said"
        if first in _WORK and re.search(r"\$\w|\b(?:it|them|again)\b", bare) and not _TO_PEOPLE.search(head):
            return f"{bare[:40]!r} may be part of what is said"
    return ""
