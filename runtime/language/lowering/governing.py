"""Words that govern a step: when, how often, on what condition or by what way it is done."""

from __future__ import annotations

from itertools import islice

from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.instructions.model import LoopKind, Prose
from runtime.language.instructions.operands import condition_of
from runtime.language.instructions.steps.repeating import branch_of, loop_of
from runtime.language.instructions.talk import TalkLine
from runtime.language.instructions.text import governing
from runtime.language.instructions.values import read_value
from runtime.language.lowering import messages
from runtime.language.lowering.clauses import unquoted
from runtime.language.lowering.instruction import LoweredInstruction
from runtime.language.program import OpCode
from runtime.language.vocabulary.phrase import phrase

_MOST = 8
"""The places that are asked for in a message: more are in none that anybody writes."""
_CLOSING = ('"', "\u201d")


def why_governed(found: LoweredInstruction, text: str) -> str:
    """Why a step is more than what it is read as: words govern it that no part of the instruction has; else ""."""
    if found.op is OpCode.CND:
        governed = _beside_a_test(found, text)
    elif found.after:
        return ""
    elif found.talk is not None:
        governed = _beside_a_message(text, until=_waits_until(found.spoken))
    elif (phrase("called in a sentence").begins(text) and f": {text.rstrip('. ;')};" in found.text) or (
        found.op is OpCode.YLD and phrase("a wait for people").begins(text)
    ):
        governed = _beside_a_message(text, whole=True)
    elif found.op in (OpCode.RET, OpCode.TNK):
        returns = found.op is OpCode.RET
        governed = governing(found.text, lambda before: returns and read_value(before) is not None)
    else:
        return ""
    return f"{governed!r} may say when, how often or on what condition it is done" if governed else ""


def _waits_until(spoken: TalkLine | None) -> bool:
    return spoken is not None and any(wait.done for wait in spoken.waits)


def _beside_a_message(text: str, *, until: bool = False, whole: bool = False) -> str:
    said = phrase("answer kept").left_out_of(text)
    if until and (ends := phrase("until").inside(said)):
        said = said[: ends.start()]
    plain, talks = unquoted(said), phrase("talk of several messages").begins(said) is not None
    for found in islice((one for one in phrase("governs").all_inside(said) if not one["test"]), _MOST):
        before = plain[: found.start()]
        if messages.is_indirect(before) or phrase("whether").inside(before) or ":" in before:
            return ""  # from here on it is what the message is about
        closed = whole or (said[: found.start()].rstrip(" ,").endswith(_CLOSING) and not _lists_choices(said))
        about = found["words"] and (
            before.endswith((" for ", " of "))
            or phrase("what is said").inside(before)
            or (found.whole.startswith("when") and phrase("asks when").inside(before))
            or (not whole and _has_the_time(plain, found.start()))
        )
        governs = (
            (found["any"] and not (talks and phrase("in a talk").begins(found.whole)))
            or found["over"]
            or (found["often"] and not before.endswith(("the ", "their ")))
            or (found["words"] and not about)
        )
        if governs or closed:
            return found.whole
    return ""


def _lists_choices(said: str) -> bool:
    """Whether quotations are what is chosen from, and not said: "Ask for the result, "white" or "black""."""
    words = phrase("says exactly").left_out_of(said.replace("\u201c", '"').partition('"')[0]).rstrip()
    return words.endswith(",") and words.strip(" ,") != ""


def _has_the_time(plain: str, at: int) -> bool:
    """Whether the time at a place belongs to the thing before it: "the meeting on Monday"."""
    return any(one.start() < at < one.end() for one in phrase("its own time").all_inside(plain.replace("$", " ")))


def _beside_a_test(found: LoweredInstruction, text: str) -> str:
    if text.lower().startswith(("until then", "till then")):
        return text[: text.index(" ") + 5]
    body = (found.body or "").rstrip(" :")
    joined = text[text.find(found.text) + len(found.text) :].lstrip()[:1] not in (",", ":", ";")
    alone = phrase("governs").is_all_of(body)
    lasts = phrase("lasts until or while").begins(body)
    if body and ((joined and (lasts or alone)) or (lasts and found.loop)):
        return body  # it may be the loop, or the whole step, that it governs
    branch, loop = branch_of(found.text), loop_of(found.text)
    tested = condition_of(branch.test) if branch and not found.loop else None
    test = loop.over if loop and loop.kind is not LoopKind.EACH else tested
    kinds = ("words", "value", "often", "test")
    prose = test.text if isinstance(test, Prose) else ""
    return governing(prose, lambda before: read_condition(before) is not None, kinds, always=())
