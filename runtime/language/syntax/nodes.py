"""The syntax tree of a program as its author wrote it, before lowering."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from runtime.language.diagnostics import Diagnostic, Span
from runtime.language.program import AgentKind, Param, PythonFence


@dataclass(frozen=True, slots=True)
class ListItem:
    """One item of a list. `text` is one line, without the bullet; `source_line` the line that it begins in."""

    text: str
    span: Span
    children: tuple[ListItem, ...] = ()
    source_line: str = field(default="", compare=False)

    def walk(self) -> Iterator[ListItem]:
        """This item and all below it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def shown(self) -> str:
        """Its line, as a diagnostic shows it."""
        if self.source_line:
            return self.source_line
        return "- ".rjust(self.span.column - 1) + self.text if self.span.column > 2 else self.text


class ParsedPlaybook(Struct, frozen=True):
    """A `## heading` and its sections, or a python function marked `@playbook`."""

    name: str
    kind: Literal["llm", "python"]
    span: Span
    params: tuple[Param, ...] = ()
    returns: str | None = None
    description: str = ""
    metadata: Mapping[str, Any] = {}
    triggers: tuple[ListItem, ...] = ()
    steps: tuple[ListItem, ...] = ()
    notes: tuple[ListItem, ...] = ()


class ParsedAgent(Struct, frozen=True):
    """A `# heading` and all below it: `source` with imports in place; `compiled`, from .pbasm, its steps have codes."""

    name: str
    kind: AgentKind
    span: Span
    source: str
    compiled: bool = False
    description: str = ""
    metadata: Mapping[str, Any] = {}
    playbooks: tuple[ParsedPlaybook, ...] = ()
    fences: tuple[PythonFence, ...] = ()

    def playbook(self, name: str) -> ParsedPlaybook | None:
        return next((playbook for playbook in self.playbooks if playbook.name == name), None)


class ParsedProgram(Struct, frozen=True, dict=True):
    """All agents of all files, in order. `metadata` is the merged frontmatter, `warnings` what is probably a mistake,
    `lines` the text by file and number."""

    name: str
    agents: tuple[ParsedAgent, ...]
    metadata: Mapping[str, Any] = {}
    warnings: tuple[Diagnostic, ...] = ()
    lines: Mapping[tuple[str, int], str] = {}

    @cached_property
    def _callable(self) -> Mapping[str, frozenset[str]]:
        return {agent.name: frozenset(playbook.name for playbook in agent.playbooks) for agent in self.agents}

    @property
    def names(self) -> Collection[str]:
        """The names of all agents."""
        return self._callable.keys()

    def has_playbook(self, agent: str, playbook: str) -> bool:
        """Whether the agent of this name has a playbook of this name."""
        return playbook in self._callable.get(agent, ())
