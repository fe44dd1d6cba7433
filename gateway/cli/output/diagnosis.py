"""What is said of a program: a summary in a few sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runtime.authoring.in_english import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runtime.language.program import AgentSpec, PlaybookSpec, Program

_KINDS = (("AI", "agent", "agents"), ("Human", "person", "people"), ("MCP", "tool server", "tool servers"))
_WAIT = re.compile(r"\bYLD for (?:agent )?(?:the )?([A-Za-z]\w*)")
_NOBODY = frozenset({"call", "return", "exit"})
_SHOWN = 5


def overview(program: Program) -> str:
    """The numbers of agents and playbooks, what starts the program, and whom it waits for."""
    sentences = [_parts(program), _start(program), _waits(program)]
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def counted(number: int, one: str, many: str = "") -> str:
    """`1 warning`, `2 warnings`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _parts(program: Program) -> str:
    found = []
    for kind, one, many in (*_KINDS, ("Remote", "remote participant", "")):
        names = [agent.name for agent in program.agents if agent.kind == kind]
        if names:
            found.append(f"{counted(len(names), one, many)} ({_some(names)})")
    playbooks = sum(len(agent.playbooks) for agent in program.agents)
    return listed([*found, counted(playbooks, "playbook") if playbooks else "no playbooks"])


def _start(program: Program) -> str:
    begins = [_name(program, *pair) for pair in _playbooks(program) if _has(pair[1], "BGN")]
    if begins:
        return f"It starts with {_some(begins)}"
    entry = [_name(program, *pair) for pair in _playbooks(program) if pair[1].metadata.get("cli_entry")]
    if entry:
        return f"`parley exec` runs {entry[0]}"
    if any(playbook.triggers for _, playbook in _playbooks(program)):
        return "It starts when a trigger is true"
    standby = [agent.name for agent in program.agents if agent.standby]
    return f"{_some(standby)} {'is' if len(standby) == 1 else 'are'} on standby" if standby else ""


def _waits(program: Program) -> str:
    found: dict[str, None] = {}
    for _, playbook in _playbooks(program):
        for step in playbook.walk_steps():
            text = f"YLD {step.text}" if step.op == "YLD" else step.text
            found |= dict.fromkeys(one for one in _WAIT.findall(text) if one not in _NOBODY)
    names = [f"the {name}" if name.islower() else name for name in found]
    return f"It waits for {_some(names)}" if names else ""


def _has(playbook: PlaybookSpec, kind: str) -> bool:
    return any(trigger.kind == kind for trigger in playbook.triggers)


def _playbooks(program: Program) -> Iterator[tuple[AgentSpec, PlaybookSpec]]:
    for agent in program.agents:
        for playbook in agent.playbooks:
            yield agent, playbook


def _name(program: Program, agent: AgentSpec, playbook: PlaybookSpec) -> str:
    """The name of a playbook, preceded by its agent's where there are several agents."""
    return playbook.name if len(program.agents) == 1 else f"{agent.name}.{playbook.name}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return listed([*names[:_SHOWN], f"{more} more"] if more > 1 else names)
