"""What people are told who ask what goes on and who is here."""

from __future__ import annotations

from runtime.core.texts import Texts
from runtime.tape.state import SessionState


def status_of(state: SessionState, program: str, model: str, texts: Texts) -> str:
    """What each agent does, under the program and its model."""
    lines = [texts("session.status", program=program, model=model)]
    for agent in state.agents.values():
        stack = [f.playbook for f in state.frames.values() if f.agent == agent.id]
        doing = " → ".join(stack) or texts("session.status_idle")
        lines.append(texts("session.status_agent", agent=agent.klass, number=agent.id, doing=doing))
    return "\n".join(lines)


def those_here(state: SessionState, texts: Texts) -> str:
    """The people and agents, one a line."""
    people = [texts("session.who_person", name=person.name) for person in state.people.values()]
    agents = [texts("session.who_agent", agent=agent.klass, number=agent.id) for agent in state.agents.values()]
    return "\n".join([*people, *agents])
