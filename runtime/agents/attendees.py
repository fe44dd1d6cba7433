"""The attendee that a playbook means by a name."""

from __future__ import annotations

from runtime.core.errors import UnknownTarget
from runtime.core.ids import ANYONE, AgentId, PersonId, ScheduleId, is_human_word, parse_agent_id
from runtime.execution.speech.targets import Population, declared, names_known
from runtime.tape.state.session import SessionState


def attendee(name: str, host: AgentId, state: SessionState, population: Population) -> AgentId | PersonId:
    """The id of an agent or a person, or what somebody is called in the program who has not taken part yet.

    `user` is who the agent `host` has heard last, else whoever is here. Raises UnknownTarget.
    """
    if is_human_word(name):
        here = [person for person in (state.agents[host].person, state.person) if person is not None]
        return next((person for person in here if not isinstance(person, ScheduleId)), ANYONE)
    number = parse_agent_id(name)
    if number is not None and number in state.agents:
        return number
    if name in population.classes():
        return population.ensure(name)
    human = declared(name, population)
    if human is not None:
        bound = (id_ for id_, person in state.people.items() if person.declared == human.declared)
        return next(bound, PersonId(human.declared))
    people = state.people_named(name)
    if people:
        return people[0]
    raise UnknownTarget(f"nobody called {name!r} can be invited; known are {', '.join(names_known(state, population))}")
