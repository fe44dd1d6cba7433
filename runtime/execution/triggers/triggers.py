"""Variables as they are updated: their declared types, and the triggers that hold by it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runtime.bus import Bus
from runtime.core.errors import PlaybookError
from runtime.core.ids import AgentId
from runtime.events.frames import TriggerFired
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outcomes import at_work, site
from runtime.execution.triggers.kinds import CallTrigger, When, begins_alone, call_trigger, condition_of, triggers_of
from runtime.language.program import AgentKind, AgentSpec, Trigger
from runtime.language.value_types import coerced
from runtime.tape.facts.content import NOTHING
from runtime.tape.facts.frames import CallReturned, VariableSet
from runtime.tape.journal import Journal
from runtime.tape.state.frames import CallKey, CallRecord, FrameState

_TYPE = r"(?:[a-z]+|Optional|Union|Literal|Any|None)(?:\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\])?"
_STATE_NAME = re.compile(rf"\$([^\W\d]\w*)(?::({_TYPE}(?: ?\| ?{_TYPE})*))?")


def declared_types(agent: AgentSpec) -> dict[str, str]:
    """The state variables that an agent's playbooks mention, each with its declared type ("" for none)."""
    types: dict[str, str] = {}
    for playbook in agent.playbooks:
        texts = [step.text for step in playbook.walk_steps()]
        texts += [trigger.text for trigger in playbook.triggers] + [playbook.description, *playbook.notes]
        for name, kind in (found for text in texts for found in _STATE_NAME.findall(text)):
            types[name] = types.get(name) or kind
        for param in playbook.params:
            if param.state:
                types[param.name] = types.get(param.name) or (param.type or "")
    return types


class TriggerHandlers:
    """Executes playbooks that triggers start: the frame that is executed is left where it is and goes on behind them.

    Each is a frame below it that its code does not know of. None begins while it is being executed already, so that
    what it does itself does not start it again.
    """

    def __init__(self, journal: Journal, bus: Bus) -> None:
        self._journal = journal
        self._bus = bus

    def at_work(self, agent: AgentId, name: str) -> bool:
        """Whether the playbook that `agent` calls `name` is being executed."""
        owner, _, playbook = name.rpartition(".")
        state = self._journal.state
        klass = owner or state.agents[agent].klass
        return any(f.playbook == playbook and state.agents[f.agent].klass == klass for f in state.frames.values())

    async def run(self, frame: Frame, call: FrameCall) -> None:
        """Execute one, unless that was done; its failure is in the frame's records."""
        found = frame.host.find(frame.state.agent, call.name)
        if found is None or call.pos in frame.state.records:
            return
        if f"{frame.id}:{call.pos}" not in self._journal.state.frames:
            self._bus.publish(TriggerFired(*at_work(self._journal.session, frame), call.name))
        await frame.host.run_child(frame, call, *found, hidden=True)

    async def due(self, frame: Frame, call: FrameCall) -> None:
        """Execute the playbook of a trigger, `Agent:Playbook:T1`, whose time has come; none that is not there."""
        _, playbook, *_ = [*call.name.split(":"), "", ""]
        await self.run_once(frame, FrameCall(call.pos, playbook))

    async def run_once(self, frame: Frame, call: FrameCall) -> None:
        """Execute or continue one, unless it is being executed already in another place."""
        if f"{frame.id}:{call.pos}" in self._journal.state.frames or not self.at_work(frame.state.agent, call.name):
            await self.run(frame, call)


class CallTriggers:
    """Playbooks that are executed before or after others of their agent, or of an agent that may call them."""

    def __init__(self, agents: Mapping[str, AgentSpec], handlers: TriggerHandlers) -> None:
        self._handlers = handlers
        self._names: dict[tuple[str, CallTrigger], list[str]] = {}
        sharing = shares_triggers(agents)
        for agent in agents.values():
            for name, trigger in automatic(agent, sharing):
                owner = agents[name.rpartition(".")[0] or agent.name]
                found = call_trigger(trigger.text, [playbook.name for playbook in (*agent.playbooks, *owner.playbooks)])
                if found is not None and agent.playbook(found.playbook) is not None:
                    self._names.setdefault((agent.name, found), []).append(name)

    async def run(self, when: When, frame: Frame) -> None:
        """Execute those of a frame that is about to begin, or whose playbook has ended."""
        state = frame.state
        names = self._names.get((frame.agent.klass, CallTrigger(when, state.playbook)), ())
        calls = [FrameCall(f"{when}{index}", name) for index, name in enumerate(names)]
        if when == "before":
            calls = [*(FrameCall(f"before.set{index}", name) for index, name in enumerate(state.fired)), *calls]
        if not calls or (when == "before" and _has_begun(state)):
            return
        for call in calls:
            await self._handlers.run_once(frame, call)


