"""Conditions about what has not happened yet: "When you are asked, say …" is judged once, where its author may mean
later."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Ask, Call, Free, Say, Wait
from runtime.language.program import Step, Trigger, TriggerKind
from runtime.language.trigger_words import speaks_of_people, trigger_kind

_WHENEVER = re.compile(r"(?:whenever|(?:each|every|any) time)\b", re.IGNORECASE)
_SOMEBODY = re.compile(r"(?:they|he|she)\s", re.IGNORECASE)
_WHEN = re.compile(r"(?:when|once|as soon as)\s+(?P<asked>you(?:['\u2019]re|\s+are|\s+get)\s+)?", re.IGNORECASE)


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

    def is_for_later(self, condition: str) -> bool:
        """Whether a condition outside of a loop may be about what people say from now on."""
        when = _WHEN.match(condition)
        rest = condition[when.end() :] if when else ""
        speaks = when is not None and (speaks_of_people(rest) or _SOMEBODY.match(rest) is not None)
        said = when is None or not speaks or (self._called if when["asked"] else self._heard and not self._told)
        self._left = not said or _WHENEVER.match(condition) is not None
        return self._left
