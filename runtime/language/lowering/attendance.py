"""The possible participants of a meeting, as far as a program names them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runtime.language.lowering import phrases
from runtime.language.lowering.scope import Reach
from runtime.language.program import AgentKind
from runtime.language.syntax.metadata import MEETING_KEYS
from runtime.language.syntax.nodes import ParsedAgent, ParsedPlaybook, ParsedProgram

_GATHERS = re.compile(r"\bmeeting\b|\battendees\b|\binvite", re.IGNORECASE)


def is_meeting(playbook: ParsedPlaybook) -> bool:
    """Whether a playbook is a meeting."""
    return playbook.metadata.get("meeting") is True


def attendees(playbook: ParsedPlaybook, agent: ParsedAgent, program: ParsedProgram, reach: Reach) -> frozenset[str]:
    """The agents that may hear what is said in this meeting; who is in none of them can only be spoken to directly.

    Those are the declared ones, those that a step of the agent invites, and people. A playbook that declares nobody may
    be an invited agent's: then also whoever is declared anywhere, and whoever takes part in meetings.
    """
    found = {*_declared(playbook), *_invited(agent, reach)}
    found |= {other.name for other in program.agents if other.kind is AgentKind.HUMAN}
    if not _declared(playbook):
        for other in program.agents:
            own = [one for one in other.playbooks if is_meeting(one)]
            found |= {name for one in own for name in _declared(one)}
            if own or other.kind is AgentKind.REMOTE:
                found.add(other.name)
    return frozenset(found)


def _declared(playbook: ParsedPlaybook) -> set[str]:
    return {str(name) for key in MEETING_KEYS for name in playbook.metadata.get(key) or ()}


def _invited(agent: ParsedAgent, reach: Reach) -> Iterator[str]:
    """The agents named in steps that hold a meeting or invite to it."""
    for playbook in agent.playbooks:
        for step in (inner for item in playbook.steps for inner in item.walk()):
            gathers = phrases.HOLD.search(step.text) or phrases.INVITES.search(step.text)
            if gathers and _GATHERS.search(step.text):
                yield from reach.agents_in(step.text)