def _has_begun(state: FrameState) -> bool:
    return bool(
        state.at or state.turn or state.statements or any(not pos.startswith("before") for pos in state.records)
    )


def shares_triggers(agents: Mapping[str, AgentSpec]) -> Sequence[AgentSpec]:
    return [
        agent
        for agent in agents.values()
        if agent.kind is not AgentKind.HUMAN and any(each.public and each.triggers for each in agent.playbooks)
    ]


def automatic(agent: AgentSpec, sharing: Sequence[AgentSpec]) -> Iterator[tuple[str, Trigger]]:
    """The triggers whose playbooks the runtime can begin for an agent: its own, and those of others of `sharing`, each
    with the name by which it calls the playbook."""
    others = [other for other in sharing if other.name != agent.name]
    for owner, playbook, trigger in triggers_of(agent, others):
        if begins_alone(playbook):
            yield (playbook.name if owner is agent else f"{owner.name}.{playbook.name}"), trigger


class VariableRules:
    """Rules for setting a variable: its declared type is checked, and triggers that become true are run."""

    def __init__(self, agents: Mapping[str, AgentSpec], journal: Journal, handlers: TriggerHandlers) -> None:
        self.types = {name: declared_types(spec) for name, spec in agents.items()}
        self._journal = journal
        self.handlers = handlers
        sharing = shares_triggers(agents)
        self._conditions = {
            name: [
                (called, condition)
                for called, trigger in automatic(spec, sharing)
                if (condition := condition_of(trigger.text)) is not None
            ]
            for name, spec in agents.items()
        }

    async def update(self, frame: Frame, call: FrameCall, name: str, value: Any, summary: str | None = None) -> None:
        """Set the variable and run what it triggers. Raises PlaybookError for a value that does not fit its type.

        With a summary it is an artifact, and the call gives None.
        """
        value = self._typed(frame, name, value)
        given, artifacts = (value, NOTHING) if summary is None else (None, {name: summary})
        key = CallKey(frame.id, call.pos)
        fired = self._journal.state.fired.get(key)
        if fired is None:
            fired = self.fired_by(frame.state.agent, {name: value})
            if not fired:
                self._journal.note(CallReturned(*site(frame, call), given, artifacts=artifacts, sets={name: value}))
                return
            self._journal.note(VariableSet(frame.id, call.pos, name, value, fired))
        for index, playbook in enumerate(fired):
            await self.handlers.run(frame, FrameCall(f"{call.pos}:t{index}", playbook))
        failure = self._failure(frame, call, len(fired))
        if failure is None:
            self._journal.note(CallReturned(*site(frame, call), given, artifacts=artifacts))
        else:
            self._journal.note(CallReturned(*site(frame, call), error=failure.error, raised_at=failure.raised_at))

    @staticmethod
    def _failure(frame: Frame, call: FrameCall, fired: int) -> CallRecord | None:
        """The outcome of the first triggered playbook that failed, for the code that set the variable."""
        records = (frame.state.records.get(f"{call.pos}:t{index}") for index in range(fired))
        return next((record for record in records if record is not None and record.error), None)

    def _typed(self, frame: Frame, name: str, value: Any) -> Any:
        declared = self.types.get(frame.agent.klass, {}).get(name) or ""
        try:
            return coerced(value, declared)
        except ValueError as error:
            raise PlaybookError(f"${name} {error}") from error

    def fired_by(self, agent: AgentId, changes: Mapping[str, Any]) -> list[str]:
        """The playbooks whose conditions begin to hold when variables of an agent change so."""
        owner = self._journal.state.agents[agent]
        before, after = owner.variables, {**owner.variables, **changes}
        return [
            playbook
            for playbook, condition in self._conditions.get(owner.klass, ())
            if condition(after) and not condition(before) and not self.handlers.at_work(agent, playbook)
        ]
