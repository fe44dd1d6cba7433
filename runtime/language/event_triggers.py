"""The kind of trigger that a sentence states, and the playbooks that begin on events of other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from runtime.core.cloud_event import CloudEvent, is_pattern
from runtime.language.program import PlaybookSpec, Program, TriggerKind
from runtime.language.value_types import VARIABLE
from runtime.language.vocabulary.phrase import phrase

WHOLE = "event"
"""The parameter that gets the whole event."""

PLACE = "deliver"
"""The key between the `---` lines of a program that names the place where people see what such playbooks say to them:
one of `[tasks.places]`."""


class EventPlaybook(Struct, frozen=True):
    """A playbook of an agent class that begins on events of a pattern. `program` is its name in the settings."""

    program: str
    klass: str
    playbook: PlaybookSpec
    pattern: str

    @property
    def name(self) -> str:
        """What it is called among all programs."""
        return f"{self.program}.{self.klass}.{self.playbook.name}"


def begun_on_events(name: str, program: Program) -> Iterator[EventPlaybook]:
    """The triggers of a program by events, in their order; `name` is what the settings call it."""
    for agent in program.agents:
        for playbook in agent.playbooks:
            for trigger in playbook.triggers:
                pattern = event_trigger(trigger.text)
                if pattern is not None:
                    yield EventPlaybook(name, agent.name, playbook, pattern)


def arguments_of(playbook: PlaybookSpec, event: CloudEvent) -> dict[str, Any]:
    """What a playbook gets of an event: the whole under that name, and of the data what is called like parameters."""
    data = event.data if isinstance(event.data, Mapping) else {}
    whole = {WHOLE: event.as_data(content=False), **data}
    return {param.name: whole[param.name] for param in playbook.params if param.name in whole}


def event_trigger(text: str) -> str | None:
    """The pattern of events on which a playbook begins: `When the event shop.order.placed arrives`; else None."""
    found = phrase("event of another program").is_all_of(text.strip().rstrip("."))
    pattern = found["pattern"].strip('`"\u201c\u201d') if found else ""
    return pattern if found and is_pattern(pattern) and (found["comes"] or "." in pattern) else None


def speaks_of_people(text: str) -> bool:
    """Whether a text speaks of what people and agents do."""
    return phrase("people act").inside(VARIABLE.sub("", text)) is not None


def trigger_kind(text: str) -> TriggerKind:
    """BGN for the start of the program, EVT for what people and agents do, CND for the state of things."""
    if event_trigger(text) is not None:
        return TriggerKind.EVT
    if phrase("start of the program").inside(text.strip().rstrip(".")):
        return TriggerKind.BGN
    if phrase("of a variable").begins(text.strip()):
        return TriggerKind.CND
    if speaks_of_people(text):
        return TriggerKind.EVT
    return TriggerKind.CND if phrase("state").inside(text) else TriggerKind.EVT
