"""What the steps around a step say of it: whether its condition is for later, and what their loops go through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from runtime.language.event_triggers import speaks_of_people, trigger_kind
from runtime.language.instructions.conditions.reading import read_answer, read_condition
from runtime.language.instructions.decode import work_of
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import Ask, Call, Free, Leave, Loop, LoopKind, Say, Wait
from runtime.language.instructions.steps.course import course_of
from runtime.language.instructions.steps.repeating import branch_of, loop_of
from runtime.language.instructions.steps.setting import settings_of
from runtime.language.lowering import phrases
from runtime.language.lowering.clauses import joints
from runtime.language.lowering.instruction import LoweredInstruction, free, meaning_of
from runtime.language.program import OpCode, Step, Trigger, TriggerKind
from runtime.language.syntax.nodes import ListItem
from runtime.language.vocabulary.phrase import phrase

LATER = "it may be meant for later, and a trigger of a playbook waits for that"


def reaction(text: str) -> str:
    """Whether a step waits for an answer to the one before it, or depends on it: "wait", "depends" or ""."""
    branch = branch_of(phrases.plain(text).partition(",")[0])
    if course := course_of(phrase("opening").without(text)):
        return "wait" if isinstance(course.does, Wait) and not course.said[:1].isupper() else ""
    test = branch.test.rstrip(" .:") if branch else ""
    return "depends" if phrase("depends on an answer").begins(test) or read_answer(test) in ("yes", "no") else ""


class Occasions:
    """The steps of one playbook, up to where they are read."""

    def __init__(self, triggers: Sequence[Trigger]) -> None:
        kinds = {trigger_kind(trigger.text) for trigger in triggers}
        self._called = TriggerKind.EVT in kinds
        self._heard = kinds != {TriggerKind.BGN}
        self._left = self._told = False

    def note(self, step: Step) -> None:
        """Something may have been said in a step, except in one that is left for later."""
        self._left, left = False, self._left
        if left:
            return
        parts = [part for inner in step.walk() for part in meaning_of(inner).parts]
        self._told = all(isinstance(part, Say) for part in parts)
        if any(isinstance(part, Ask | Wait | Call | Free) for part in parts):
            self._heard = self._called = True

    def why_later(self, condition: str, above: Step | None, *, in_a_loop: bool) -> str:
        """Why a condition, perhaps below a step that waits (`above`), may be about what people say later; "" if not."""
        test = phrase("branch at start").begins(condition)
        asked = above is not None and any(isinstance(part, Ask | Wait) for part in meaning_of(above).parts)
        if test and self._told and not asked and phrase("reacts").begins(test.rest):
            return "nothing before it waits for their answer"
        return "" if in_a_loop or not self._is_for_later(condition) else LATER

    def _is_for_later(self, condition: str) -> bool:
        when = phrase("when").begins(condition)
        rest = when.rest if when else ""
        speaks = when is not None and (speaks_of_people(rest) or phrase("somebody").begins(rest) is not None)
        said = when is None or not speaks or (self._called if when["asked"] else self._heard and not self._told)
        elsewhere = phrase("happens elsewhere").inside(rest) or phrase("time is up").begins(rest)
        complete = not speaks and phrase("is complete").begins(rest) and read_condition(rest) is None
        said = said and (when is None or not (elsewhere or complete))
        self._left = not said or phrase("whenever").begins(condition) is not None
        return self._left


_THEM = (["them"], ["him"], ["her"], ["each"])


class LoopPeople:
    """The loops around a step, from the outermost: those over people, and what each tests and nothing in it sets."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._tested: list[set[str]] = []

    @contextmanager
    def inside(self, found: LoweredInstruction, item: ListItem) -> Iterator[None]:
        """While the steps below an instruction, which stands in an item, are read."""
        loop = loop_of(found.text) if found.loop else None
        each = loop.variable if loop else None
        noun = each.name.rpartition("_")[2].lower() if each else ""
        people = [each.name] if each and (noun in phrases.ROLES or phrase("people").is_all_of(noun)) else []
        self._names += people
        self._tested += [_tested(loop, item)] * found.loop
        yield
        del self._names[len(self._names) - len(people) :], self._tested[len(self._tested) - found.loop :]

    def counting(self, found: LoweredInstruction, item: ListItem) -> tuple[LoweredInstruction, ListItem]:
        """A step that begins the next *round* of a loop that tests `$round` and never sets it: free, it may count."""
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
        nobody = phrase("people").inside(said) is None and phrase("of them").inside(said)
        return f"it may be for each {self._names[-1]}, or for the user" if words[:1] in _THEM or nobody else ""


def _tested(loop: Loop | None, item: ListItem) -> set[str]:
    if loop is None or loop.kind not in (LoopKind.WHILE, LoopKind.UNTIL) or not isinstance(loop.over, Expression):
        return set()
    said = [phrases.plain(inner.text) for child in item.children for inner in child.walk()]
    parts = [*said, *(tail for text in said for _, tail in joints(text))]
    made = (one for part in parts for one in settings_of(phrase("opening").without(part)))
    changed = [target for one in made for target in one.targets]
    asked = [name for text in said if phrase("ask always").begins(text) for name in phrases.VARIABLE.findall(text)]
    return {*loop.over.names} - {name.removeprefix("$").partition(":")[0] for name in changed} - {*asked}
