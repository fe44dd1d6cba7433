"""Conditions about whether the call right before them found something: exact where the declared result tells."""

from __future__ import annotations

from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Call
from runtime.language.lowering import phrases
from runtime.language.lowering.scope import Reach
from runtime.language.program import Step
from runtime.language.vocabulary.phrase import phrase

_FOUND = {"missing": phrase("nothing was found"), "given": phrase("something was found")}
_IT = frozenset({"", "it", "that", "anything", "something", "one"})


def about_what_was_found(text: str, before: Step | None, reach: Reach) -> str:
    """The condition *there is no such order* behind `$order = FindOrder($id)` as `$order is missing`; any other text as
    it is. *No such book* is what was looked for, whatever the variable is called."""
    branch = phrases.BRANCH_AT_START.begins(text)
    if before is None or branch is None:
        return text
    for state, found in _FOUND.items():
        said = found.begins(branch.rest)
        if said and (name := _result(before, reach)) and (said["such"] or _names(name, said["what"])):
            return f"{text[: branch.end()]} ${name} is {state}{branch.rest[said.end() :]}"
    return text


def without_what_was_found(text: str) -> str:
    """A sentence without such a condition, whose words `$order is missing` replaces."""
    branch = phrases.BRANCH_AT_START.begins(text)
    said = next(filter(None, (found.begins(branch.rest) for found in _FOUND.values())), None) if branch else None
    return said.rest if said else text


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
