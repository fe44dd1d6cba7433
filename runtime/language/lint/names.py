"""Names in prose that are similar to the program's agents and playbooks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from runtime.language.lint.findings import Finding, did_you_mean
from runtime.language.program import AgentSpec, PlaybookSpec, Program
from runtime.language.syntax.naming import without_gaps

_COMPOUND = re.compile(r"(?<![\w.$\"'])[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b(?![\w.(])")
_SPOKEN_TO = re.compile(
    r"\b(?:tell|ask|inform|message|invite|notify|greet|thank|agent|with|from|to|wait for)\s+(?:the\s+)?"
    r"((?-i:[A-Z])\w{3,}(?:\s+(?-i:[A-Z])\w+)?)",
    re.IGNORECASE,
)
_TURNED_ROUND = re.compile(r"Say\(\s*(\"([^\"]*)\")\s*,\s*[\"']?(user|human|meeting)[\"']?\s*\)")
"""`Say("Hello", user)`, with the arguments in the wrong order."""


class NameLint:
    """The names that steps use, checked against the agents and playbooks of the program."""

    def __init__(self, program: Program, built_in: Collection[str]) -> None:
        people = {str(agent.metadata["name"]) for agent in program.agents if agent.metadata.get("name")}
        self._agents = {agent.name for agent in program.agents}
        public = {one.name for agent in program.agents for one in agent.playbooks if one.public}
        self._agents_in_words = {_squeezed(name) for name in (*self._agents, *people)}
        self._known = self._agents | public | set(built_in)

    def in_playbook(self, agent: AgentSpec, playbook: PlaybookSpec) -> Iterator[Finding]:
        """Findings in a playbook's steps."""
        steps = [(step, step.text) for step in playbook.walk_steps()]
        own = {one.name for one in agent.playbooks} if steps else set()
        for step, text in steps:
            for match in _COMPOUND.finditer(text):
                if match[0] in own or match[0] in self._known:
                    continue
                if hint := did_you_mean(match[0], own | self._known, cutoff=0.85):
                    yield Finding(step.span, f"there is no agent or playbook {match[0]}", hint, match[0])
            if (turned := _TURNED_ROUND.match(text)) and self._is_nobody(turned[2]):
                hint = f"The recipient comes first: Say({turned[3]}, {turned[1]})."
                yield Finding(step.span, f"there is nobody called {turned[1]}", hint, turned[1])
            for match in _SPOKEN_TO.finditer(text):
                if name := self._nearly_an_agent(match[1]):
                    word = match[1] if " " in name else match[1].split()[0]
                    hint = did_you_mean(name.replace(" ", ""), self._agents, cutoff=0.8)
                    yield Finding(step.span, f"there is no agent {word}", hint, word)

    def _is_nobody(self, name: str) -> bool:
        known = {"user", "human", "meeting", "all"}
        by_number = name[:1].isdigit() or name.startswith(("meeting ", "agent "))
        return _squeezed(name) not in self._agents_in_words | known and not by_number

    def _nearly_an_agent(self, said: str) -> str:
        """The part of a name that resembles an agent's; "" if an agent is named, or none is similar."""
        parts = list(dict.fromkeys((said, said.split()[0])))
        squeezed = [_squeezed(part) for part in parts]
        if any(one in self._agents_in_words or one.rstrip("s") in self._agents_in_words for one in squeezed):
            return ""
        if any(_COMPOUND.match(part) for part in parts):
            return ""
        return next((part for part in parts if did_you_mean(part.replace(" ", ""), self._agents, cutoff=0.8)), "")


def _squeezed(name: str) -> str:
    return without_gaps(name).casefold()
