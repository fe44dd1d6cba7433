"""Steps about memories: "Remember that the user is vegetarian", "What do you know about the user's diet?"."""

from __future__ import annotations

import re

from runtime.language.lowering import phrases
from runtime.language.lowering.instruction import LoweredInstruction
from runtime.language.lowering.scope import Reach
from runtime.language.program import OpCode
from runtime.language.vocabulary.phrase import phrase

_NAMED = re.compile(r"\{?\$([^\W\d]\w*)\}?")


class Remembering:
    """The rules for memories, in programs that say that they have one. What they are not sure of stays free."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    def rule(self, text: str, bare: str) -> LoweredInstruction | None:
        """The instruction of a step that remembers or recalls; None for any other step."""
        if not self._reach.has_memory:
            return None
        target, rest = phrases.given_to(bare)
        rest = rest.rstrip("?.; ")
        said = text.rstrip(".; ")
        remembered = phrase("remember that").begins(rest)
        if remembered is not None and target is None:
            about = ', about="place"' if phrase("of a place").begins(remembered["what"]) else ""
            return LoweredInstruction(
                OpCode.QUE, f"Remember({_literal(remembered['what'])}{about}): {said}; YLD for call"
            )
        value = phrase("remember a value").begins(rest)
        if value is not None and target is None:
            return LoweredInstruction(OpCode.QUE, f"Remember({value['what']}): {said}; YLD for call")
        recalled = phrase("recall").begins(rest)
        if recalled is None:
            return None
        question = recalled["what"]
        if target is None and (kept := phrase("memory kept as").inside(question)):
            target, question = kept["target"], question[: kept.start()].rstrip()
        result = "" if target is None else f"{target} = "
        return LoweredInstruction(OpCode.QUE, f"{result}Recall({_literal(question)}): {said}; YLD for call")


def _literal(words: str) -> str:
    """Words of a step as a text in code, with the values of the variables that they name."""
    written = words.strip().replace("\\", "\\\\").replace('"', '\\"')
    if not _NAMED.search(written):
        return f'"{written}"'
    pieces = (one.replace("{", "{{").replace("}", "}}") for one in _NAMED.split(written))
    return 'f"' + "".join(f"{{${one}}}" if at % 2 else one for at, one in enumerate(pieces)) + '"'
