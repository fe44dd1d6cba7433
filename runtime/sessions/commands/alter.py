"""A variable of an agent, or a name of a frame, is changed from outside, in a scratch room and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

from msgspec import Struct

from runtime.core.address import SCRATCH
from runtime.core.ids import AgentId
from runtime.execution.triggers.triggers import declared_types
from runtime.language.program import PlaybookSpec
from runtime.language.value_types import coerced
from runtime.sessions.features import SessionPart, SessionParts
from runtime.stores.inbox import ALTERED, InboxEvent
from runtime.tape.facts.frames import LocalsAltered
from runtime.tape.facts.session import VariablesAltered
from runtime.tape.state.frames import FrameState


class VariableAlteration(Struct, frozen=True):
    """A variable of an agent and its new value, as the text of an event has them; with `frame` an argument or a local
    of that frame."""

    agent: AgentId
    name: str
    value: Any
    frame: str | None = None

    def __str__(self) -> str:
        return json.dumps([self.agent, self.name, self.value, self.frame], ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `str`. Raises ValueError."""
        agent, name, value, *frame = json.loads(text)
        return cls(AgentId(agent), str(name), value, *frame)


def changeable(frame: FrameState, spec: PlaybookSpec | None) -> Mapping[str, Any]:
    """The arguments and locals of a frame that can be changed, with their values: none of code, which is executed again
    from its beginning, and none that are variables of the agent."""
    if spec is None or spec.kind != "llm":
        return {}
    own = {param.name for param in spec.params if not param.state}
    return {**{name: value for name, value in frame.kwargs.items() if name in own}, **frame.locals}


class SessionAlterations(SessionPart):
    """Changes variables and locals of one session. A change is a fact, and fires no trigger; the next statement sees
    it."""

    def __init__(self, parts: SessionParts) -> None:
        super().__init__(parts)
        self.commands = {ALTERED: self._alter}

    async def _alter(self, event: InboxEvent) -> None:
        if self._record.address.platform != SCRATCH:
            return
        wanted = VariableAlteration.read(event.text)
        types = self._types(wanted)
        if wanted.name not in types:
            self._pages.tell(self._pages.texts("session.nothing_to_alter", name=wanted.name))
            return
        try:
            value = coerced(wanted.value, types[wanted.name])
        except ValueError as error:
            self._pages.tell(self._pages.texts("session.not_altered", name=wanted.name, error=str(error)))
            return
        if wanted.frame is None:
            self._journal.note(VariablesAltered(wanted.agent, {wanted.name: value}))
        else:
            self._journal.note(LocalsAltered(wanted.frame, {wanted.name: value}))
        shown = json.dumps(value, ensure_ascii=False)
        self._pages.tell(self._pages.texts("session.altered", name=wanted.name, value=shown))

    def _types(self, wanted: VariableAlteration) -> Mapping[str, str]:
        """What can be changed where it is wanted, with the declared types, "" for none."""
        state = self._journal.state
        agent, frame = state.agents.get(wanted.agent), state.frames.get(wanted.frame or "")
        spec = None if agent is None else self._program.agent(agent.klass)
        if agent is None:
            return {}
        if wanted.frame is None:
            declared = {} if spec is None else declared_types(spec)
            return {name: declared.get(name, "") for name in agent.variables}
        if frame is None or frame.agent != agent.id or spec is None:
            return {}
        playbook = spec.playbook(frame.playbook)
        given = {} if playbook is None else {param.name: param.type for param in playbook.params}
        return {name: given.get(name) or "" for name in changeable(frame, playbook)}
