"""Steps in words that make a value: which variable gets it, if it is certain."""

from __future__ import annotations

from runtime.language.instructions.model import Action, Free, Prose, Set, VariableTarget
from runtime.language.instructions.operands import VARIABLE, variable_of
from runtime.language.instructions.text import clauses_of, governing
from runtime.language.vocabulary.phrase import phrase


def why_free(text: str) -> str:
    if len(clauses_of(text)) > 1:
        return "it has several clauses, one of which is prose"
    return "it is prose of no known kind of step"


def goes_to_a_file(clause: str) -> bool:
    """Whether a value goes into a file, which is no variable."""
    found = phrase("to a file").begins(clause)
    return found is not None and '"' not in found.whole


def made(clause: str) -> Action:
    """A step in words that creates a variable's value; else a free one."""
    if phrase("does more").inside(clause):
        return Free(Prose(clause), "it does more than make a value")
    if governing(clause, lambda before: before.rpartition(" ")[2].startswith("$")):
        return Free(Prose(clause), "when or how often it is made is part of the sentence")
    if goes_to_a_file(clause):
        return Free(Prose(clause), "a file is something else than a variable")
    if len(list(phrase("target").all_inside(clause))) > 1:
        return Free(Prose(clause), "it makes several values")
    if phrase("finds out several").begins(clause):
        return Free(Prose(clause), "who says the values is not said")
    typed = [VariableTarget(name, kind) for name, kind in VARIABLE.findall(clause) if kind]
    if phrase("makes a value").begins(clause) and ";" not in clause:
        if typed:
            return Set(tuple(typed), Prose(clause))
        direct = phrase("makes variables").begins(clause)
        if into := phrase("made into").begins(clause):
            return Set((variable_of(into["target"]),), Prose(clause))
        behind = clause[direct.end() :] if direct else ""
        noun = not clause.lower().startswith("make ") and phrase("part of a noun").begins(behind.lstrip())
        part_of_it = noun or behind.startswith(("'", "\u2019"))
        if direct and not part_of_it and not phrase("takes a value").begins(clause):
            return Set(tuple(VariableTarget(name) for name, _ in VARIABLE.findall(direct["what"])), Prose(clause))
    return Free(Prose(clause), why_free(clause))
