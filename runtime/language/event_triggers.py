"""The playbooks that begin on events of other programs, and what they get of an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.core.cloud_event import CloudEvent
from runtime.language.program import PlaybookSpec, Program
from runtime.language.trigger_words import event_trigger

WHOLE = "event"
"""The parameter that gets the whole event."""

PLACE = "deliver"
"""The key between the `---` lines of a program that names the place where people see what such playbooks say to them:
one of `[tasks.places]`."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A playbook of an agent class that begins on events of a pattern. `program` is its name in the settings."""

    program: str
    klass: str
    playbook: PlaybookSpec
    pattern: str

    @property
    def name(self) -> str:
        """What it is called among all programs."""
        return f"{self.program}.{self.klass}.{self.playbook.name}"


def begun_on_events(name: str, program: Program) -> Iterator[Begun]:
    """The triggers of a program by events, in their order; `name` is what the settings call it."""
    for agent in program.agents:
        for playbook in agent.playbooks:
            for trigger in playbook.triggers:
                pattern = event_trigger(trigger.text)
                if pattern is not None:
                    yield Begun(name, agent.name, playbook, pattern)


def arguments_of(playbook: PlaybookSpec, event: CloudEvent) -> dict[str, Any]:
    """What a playbook gets of an event: the whole under that name, and of the data what is called like parameters."""
    data = event.data if isinstance(event.data, Mapping) else {}
    whole = {WHOLE: event.as_data(content=False), **data}
    return {param.name: whole[param.name] for param in playbook.params if param.name in whole}
