"""Playbooks that nothing can reach."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from runtime.language.lint.findings import Finding, SourceLines, as_written
from runtime.language.program import AgentSpec, PlaybookSpec, Program
from runtime.language.syntax.naming import NAME_PART
from runtime.language.syntax.signature import parse_python
from runtime.language.vocabulary.word_list import WORD

_LITTLE = frozenset({"a", "an", "the", "of", "to", "for", "and", "in", "on", "with"})


class ReachabilityLint:
    """The playbooks of each agent of a program."""

    def __init__(self, program: Program, built_in: Collection[str], lines: SourceLines) -> None:
        self._lines = lines
        self._built_in = frozenset(built_in)
        keys = ("delivery_handler", "custom_handler")
        self._deliver = {str(agent.metadata.get(key)).rpartition(".")[2] for agent in program.agents for key in keys}

    def in_agent(self, agent: AgentSpec) -> Iterator[Finding]:
        """Playbooks without a trigger that no text of their agent names, and that nobody else can call.

        A name in any form counts: `Get the order status` names GetOrderStatus. Says nothing of agents of which nothing
        begins, or in which a model chooses among all playbooks.
        """
        by_name = {playbook.name: playbook for playbook in agent.playbooks}
        reached = {name for name, playbook in by_name.items() if _is_root(playbook)}
        if not reached:
            return
        considering = {str(one.metadata.get("before_joining")) for one in agent.playbooks}
        reached |= (considering | self._deliver) & by_name.keys()
        outside = _Text.of([agent.description, *_python(agent)])
        reached |= {name for name in by_name if outside.names(name)}
        if not _follow(by_name, reached, self._lines):
            return
        for playbook in agent.playbooks:
            if playbook.name not in reached | self._built_in:
                hint = "Call it in a step, give it a trigger, or make it public."
                yield Finding(playbook.span, f"nothing reaches the playbook {playbook.name}", hint, playbook.name)


def _follow(by_name: Mapping[str, PlaybookSpec], reached: set[str], lines: SourceLines) -> bool:
    """Add the playbooks that reached ones name; False if one of them lets a model choose among all."""
    todo = list(reached)
    while todo:
        playbook = by_name[todo.pop()]
        if playbook.kind == "llm" and playbook.mode == "react":
            return False
        text = _Text.of(_texts(playbook, lines))
        found = {name for name in by_name.keys() - reached if text.names(name)}
        reached |= found
        todo += found
    return True


def _is_root(playbook: PlaybookSpec) -> bool:
    return bool(playbook.triggers or playbook.public or playbook.meeting or playbook.metadata.get("cli_entry"))


def _texts(playbook: PlaybookSpec, lines: SourceLines) -> list[str]:
    """The texts of a playbook, with its steps also in their author's words."""
    steps = list(playbook.walk_steps())
    written = [as_written(step.span, lines) for step in steps]
    triggers = [trigger.text for trigger in playbook.triggers]
    return [*playbook.description.splitlines(), *playbook.notes, *triggers, *(step.text for step in steps), *written]


def _python(agent: AgentSpec) -> Iterator[str]:
    """The names and texts in the agent's Python. The definition of a function does not name it."""
    for fence in agent.fences:
        for node in ast.walk(parse_python(fence.source)):
            match node:
                case ast.Name(id=text) | ast.Attribute(attr=text) | ast.Constant(value=str(text)):
                    yield text


@dataclass(frozen=True, slots=True)
class _Text:
    """The names in some texts: unchanged words, their stems, and the stems of each text."""

    words: frozenset[str]
    stems: frozenset[str]
    sentences: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, texts: list[str]) -> _Text:
        sentences = tuple(frozenset(map(_stem, NAME_PART.findall(text))) for text in texts)
        words = frozenset(word for text in texts for word in WORD.findall(text))
        return cls(words, frozenset().union(*sentences), sentences)

    def names(self, name: str) -> bool:
        """Whether a playbook is named, in code or in words."""
        parts = {_stem(part) for part in NAME_PART.findall(name)} - _LITTLE
        if name in self.words:
            return True
        return bool(parts) and parts <= self.stems and any(parts <= sentence for sentence in self.sentences)


def _stem(word: str) -> str:
    """A word without inflectional endings."""
    said = word.casefold()
    return next((said.removesuffix(end) for end in ("ing", "ed", "es", "s", "e") if said.endswith(end)), "") or said
