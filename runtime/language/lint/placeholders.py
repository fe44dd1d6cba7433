"""Unknown names in placeholders: `{topc}` where the variable is `$topic`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

from runtime.language.first_implementation import NAMED_IN_PLACEHOLDERS
from runtime.language.lint.findings import Finding, did_you_mean
from runtime.language.placeholders import placeholders
from runtime.language.program import AgentSpec, Program
from runtime.language.syntax.signature import parse_python
from runtime.language.value_types import VARIABLE, variable_name


class PlaceholderLint:
    """The placeholders of descriptions and steps. `built_in` are the names that can be called everywhere."""

    def __init__(self, program: Program, built_in: Collection[str]) -> None:
        self._everywhere = {*dir(builtins), *built_in, *NAMED_IN_PLACEHOLDERS, "agent", "self"}
        self._everywhere |= {agent.name for agent in program.agents}

    def in_agent(self, agent: AgentSpec) -> Iterator[Finding]:
        """Findings in the agent's playbooks."""
        own = {*defined_in(agent), *_variables(agent), *(playbook.name for playbook in agent.playbooks)}
        for playbook in agent.playbooks:
            if playbook.kind != "llm":
                continue
            for span, text in (
                (playbook.span, playbook.description),
                *((s.span, s.text) for s in playbook.walk_steps()),
            ):
                for said, name in _names(text):
                    if name not in own | self._everywhere:
                        hint = (
                            did_you_mean(name, own)
                            or "Name a variable, a playbook, or what the agent's Python defines."
                        )
                        yield Finding(span, f"nothing is called {name} in {{{said}}}", hint, name)


def _names(text: str) -> Iterator[tuple[str, str]]:
    """The placeholders of a text with each name that they read without a `$`."""
    for found in placeholders(text):
        if not found.code:
            continue
        nodes = [node for node in ast.walk(parse_python(found.code)) if isinstance(node, ast.Name)]
        stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        read = dict.fromkeys(variable_name(node.id) for node in nodes if isinstance(node.ctx, ast.Load))
        yield from ((found.said, name) for name in read if name not in stored and name not in found.variables)


def _variables(agent: AgentSpec) -> set[str]:
    names = {param.name for playbook in agent.playbooks for param in playbook.params}
    for playbook in agent.playbooks:
        texts = [playbook.description, *playbook.notes, *(trigger.text for trigger in playbook.triggers)]
        texts += [step.text for step in playbook.walk_steps()]
        names |= {name for text in texts for name in VARIABLE.findall(text)}
    return names


def defined_in(agent: AgentSpec) -> Iterator[str]:
    """The names that the agent's Python defines, and the variables that it sets by `agent.state`."""
    for fence in agent.fences:
        for node in ast.walk(parse_python(fence.source)):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    yield name
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    yield name
                case ast.Constant(value=str(name)):
                    yield name
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    yield from ((one.asname or one.name).partition(".")[0] for one in names)
