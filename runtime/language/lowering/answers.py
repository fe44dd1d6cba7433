"""Conditions that say no more than *so* or *not*: what they answer is the question or the check before them."""

from __future__ import annotations

from msgspec.structs import replace

from runtime.language.instructions.conditions.reading import read_answer, read_condition
from runtime.language.instructions.model import (
    Ask,
    BranchSide,
    Call,
    Condition,
    Free,
    Meaning,
    Prose,
    Say,
    Set,
    Template,
    Think,
    Wait,
)
from runtime.language.lowering.instruction import LoweredInstruction, free, meaning_of
from runtime.language.program import OpCode, Step

_IF = ("if ", "when ")
_OPPOSITES = {"yes": "no", "no": "yes", "nothing": "", None: "no"}
_SOMEBODY = frozenset({"they", "he", "she"})
_WHETHER = (" whether ", " if ", " that ")


def answer_in(found: LoweredInstruction) -> str | None:
    """The answer that a condition or the condition of a jump is: "yes", "no" or "nothing"; None for another step."""
    said = found.text
    if found.op is OpCode.JMP:
        said = said.partition(" ")[2]
    elif found.op is not OpCode.CND or found.loop:
        return None
    test = next((said[len(word) :] for word in _IF if said.lower().startswith(word)), "")
    return read_answer(test.rstrip(" .:")) if test else None


def answering(
    found: LoweredInstruction, answer: str, before: Step | None, said_before: str | None, above: Step | None
) -> LoweredInstruction:
    """The condition in full, where a value, an exact check or the opposite answers it; else as it is, or free."""
    while before is not None and before.children and before.op is not OpCode.CND:
        before = before.children[-1]
    stands = before or (above if above is not None and above.op is not OpCode.CND else None)
    if stands is None:
        return free(found.text, "nothing stands before it that it answers", whole=True)
    head = meaning_of(stands).parts[-1]
    if isinstance(head, Condition):
        last = before.children[-1] if before is not None and before.children else None
        asked = last is not None and may_be_answered(meaning_of(last).parts[-1])
        if asked and not _SOMEBODY.isdisjoint(found.text.lower().split()):
            return free(found.text, "what it answers is unclear", whole=True)
        if head.side is BranchSide.IF and answer == _OPPOSITES[said_before]:
            return _with_test(found, "Otherwise")
        return free(found.text, "what it answers is unclear", whole=True)
    if (name := _truth(head)) is not None:
        tested = _with_test(found, f"If {name}" if answer == "yes" else f"If not {name}")
        return tested if answer != "nothing" else found
    if isinstance(head, Think | Free) and (test := _checked(head)) and answer != "nothing":
        return _with_test(found, f"{'If' if answer == 'yes' else 'Unless'} {test}")
    return found if may_be_answered(head) else free(found.text, "what it answers is unclear", whole=True)


def _with_test(found: LoweredInstruction, test: str) -> LoweredInstruction:
    if found.op is OpCode.CND:
        return replace(found, text=test)
    line = found.text.partition(" ")[0]
    if test == "Otherwise":
        return LoweredInstruction(OpCode.CND, test, f"Go to step {line}")
    return replace(found, text=f"{line} {test[:1].lower()}{test[1:]}")


def _truth(head: Meaning) -> str | None:
    """The variable that says yes or no after a step; None where there is none."""
    match head:
        case Ask(wants=(want,), until=None):
            variable = want
        case Call(result=want) if want is not None:
            variable = want
        case Set(variables=(want,)):
            variable = want
        case _:
            return None
    return f"${variable.name}" if variable.type == "bool" and not variable.path else None


def _checked(head: Think | Free) -> str | None:
    """What a step checks, if that is exact: `$n is 3` in `Check whether $n is 3`."""
    text = (head.about if isinstance(head, Think) else head.text).text.rstrip(" .:")
    word = next((word for word in _WHETHER if word in text), None)
    test = text.partition(word)[2] if word else ""
    return test if test and read_condition(test) is not None else None


def may_be_answered(head: Meaning) -> bool:
    """Whether a step may have an answer that a model can judge."""
    match head:
        case Ask() | Wait() | Call() | Think():
            return True
        case Free(text=Prose(text=said)) | Say(words=Prose(text=said)):
            asks = _WHETHER[:2] if isinstance(head, Say) else _WHETHER
            return "?" in said or any(word in said for word in asks)
        case Say(words=Template(parts=parts)):
            return any("?" in part for part in parts if isinstance(part, str))
    return False
