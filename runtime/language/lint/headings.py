"""Probable mistakes below a heading: attendees, names of built-in calls."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from runtime.core.ids import is_human_word, parse_agent_id
from runtime.language.lint.findings import Finding, did_you_mean
from runtime.language.program import AgentKind, AgentSpec, PlaybookSpec, Program
from runtime.language.syntax.humans import humans_of
from runtime.language.syntax.metadata import MEETING_KEYS

_SURELY = 0.88
"""How near an agent's name is that is surely meant: Maria may be a person where there is an agent Mario."""
_SHOWN = "Declare it (# Name, or # Name:Human); as it is, only a person who shows this name can come."


def hidden_by_built_in(playbook: PlaybookSpec, built_in: Collection[str]) -> Iterator[Finding]:
    """A playbook that no call can reach, because its name calls the built-in one."""
    if playbook.name in built_in:
        hint = "Calls by this name reach the built-in call: give the playbook another name."
        yield Finding(playbook.span, f"{playbook.name} is the name of a built-in call", hint, playbook.name)


def wrong_attendees(program: Program, playbook: PlaybookSpec) -> Iterator[Finding]:
    """Attendees of a meeting who do not exist or take part in no meetings."""
    humans = humans_of(program)
    for name in (name for key in MEETING_KEYS for name in playbook.metadata.get(key) or ()):
        agent = program.agent(str(name))
        known = is_human_word(str(name)) or any(human.is_called(str(name)) for human in humans)
        if agent is None and not known and parse_agent_id(str(name)) is None:
            near = did_you_mean(str(name), (one.name for one in program.agents), cutoff=0.6)
            meant = did_you_mean(
                str(name), (one.name for one in program.agents if one.kind is AgentKind.AI), cutoff=_SURELY
            )
            message = f"there is no agent {name} to attend {playbook.name}"
            yield Finding(playbook.span, message, near or _SHOWN, severity="error" if meant else "warning")
        elif agent and agent.kind is AgentKind.AI and not any(one.meeting for one in agent.playbooks):
            yield Finding(
                playbook.span,
                f"{agent.name} is to attend {playbook.name} but takes part in no meetings",
                "Give it a playbook with meeting: true.",
            )


def before_joining(agent: AgentSpec, playbook: PlaybookSpec) -> Iterator[Finding]:
    """A missing playbook named for considering invitations: the agent would join all meetings."""
    name = playbook.metadata.get("before_joining")
    if name is not None and agent.playbook(str(name)) is None:
        hint = did_you_mean(str(name), (one.name for one in agent.playbooks), cutoff=0.6)
        yield Finding(playbook.span, f"{agent.name} has no playbook {name} to execute before it joins", hint)
