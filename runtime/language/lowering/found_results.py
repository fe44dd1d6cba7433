"""Conditions about whether the call right before them found something: exact where the declared result tells."""

from __future__ import annotations

import ast
from collections.abc import Collection
from itertools import islice

from runtime.language.instructions.conditions.reading import plain_marks, read_condition
from runtime.language.instructions.conditions.tokens import leading_tokens
from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Call
from runtime.language.lowering import phrases
from runtime.language.lowering.clauses import open_text
from runtime.language.lowering.questions import AskedVariables
from runtime.language.lowering.scope import Reach
from runtime.language.program import Step
from runtime.language.value_types import variable_name
from runtime.language.vocabulary.phrase import phrase

_FOUND = {"missing": phrase("nothing was found"), "given": phrase("something was found")}
_BEFORE_A_NOUN = frozenset({"the", "their", "his", "her", "its", "and", "or"})
_ANSWERS = frozenset({"yes", "no", "none", "nothing", "so"})
"""Words that mean a value, or an answer in words."""
_OF_THE_THING = frozenset({"positive", "negative", "shorter", "longer", "taller", "older", "younger", "years"})
_OF_SEVERAL = frozenset({"are", "were", "have", "do", "did", "exceed", "reach"})
_MOST_CLAUSES = 4
_IT = frozenset({"", "it", "that", "anything", "something", "one"})


def about_what_was_found(text: str, before: Step | None, reach: Reach) -> str:
    """The condition *there is no such order* behind `$order = FindOrder($id)` as `$order is missing`; any other text as
    it is. *No such book* is what was looked for, whatever the variable is called."""
    branch = phrase("branch at start").begins(text)
    if before is None or branch is None:
        return text
    for state, found in _FOUND.items():
        said = found.begins(branch.rest)
        if said and (name := _result(before, reach)) and (said["such"] or _names(name, said["what"])):
            return f"{text[: branch.end()]} ${name} is {state}{branch.rest[said.end() :]}"
    return text


def without_what_was_found(text: str) -> str:
    """A sentence without such a condition, whose words `$order is missing` replaces."""
    branch = phrase("branch at start").begins(text)
    said = next(filter(None, (found.begins(branch.rest) for found in _FOUND.values())), None) if branch else None
    return said.rest if said else text


def about_values(text: str, known: AskedVariables) -> str:
    """A condition about *the price* with `$price` in its place, where that has a value that it surely compares; any
    other text as it is: *If the room is empty* may be about the thing."""
    start = phrase("test at start").begins(text)
    if start is None or not known.given:
        return text
    cuts = islice(phrases.CLAUSE_START.finditer(open_text(text)), _MOST_CLAUSES)
    for end in (*(cut.start() for cut in cuts), len(text)):
        said = text[start.end() : end]
        named = _with_signs(said, known.given)
        test = read_condition(named.rstrip(" .:")) if named != said else None
        if test and not read_condition(said.rstrip(" .:")):
            words = {token.text for token in leading_tokens(plain_marks(named))}
            ordered = known.numbers if words.isdisjoint(_OF_SEVERAL | _OF_THE_THING) else frozenset[str]()
            return f"{text[: start.end()]}{named}{text[end:]}" if _compares(test.tree, ordered, known.lists) else text
    return text


def _compares(test: ast.expr, numbers: Collection[str], lists: Collection[str]) -> bool:
    """Whether a test asks only whether values are equal, are in a list, or are in an order as numbers."""
    match test:
        case ast.BoolOp(values=parts):
            return all(_compares(part, numbers, lists) for part in parts)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]):
            return _is_bare(left) and variable_name(name) in lists
        case ast.Compare(left=left, ops=ops, comparators=others):
            names = (variable_name(one.id) for one in (left, *others) if isinstance(one, ast.Name))
            equal = all(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in ops)
            return all(map(_is_bare, (left, *others))) and (equal or all(name in numbers for name in names))
    return False


def _is_bare(value: ast.expr) -> bool:
    """Whether a value is a variable, a number, a text, or a list of such values."""
    match value:
        case ast.Constant(value=plain):
            return isinstance(plain, int | float | str) and not isinstance(plain, bool)
        case ast.List(elts=parts):
            return all(map(_is_bare, parts))
        case ast.UnaryOp(op=ast.USub(), operand=one):
            return _is_bare(one)
    return isinstance(value, ast.Name)


def _with_signs(said: str, given: Collection[str]) -> str:
    """A condition with `$` before each noun that is the name of a variable with a value."""
    tokens = leading_tokens(plain_marks(said))
    words = [token.text if token.kind == "WORD" else "" for token in tokens]
    if not _ANSWERS.isdisjoint(words):
        return said
    for at in reversed(range(len(tokens))):
        alone = at == 0 or words[at - 1] in _BEFORE_A_NOUN
        for count in (3, 2, 1) if alone and words[at] else ():
            name = "_".join(words[at : at + count])
            if name in given and name.isidentifier() and at + count <= len(tokens):
                said = f"{said[: tokens[at].at]}${name}{said[tokens[at + count - 1].end :]}"
                break
    return said


def _result(before: Step, reach: Reach) -> str | None:
    """The variable that a call has just set, if its value tells whether something was found."""
    made = decode(before).head
    if before.children or not isinstance(made, Call) or made.result is None or made.result.path:
        return None
    agent, _, name = made.name.rpartition(".")
    playbook = reach.playbook(agent, name)
    returns = (playbook.returns or "").lower() if playbook else ""
    return made.result.name if any(map(_tells, returns.split("|"))) else None


def _tells(kind: str) -> bool:
    """Whether a value of a type is empty only where nothing was found: None and an empty list, but no empty text."""
    return kind.strip().partition("[")[0] in ("none", "optional", "list", "tuple", "set")


def _names(variable: str, noun: str) -> bool:
    """Whether a noun is what a variable holds: `order` or `orders` for `$order` and `$found_order`."""
    words, own = noun.lower().removeprefix("the ").rstrip("s"), variable.lower().replace("_", " ").rstrip("s")
    return words in _IT or own == words or own.endswith(f" {words}")
