"""A compiled program: agents, playbooks, triggers and steps, ready to be executed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct, field

from runtime.language.diagnostics import Span
from runtime.language.value_types import may_be_none

NOTE = re.compile(r"N(\d+)\b")
"""The code of a note."""
Mode = Literal["playbook", "react", "raw"]
"""How a playbook in natural language is executed: its steps in order, in a loop of thinking and calling until the
model's exit conditions hold, or by one question to the model."""


class AgentKind(StrEnum):
    """The executor of an agent."""

    AI = "AI"
    HUMAN = "Human"
    MCP = "MCP"
    A2A = "A2A"
    REMOTE = "Remote"

    @property
    def on_server(self) -> bool:
        """Whether its playbooks are those of a server: tools, or skills."""
        return self in (AgentKind.MCP, AgentKind.A2A)


class TriggerKind(StrEnum):
    """The kind of a trigger: the start, a condition, an event."""

    BGN = "BGN"
    CND = "CND"
    EVT = "EVT"


class OpCode(StrEnum):
    """The operation codes of PBAsm."""

    EXE = "EXE"
    TNK = "TNK"
    QUE = "QUE"
    CND = "CND"
    CHK = "CHK"
    JMP = "JMP"
    RET = "RET"
    YLD = "YLD"
    LOP = "LOP"
    ELS = "ELS"


class Trigger(Struct, frozen=True):
    """`T1:EVT When …`; `code` is "T1"."""

    code: str
    kind: TriggerKind
    text: str
    span: Span


class Param(Struct, frozen=True):
    """A parameter. `state` when it was written with `$`: then it is also a variable of the agent. `default` is Python
    source of a literal (of any expression in a python playbook), None when the parameter is required."""

    name: str
    state: bool = False
    type: str | None = None
    default: str | None = None

    @property
    def needs_value(self) -> bool:
        """Whether Python code may count on a value: a type is declared that None does not belong to."""
        return self.type is not None and self.default != "None" and not may_be_none(self.type)


def coded(text: str) -> tuple[str, str, str] | None:
    """The number, the code and the text of a line of PBAsm, `02.01:EXE …`, whether there is such a code or not."""
    line, _, said = text.partition(":")
    code, *rest = said.split(maxsplit=1) or [""]
    written = said.startswith(code) and code.isalpha() and all(part.isdecimal() for part in line.split("."))
    return (line, code, "".join(rest).rstrip()) if written else None


class Step(Struct, frozen=True):
    """One instruction. `line` is "01" or "02.01"; `text` is what follows the code."""

    line: str
    op: OpCode
    text: str
    span: Span
    children: tuple[Step, ...] = ()

    def walk(self) -> Iterator[Step]:
        """This step and all below it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


class PlaybookSpec(Struct, frozen=True):
    """A procedure. Only "llm" ones have steps; the code of "python" ones is in their agent's fences, "remote" ones are
    tools of their agent's server and stand in no file, "extension" ones are calls that an extension adds."""

    name: str
    kind: Literal["llm", "python", "remote", "extension"]
    span: Span
    params: tuple[Param, ...] = ()
    returns: str | None = None
    description: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    triggers: tuple[Trigger, ...] = ()
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def public(self) -> bool:
        """Whether other agents may call it."""
        return bool(self.metadata.get("public") or self.metadata.get("export"))

    @property
    def meeting(self) -> bool:
        """Whether its execution is a meeting."""
        return bool(self.metadata.get("meeting"))

    @property
    def hidden(self) -> bool:
        """Whether a model knows it only while executing it; it can still be called."""
        return bool(self.metadata.get("hidden"))

    @property
    def pure(self) -> bool:
        """Whether it only reads, so that a correction may repeat it."""
        return bool(self.metadata.get("pure"))

    @property
    def mode(self) -> Mode:
        """The mode of `execution_mode`; by default "playbook" with steps, "react" without."""
        said: Mode | None = self.metadata.get("execution_mode")
        if said is not None:
            return said
        return "playbook" if self.steps or self.kind != "llm" else "react"

    @property
    def walked(self) -> bool:
        """Whether the runtime executes its steps; else a model executes it with statements."""
        return self.kind == "llm" and self.mode == "playbook" and bool(self.steps)

    def walk_steps(self) -> Iterator[Step]:
        """All steps, nested ones included, in order."""
        for step in self.steps:
            yield from step.walk()

    @property
    def texts(self) -> list[str]:
        """Its notes, triggers and steps."""
        return [*self.notes, *(one.text for one in self.triggers), *(one.text for one in self.walk_steps())]

    def step(self, line: str) -> Step | None:
        """The step with this line number."""
        return next((step for step in self.walk_steps() if step.line == line), None)


class PythonFence(Struct, frozen=True):
    """Trusted code of the program's author, as it is in the file; `span` is its first line of code."""

    source: str
    span: Span


class AgentSpec(Struct, frozen=True):
    """An agent class: a `# H1` and what is below it."""

    name: str
    kind: AgentKind
    span: Span
    description: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    playbooks: tuple[PlaybookSpec, ...] = ()
    fences: tuple[PythonFence, ...] = ()

    @property
    def standby(self) -> bool:
        """Whether it exists from the start even without a start trigger."""
        return self.metadata.get("startup_mode") == "standby"

    @property
    def prompts(self) -> tuple[str, ...]:
        """Messages that people are offered to begin with."""
        return tuple(self.metadata.get("prompts") or ())

    def playbook(self, name: str) -> PlaybookSpec | None:
        return next((playbook for playbook in self.playbooks if playbook.name == name), None)


class Program(Struct, frozen=True, dict=True):
    """A whole program. `digest` changes with its compiled text, `pbasm`."""

    name: str
    agents: tuple[AgentSpec, ...]
    pbasm: str
    digest: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def remote_agents(self) -> frozenset[str]:
        """The names of the agents whose playbooks are a server's tools."""
        return frozenset(agent.name for agent in self.agents if agent.kind.on_server)

    @cached_property
    def _by_name(self) -> Mapping[str, AgentSpec]:
        return {agent.name: agent for agent in reversed(self.agents)}

    @property
    def entry(self) -> tuple[AgentSpec, PlaybookSpec] | None:
        """The entry of a command line: the playbook with `cli_entry: true`, else the first with a start trigger."""
        playbooks = [(agent, playbook) for agent in self.agents for playbook in agent.playbooks]
        marked = [pair for pair in playbooks if pair[1].metadata.get("cli_entry")]
        begins = [pair for pair in playbooks if any(trigger.kind is TriggerKind.BGN for trigger in pair[1].triggers)]
        return next(iter(marked + begins), None)

    def agent(self, name: str) -> AgentSpec | None:
        """The agent class of this name."""
        return self._by_name.get(name)


def jump_target(step: Step) -> str | None:
    """The line that a JMP goes to; None if it names none."""
    line = next((word for word in step.text.lower().split() if word not in ("to", "step")), "").rstrip(",;:.")
    return line if all(part.isdecimal() for part in line.split(".")) else None
