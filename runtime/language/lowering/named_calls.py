"""Calls in words, of playbooks and of the memory: "Find $order", "Remember that the user is vegetarian"."""

from __future__ import annotations

import re

from runtime.language.instructions.steps.calling import given_to
from runtime.language.instructions.steps.setting import settings_of
from runtime.language.instructions.values import result_of
from runtime.language.lowering import phrases
from runtime.language.lowering.instruction import LoweredInstruction, free, waiting_call
from runtime.language.lowering.scope import Reach
from runtime.language.syntax.signature import spaced
from runtime.language.vocabulary.phrase import phrase

_LONGEST_NAME = 6
"""The number of words at the beginning of a sentence that may name a playbook."""


class NamedCalls:
    """Finds the calls in the steps of the playbook `within`."""

    def __init__(self, reach: Reach, within: str) -> None:
        self._reach = reach
        self._within = within

    def in_words(self, said: str, *, value: bool = False) -> str | None:
        """The call in "Call Find with $query and save it as $found", as it is written in PBAsm; as a `value` also in
        "Find with $query". None for no call, and for one whose arguments are unclear."""
        bare = phrase("call word").without(said)
        if bare != said and phrases.whole_call(bare):
            return bare
        name, _, rest = bare.partition(" ")
        verb = bare != said or (value and name[:1].isupper())
        if not self._reach.knows(name) or not (verb or _is_spelled(name)):
            return None
        agent, _, playbook = name.rpartition(".")
        known = self._reach.playbook(agent, playbook)
        given = given_to(rest, tuple(param.name for param in known.params) if known else ())
        if given is None:
            return None
        arguments, target = given
        return f"{f'{target} = ' if target else ''}{name}({arguments})"

    def meant(self, words: str) -> str | None:
        """The playbook that words alone mean, never the one that has them: "Thank the user" in ThankTheUser."""
        found = self._reach.meant(words)
        return None if found == self._within else found

    def begin(self, said: str, *, spelled: bool = False) -> bool:
        """Whether a sentence starts with a playbook's name, unless `spelled` also in words: "Get order status"."""
        words = said.split()
        if words and self._reach.knows(words[0]) and _is_spelled(words[0]):
            return True
        names = [] if spelled else self._reach.meant_by_first(words, _LONGEST_NAME)
        return any(name != self._within and " " in spaced(name) for name in names)

    def behind_its_purpose(self, bare: str) -> str | None:
        """The call, in PBAsm, behind words for its purpose: "Check the class: $ok = HasClass($class)"; else None."""
        purpose, _, rest = bare.partition(": ")
        made = settings_of(rest)
        call = result_of(made[0].text) if len(made) == 1 and not made[0].operator else rest
        name = phrases.whole_call(call)
        if (
            not name
            or not self._reach.knows(name)
            or phrase("more than a purpose").inside(phrase("looks whether").without(purpose))
        ):
            return None
        verb = purpose.partition(" ")[0].lower()
        told = phrase("tell").begins(purpose) or phrase("ask always").begins(purpose)
        same = spaced(name.rpartition(".")[2]).lower().split()[:1] == [verb]
        sure = (made and not told) or same or phrase("puts down").begins(purpose)
        return f"{rest.rstrip('. ;')}: {purpose}" if sure else None

    def by_variable(self, text: str, bare: str) -> LoweredInstruction | None:
        """ "Find $order" with a playbook FindOrder: the variable is its argument or result, or the step stays free."""
        if "$" not in bare:
            return None
        *verb, variable = [word for word in bare.split() if word.lower() not in ("the", "a", "an")] or [""]
        name, typed, _ = variable.removeprefix("$").partition(":")
        known = self.meant(" ".join([*verb, name.replace("_", " ")])) if variable.startswith("$") and verb else None
        if known is None:
            return None
        params = [param.name for param in self._reach.params(known)]
        if not params and "." not in known:
            return waiting_call(f"{variable} = {known}()")
        if params == [name] and not typed:
            return waiting_call(f"{known}({variable})")
        return free(text, f"the arguments of {known} are not given")


def _is_spelled(name: str) -> bool:
    """Whether only a name looks so, and no word of a sentence: FindOrder, find_order."""
    return name[1:] != name[1:].lower() or "_" in name[1:]


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
            return waiting_call(f"Remember({_literal(remembered['what'])}{about}): {said}")
        value = phrase("remember a value").begins(rest)
        if value is not None and target is None:
            return waiting_call(f"Remember({value['what']}): {said}")
        recalled = phrase("recall").begins(rest)
        if recalled is None:
            return None
        question = recalled["what"]
        if target is None and (kept := phrase("memory kept as").inside(question)):
            target, question = kept["target"], question[: kept.start()].rstrip()
        result = "" if target is None else f"{target} = "
        return waiting_call(f"{result}Recall({_literal(question)}): {said}")


def _literal(words: str) -> str:
    """Words of a step as a text in code, with the values of the variables that they name."""
    written = words.strip().replace("\\", "\\\\").replace('"', '\\"')
    if not _NAMED.search(written):
        return f'"{written}"'
    pieces = (one.replace("{", "{{").replace("}", "}}") for one in _NAMED.split(written))
    return 'f"' + "".join(f"{{${one}}}" if at % 2 else one for at, one in enumerate(pieces)) + '"'
