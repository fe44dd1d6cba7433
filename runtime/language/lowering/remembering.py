"""Steps about memories: "Remember that the user is vegetarian", "What do you know about the user's diet?"."""

from __future__ import annotations

import re

from runtime.language.lowering import phrases
from runtime.language.lowering.instruction import LoweredInstruction
from runtime.language.lowering.scope import Reach
from runtime.language.program import Op

_VARIABLE = r"\$[^\W\d]\w*(?::\w+)?"
_GIVEN_TO = re.compile(rf"^({_VARIABLE})\s*=(?!=)\s*")
_KEPT_AS = re.compile(
    rf",?\s+(?:as|into|and (?:store|save|keep|put) (?:it|this|that|the (?:answer|result)) (?:as|in))\s+({_VARIABLE})$",
    re.IGNORECASE,
)
_REMEMBERS = re.compile(r"^(?:remember|memori[sz]e|keep in mind)\s+that\s+(.+)$", re.IGNORECASE | re.DOTALL)
_REMEMBERS_VALUE = re.compile(r"^(?:remember|memori[sz]e)\s+(\$[^\W\d]\w*)$", re.IGNORECASE)
_RECALLS = re.compile(
    r"^(?:recall|(?:look up|find out) what (?:you|we) (?:know|remember) (?:about|of)"
    r"|what (?:do|did) (?:you|we) (?:know|remember|learn) (?:about|of)|what is (?:known|remembered) (?:about|of))"
    r"\s+(?!that\b)(.+)$",
    re.IGNORECASE | re.DOTALL,
)
_OF_A_PLACE = re.compile(
    r"^(?:we|(?:this|the) (?:group|room|channel|team|place|thread|chat)|(?:people|everybody) here)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\{?\$([^\W\d]\w*)\}?")


class Remembering:
    """The rules for memories, in programs that say that they have one. What they are not sure of stays free."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    def rule(self, text: str, bare: str) -> LoweredInstruction | None:
        """The instruction of a step that remembers or recalls; None for any other step."""
        if not self._reach.has_memory:
            return None
        given = _GIVEN_TO.match(bare)
        target, rest = (None, bare) if given is None else (given[1], phrases.PREFIX.sub("", bare[given.end() :]))
        rest = rest.rstrip("?.; ")
        said = text.rstrip(".; ")
        remembered = _REMEMBERS.match(rest)
        if remembered is not None and target is None:
            about = ', about="place"' if _OF_A_PLACE.match(remembered[1]) else ""
            return LoweredInstruction(Op.QUE, f"Remember({_literal(remembered[1])}{about}): {said}; YLD for call")
        value = _REMEMBERS_VALUE.match(rest)
        if value is not None and target is None:
            return LoweredInstruction(Op.QUE, f"Remember({value[1]}): {said}; YLD for call")
        recalled = _RECALLS.match(rest)
        if recalled is None:
            return None
        question = recalled[1]
        if target is None and (kept := _KEPT_AS.search(question)):
            target, question = kept[1], question[: kept.start()]
        result = "" if target is None else f"{target} = "
        return LoweredInstruction(Op.QUE, f"{result}Recall({_literal(question)}): {said}; YLD for call")


def _literal(words: str) -> str:
    """Words of a step as a text in code, with the values of the variables that they name."""
    written = words.strip().replace("\\", "\\\\").replace('"', '\\"')
    if not _NAMED.search(written):
        return f'"{written}"'
    whole = _NAMED.sub(r"<\1>", written).replace("{", "{{").replace("}", "}}")
    return 'f"' + re.sub(r"<(\w+)>", r"{$\1}", whole) + '"'
