"""The possible participants of a meeting, as far as a program names them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runtime.language.lowering import phrases
from runtime.language.lowering.scope import Reach
from runtime.language.program import AgentKind
from runtime.language.syntax.metadata import MEETING_KEYS
from runtime.language.syntax.nodes import ParsedAgent, ParsedPlaybook, ParsedProgram

_ARTICLES = re.compile(r"^(?:(?:the|an?|our|my|AI)\s+)+", re.IGNORECASE)
_PART = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")
_WHAT_FOR = re.compile(r"\s+(?:about|on|over|regarding|concerning|to|for|until|in|at)\s|[.:;]", re.IGNORECASE)
"""What comes behind the participants of a meeting."""
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


def held_meeting(subject: str, meetings: Sequence[str]) -> str | None:
    """The meeting of these that the words behind "Hold a …" mean."""
    words = set(re.findall(r"\w+", subject.lower()))
    for meeting in meetings:
        wanted = set(phrases.spaced(meeting).lower().split())
        if wanted <= words or wanted - {"meeting"} <= words:
            return meeting
    return meetings[0] if len(meetings) == 1 and "meeting" in words else None


def named_after_with(held: str, meeting: str, reach: Reach) -> list[str] | None:
    """The participants in "a tasting with the Cook and the user"; [] where none are named, or all that the meeting
    declares. None where somebody is named who is nobody known.
    """
    _, _, who = held.partition(" with ")
    found = []
    for part in _PART.split(_WHAT_FOR.split(who)[0]) if who else ():
        name = reach.participant(part) or reach.participant(_ARTICLES.sub("", part))
        if name is not None or phrases.PERSON_OUTSIDE.fullmatch(_ARTICLES.sub("", part)):
            found.append(name or "user")
            continue
        playbook = reach.playbook("", meeting)
        if not (phrases.EVERYBODY.fullmatch(part) and playbook is not None and _declared(playbook)):
            return None
    return found


def _declared(playbook: ParsedPlaybook) -> set[str]:
    return {str(name) for key in MEETING_KEYS for name in playbook.metadata.get(key) or ()}


def _invited(agent: ParsedAgent, reach: Reach) -> Iterator[str]:
    """The agents named in steps that hold a meeting or invite to it."""
    for playbook in agent.playbooks:
        for step in (inner for item in playbook.steps for inner in item.walk()):
            gathers = phrases.HOLD.search(step.text) or phrases.INVITES.search(step.text)
            if gathers and _GATHERS.search(step.text):
                yield from reach.agents_in(step.text)
