"""What loops go through and count: "For each tenant in $tenants, write them" is no word to the user, and "go on to the
next round" may count $round."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from runtime.language.instructions.decode import work_of
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import Leave, Loop, LoopKind
from runtime.language.instructions.steps.repeating import loop_of
from runtime.language.instructions.steps.setting import settings_of
from runtime.language.lowering import phrases, vocabulary
from runtime.language.lowering.clauses import joints
from runtime.language.lowering.instruction import LoweredInstruction, free
from runtime.language.program import OpCode
from runtime.language.syntax.nodes import ListItem
from runtime.language.vocabulary.phrase import phrase

_THEM = (["them"], ["him"], ["her"], ["each"])


class LoopPeople:
    """The loops around a step, from the outermost: those whose items are people, and what each tests and nothing in it
    sets."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._tested: list[set[str]] = []

    @contextmanager
    def inside(self, found: LoweredInstruction, item: ListItem) -> Iterator[None]:
        """While the steps below an instruction, which stands in an item, are read."""
        loop = loop_of(found.text) if found.loop else None
        each = loop.variable if loop else None
        noun = each.name.rpartition("_")[2].lower() if each else ""
        people = [each.name] if each and (noun in vocabulary.ROLES or phrase("people").is_all_of(noun)) else []
        self._names += people
        self._tested += [_tested(loop, item)] * found.loop
        yield
        del self._names[len(self._names) - len(people) :], self._tested[len(self._tested) - found.loop :]

    def counting(self, found: LoweredInstruction, item: ListItem) -> tuple[LoweredInstruction, ListItem]:
        """A step that goes on to the next *round* of a loop that tests `$round` and never sets it: a free one, which
        names the variable, since to go on may count it."""
        word = item.text.rstrip(" .;!").rpartition(" ")[2].lower()
        name = next((one for one in self._tested[-1] if word in one.lower().split("_")), "") if self._tested else ""
        if not name or found.op is not OpCode.EXE or work_of(found.text)[0] != Leave(next_round=True):
            return found, item
        item = replace(item, text=f"{item.text.rstrip(' .;!')} (${name})")
        return free(item.text, f"it may count ${name}, which nothing else in the loop changes"), item

    def doubt(self, found: LoweredInstruction, said: str) -> str:
        """Why a message may be for them; "" where it is surely for somebody else."""
        if not self._names or found.talk is None or found.talk.target != "user" or f"${self._names[-1]}" in said:
            return ""
        words = [word for word in phrase("opening").without(phrases.plain(said)).lower().split()[1:3] if word != "to"]
        return f"it may be for each {self._names[-1]}, or for the user" if words[:1] in _THEM else ""


def _tested(loop: Loop | None, item: ListItem) -> set[str]:
    if loop is None or loop.kind not in (LoopKind.WHILE, LoopKind.UNTIL) or not isinstance(loop.over, Expression):
        return set()
    said = [phrases.plain(inner.text) for child in item.children for inner in child.walk()]
    parts = [*said, *(tail for text in said for _, tail in joints(text))]
    changed = [
        target for part in parts for one in settings_of(phrase("opening").without(part)) for target in one.targets
    ]
    asked = [name for text in said if phrase("ask always").begins(text) for name in phrases.VARIABLE.findall(text)]
    return {*loop.over.names} - {name.removeprefix("$").partition(":")[0] for name in changed} - {*asked}
