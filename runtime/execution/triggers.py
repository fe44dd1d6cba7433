"""Variables as they are updated: their declared types, and the triggers that hold by it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runtime.core.errors import PlaybookError
from runtime.execution.conditions import condition_of
from runtime.execution.frame import Call, Frame
from runtime.execution.host import Callees, Host, site
from runtime.execution.value_types import coerced
from runtime.language.program import AgentSpec, TriggerKind
from runtime.tape.frame_rules import call_key
from runtime.tape.journal import Journal

_STATE_NAME = re.compile(r"\$([A-Za-z_]\w*)(?::([a-z]+(?:\[[\w\[\], ]*\])?))?")


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


class VariableRules:
    """What happens when a variable is set: its declared type is checked, and triggers that become true are run."""

    def __init__(
        self,
        agents: Mapping[str, AgentSpec],
        journal: Journal,
        host: Host,
        callees: Callees,
    ) -> None:
        self._types = {name: declared_types(spec) for name, spec in agents.items()}
        self._journal = journal
        self._host = host
        self._callees = callees
        self._conditions = {
            name: [
                (playbook.name, condition)
                for playbook in spec.playbooks
                for trigger in playbook.triggers
                if trigger.kind is not TriggerKind.BGN and (condition := condition_of(trigger.text)) is not None
            ]
            for name, spec in agents.items()
        }

    async def update(self, frame: Frame, call: Call, name: str, value: Any) -> None:
        """Set the variable and run what it triggers. Raises PlaybookError for a value that does not fit its type."""
        value = self._typed(frame, name, value)
        key = call_key(frame.id, call.pos)
        fired = self._journal.state.fired.get(key)
        if fired is None:
            fired = self._fired(frame, name, value)
            if not fired:
                self._journal.note("res", **site(frame, call), val=value, set={name: value})
                return
            self._journal.note("set", f=frame.id, pos=call.pos, name=name, val=value, fired=fired)
        for index, playbook in enumerate(fired):
            await self._run(frame, Call(f"{call.pos}:t{index}", playbook))
        failure = self._failure(frame, call, len(fired))
        outcome: dict[str, Any] = {"val": value} if failure is None else {"exc": list(failure)}
        self._journal.note("res", **site(frame, call), **outcome)

    @staticmethod
    def _failure(frame: Frame, call: Call, fired: int) -> tuple[str, str] | None:
        """How the first of the triggered playbooks that failed did so: for the code that set the variable to see."""
        records = (frame.state.records.get(f"{call.pos}:t{index}") for index in range(fired))
        return next((record.error for record in records if record is not None and record.error), None)

    async def _run(self, frame: Frame, call: Call) -> None:
        executable = self._callees.of_agent(frame.state.agent, call.name)
        if executable is not None and call.pos not in frame.state.records:
            await self._host.run_child(frame, call, frame.state.agent, executable, hidden=True)

    def _typed(self, frame: Frame, name: str, value: Any) -> Any:
        declared = self._types.get(frame.agent.klass, {}).get(name) or ""
        try:
            return coerced(value, declared)
        except ValueError as error:
            raise PlaybookError(f"${name} {error}") from error

    def _fired(self, frame: Frame, name: str, value: Any) -> list[str]:
        before = frame.agent.variables
        after = {**before, name: value}
        running = {f.playbook for f in self._journal.state.frames.values() if f.agent == frame.state.agent}
        return [
            playbook
            for playbook, condition in self._conditions.get(frame.agent.klass, ())
            if playbook not in running and condition(after) and not condition(before)
        ]
