"""The kind of trigger that a sentence states, and the events of other programs that it names."""

from __future__ import annotations

import re

from runtime.core.cloud_event import is_pattern
from runtime.language.program import TriggerKind
from runtime.language.variable_names import VARIABLE
from runtime.language.vocabulary.phrase import phrase

_BEGIN = phrase("start of the program")
_EVENT = phrase("people act")
_OF_A_VARIABLE = phrase("of a variable")
_CONDITION = phrase("state")

_AN_EVENT = r"(?:(?:a|an|any|each|every|the)\s+)?(?:new\s+)?events?\s+"
_OF_OTHERS = re.compile(
    rf"(?:(?:when|whenever|if|once|as soon as|on|upon|after)\s+)?{_AN_EVENT}[`\"“]?(?P<pattern>[\w*>.-]+)[`\"”]?\s+"
    r"(?:comes?(?:\s+in)?|arrives?|happens?|occurs?|(?:is|are|was|has\s+been)\s+(?:received|sent|posted))"
    rf"|(?:on|upon)\s+{_AN_EVENT}[`\"“]?(?P<dotted>[\w*-]+\.[\w*>.-]+)[`\"”]?",
    re.IGNORECASE,
)


def event_trigger(text: str) -> str | None:
    """The pattern of the types of other programs' events on which a playbook begins: `When the event shop.order.placed
    arrives`, `On the event build.>`. None for all other triggers."""
    found = _OF_OTHERS.fullmatch(text.strip().rstrip("."))
    pattern = (found["pattern"] or found["dotted"]) if found is not None else ""
    return pattern if is_pattern(pattern) else None


def speaks_of_people(text: str) -> bool:
    """Whether a text speaks of what people and agents do."""
    return _EVENT.inside(VARIABLE.sub("", text)) is not None


def trigger_kind(text: str) -> TriggerKind:
    """BGN for the start of the program, EVT for what people and agents do, CND for the state of things."""
    if event_trigger(text) is not None:
        return TriggerKind.EVT
    if _BEGIN.inside(text.strip().rstrip(".")):
        return TriggerKind.BGN
    if _OF_A_VARIABLE.begins(text.strip()):
        return TriggerKind.CND
    if speaks_of_people(text):
        return TriggerKind.EVT
    return TriggerKind.CND if _CONDITION.inside(text) else TriggerKind.EVT
