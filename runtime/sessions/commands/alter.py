"""A variable of an agent is changed from outside, in a scratch room and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from runtime.core.address import SCRATCH
from runtime.core.ids import AgentId
from runtime.execution.speech.pages import Pages
from runtime.execution.triggers.triggers import declared_types
from runtime.language.program import Program
from runtime.language.value_types import coerced
from runtime.stores.inbox import ALTERED, InboxEvent
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.agents import VariablesAltered
from runtime.tape.journal import Journal


@dataclass(frozen=True, slots=True)
class Alteration:
    """A variable of an agent and its new value, as the text of an event has them."""

    agent: AgentId
    name: str
    value: Any

    def __str__(self) -> str:
        return json.dumps([self.agent, self.name, self.value], ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`. Raises ValueError."""
        agent, name, value = json.loads(text)
        return cls(AgentId(agent), str(name), value)


class Alterations:
    """Changes variables of one session. A change is a fact, and fires no trigger; the next statement sees it."""

    def __init__(self, record: SessionRecord, program: Program, journal: Journal, pages: Pages) -> None:
        self._record = record
        self._program = program
        self._journal = journal
        self._pages = pages

    def table(self) -> Mapping[str, Callable[[InboxEvent], Awaitable[None]]]:
        """What carries out the events of its kind."""
        return {ALTERED: self._alter}

    async def _alter(self, event: InboxEvent) -> None:
        if self._record.address.platform != SCRATCH:
            return
        wanted = Alteration.read(event.text)
        agent = self._journal.state.agents.get(wanted.agent)
        if agent is None or wanted.name not in agent.variables:
            self._pages.tell(self._pages.texts("session.nothing_to_alter", name=wanted.name))
            return
        spec = self._program.agent(agent.klass)
        declared = "" if spec is None else declared_types(spec).get(wanted.name, "")
        try:
            value = coerced(wanted.value, declared)
        except ValueError as error:
            self._pages.tell(self._pages.texts("session.not_altered", name=wanted.name, error=str(error)))
            return
        self._journal.note(VariablesAltered(agent.id, {wanted.name: value}))
        shown = json.dumps(value, ensure_ascii=False)
        self._pages.tell(self._pages.texts("session.altered", name=wanted.name, value=shown))
