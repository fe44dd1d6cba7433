"""The people whom loops go through: "For each tenant in $tenants, write them" is no word to the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runtime.language.instructions.steps.repeating import loop_of
from runtime.language.lowering import phrases, vocabulary
from runtime.language.lowering.instruction import LoweredInstruction

_THEM = (["them"], ["him"], ["her"], ["each"])


class LoopPeople:
    """The loops around a step whose items are people, from the outermost."""

    def __init__(self) -> None:
        self._names: list[str] = []

    @contextmanager
    def inside(self, found: LoweredInstruction) -> Iterator[None]:
        """While the steps below an instruction are read."""
        loop = loop_of(found.text) if found.loop else None
        each = loop.variable if loop else None
        noun = each.name.rpartition("_")[2].lower() if each else ""
        people = [each.name] if each and (noun in vocabulary.ROLES or phrases.PERSON.is_all_of(noun)) else []
        self._names += people
        yield
        del self._names[len(self._names) - len(people) :]

    def doubt(self, found: LoweredInstruction, said: str) -> str:
        """Why a message may be for them; "" where it is surely for somebody else."""
        if not self._names or found.talk is None or found.talk.target != "user" or f"${self._names[-1]}" in said:
            return ""
        words = [word for word in phrases.PREFIX.without(phrases.plain(said)).lower().split()[1:3] if word != "to"]
        return f"it may be for each {self._names[-1]}, or for the user" if words[:1] in _THEM else ""
