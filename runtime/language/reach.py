"""What the steps of an agent can refer to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache

from runtime.language import phrases
from runtime.language.naming import camel_case
from runtime.language.nodes import ParsedAgent, ParsedProgram
from runtime.language.program import AgentKind


class Reach:
    """The playbooks that an agent can call, its own and others' as `Agent.Playbook`, and whom it can speak to.

    Of the others only those are looked at whose names stand in the agent's text: that keeps a program of many agents
    as cheap as its text is long.
    """

    def __init__(self, agent: ParsedAgent, program: ParsedProgram) -> None:
        self._own = frozenset(playbook.name for playbook in agent.playbooks)
        self._program = program
        text = _squeezed(agent.source)
        self.others: tuple[ParsedAgent, ...] = tuple(
            other for other in program.agents if other.name != agent.name and _name(other.name) in text
        )
        """The other agents that it names."""

    def knows(self, name: str) -> bool:
        """Whether a playbook can be called by this name."""
        agent, _, playbook = name.rpartition(".")
        return self._program.has_playbook(agent, playbook) if agent else name in self._own

    def meant(self, words: str) -> str | None:
        """The playbook whose name these words are: "Create a ticket" is CreateTicket."""
        return self._by_words.get(_simple(words))

    def agents_in(self, text: str) -> list[str]:
        """The agents that a text names, in its order; servers of tools are none."""
        found = [
            (match.start(), agent)
            for agent, pattern in self._mentions.items()
            if (match := re.search(rf"\b{pattern}\b", text, re.IGNORECASE))
        ]
        return [agent for _, agent in sorted(found)]

    @cached_property
    def any_agent(self) -> str:
        """A pattern for the agents that can be spoken to."""
        return _any_of(self._mentions.values())

    @cached_property
    def any_remote(self) -> str:
        """A pattern for the agents that are only called."""
        return _any_of(_mention(other.name) for other in self.others if other.kind is AgentKind.MCP)

    @cached_property
    def _mentions(self) -> dict[str, str]:
        return {other.name: _mention(other.name) for other in self.others if other.kind is not AgentKind.MCP}

    @cached_property
    def _by_words(self) -> dict[str, str]:
        foreign = [f"{other.name}.{playbook.name}" for other in self.others for playbook in other.playbooks]
        return {_simple(name): name for name in sorted([*self._own, *foreign])}


def _any_of(patterns: Iterable[str]) -> str:
    return "|".join(patterns) or r"(?!)"


def _squeezed(text: str) -> str:
    """A text in which names are found however they are written: small letters, without what joins words."""
    return re.sub(r"[\s_-]+", "", text).casefold()


@lru_cache(maxsize=4096)
def _name(agent: str) -> str:
    return _squeezed(agent)


@lru_cache(maxsize=4096)
def _mention(agent: str) -> str:
    words = [re.escape(word) for word in phrases.spaced(agent).split()]
    return r"[\s_-]?".join(words)


@lru_cache(maxsize=4096)
def _simple(text: str) -> str:
    """A name for comparison: "Create a ticket" and CreateTicket are the same."""
    words = re.sub(r"\b(?:a|an|the)\b", " ", phrases.spaced(text), flags=re.IGNORECASE)
    return (camel_case(words) or text).lower()
