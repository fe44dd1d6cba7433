"""Steps in words that make a value: which variable gets it, if it is certain."""

from __future__ import annotations

import re

from runtime.language.instructions.model import Action, Free, Prose, Set, Variable
from runtime.language.instructions.operands import VARIABLE, variable_of
from runtime.language.instructions.text import clauses_of
from runtime.language.vocabulary.phrase import phrase

_SEVERAL = r"\$\w+(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)\$\w+(?!\s+(?:to|be|as|=)\s))*"

DOES_MORE = re.compile(
    r"(?:,|\band|\bthen|&)\s+(?:(?:and|then|also)\s+)*(?:(?:tell|say|show|ask|send|save|print|notify|inform|give|email|call"
    r"|run|store|record|write|update|add|remove|append|return|end|exit|quit|stop|go|wait|thank|greet|log)\s+[\w$\"]"
    r"|[A-Za-z_][\w.]*\()",
    re.IGNORECASE,
)
"""A further action after a value in words: "Draft $mail and send it"."""

_TAKES = phrase("takes a value")

_INTO = re.compile(
    r"(?:(?:store|save|remember|write|draft|compose|summari[sz]e)\b.*\bin|(?:assign|store)\b.*\bto|(?!translate\b|convert\b).*\b(?:into|as))\s+"
    r"(?P<target>\$[^\W\d]\w*(?:\.\w+|\[[^\]]*\])*)\s*\.?\Z",
    re.IGNORECASE | re.DOTALL,
)
"""The variable that a made value goes to: "Summarize $text into $short"."""

_MAKES = re.compile(
    r"(?:compute|calculate|recalculate|generate|extract|determine|decide(?:\s+on)?|pick|choose|select"
    r"|count|summari[sz]e|classify|translate"
    r"|convert|format|create|compose|draft|write|make|build|derive|estimate|find out|store|save"
    r"|remember|update|get|guess|rate|rank|sort|filter|parse|assign|define|identify|infer|prepare)\b",
    re.IGNORECASE,
)


TO_A_FILE = re.compile(
    r"(?:write|save|store|put|export|dump)\b[^\"]*\b(?:file|disk|\w+\.(?:txt|md|csv|json|html))\b", re.IGNORECASE
)
"""A value that goes into a file: "Write $result to a file named out.txt"."""


_PART_OF_A_NOUN = phrase("part of a noun")

_TARGETS = re.compile(r"\b(?:as|into)\s+\$[^\W\d]\w*", re.IGNORECASE)
"""The variables of several values: "Remember the first as $from and the second as $to"."""


def why_free(text: str) -> str:
    if len(clauses_of(text)) > 1:
        return "it has several clauses, one of which is prose"
    return "it is prose of no known kind of step"


def made(clause: str) -> Action:
    """A step in words that creates a variable's value; else a free one."""
    if DOES_MORE.search(clause):
        return Free(Prose(clause), "it does more than make a value")
    if TO_A_FILE.match(clause):
        return Free(Prose(clause), "a file is something else than a variable")
    if len(_TARGETS.findall(clause)) > 1:
        return Free(Prose(clause), "it makes several values")
    typed = [Variable(name, kind) for name, kind in VARIABLE.findall(clause) if kind]
    if _MAKES.match(clause) and ";" not in clause:
        if typed:
            return Set(tuple(typed), Prose(clause))
        direct = re.match(rf"{_MAKES.pattern}\s+(?:the\s+|a\s+|an\s+)?({_SEVERAL})", clause, re.IGNORECASE)
        if into := _INTO.match(clause):
            return Set((variable_of(into["target"]),), Prose(clause))
        behind = clause[direct.end(1) :] if direct else ""
        part_of_it = not clause.lower().startswith("make ") and _PART_OF_A_NOUN.begins(behind.lstrip()) is not None
        part_of_it |= behind.startswith(("'", "\u2019"))
        if direct and not part_of_it and not _TAKES.begins(clause):
            return Set(tuple(Variable(name) for name, _ in VARIABLE.findall(direct[1])), Prose(clause))
    return Free(Prose(clause), why_free(clause))
