"""Conditions about what has not happened yet: "When you are asked, say …" is judged once, where its author may mean
later."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.language.event_triggers import speaks_of_people, trigger_kind
from runtime.language.instructions.conditions.reading import read_condition
from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Ask, Call, Free, Say, Wait
from runtime.language.program import Step, Trigger, TriggerKind
from runtime.language.vocabulary.phrase import phrase

LATER = "it may be meant for later, and a trigger of a playbook waits for that"


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
        parts = [part for inner in step.walk() for part in decode(inner).parts]
        self._told = all(isinstance(part, Say) for part in parts)
        if any(isinstance(part, Ask | Wait | Call | Free) for part in parts):
            self._heard = self._called = True

    def why_later(self, condition: str, *, in_a_loop: bool) -> str:
        """Why a condition may be about what people say from now on; "" where it is not."""
        test = phrase("branch at start").begins(condition)
        if test and self._told and phrase("reacts").begins(test.rest):
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
