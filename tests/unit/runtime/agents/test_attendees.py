"""Whom the name of an attendee means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from runtime.agents.meeting_host import attendee
from runtime.core.errors import UnknownTarget
from runtime.core.ids import AgentId, PersonId
from runtime.language.syntax.humans import HumanSpec
from runtime.tape.state.people import PersonState
from runtime.tape.state.session import AgentState, SessionState

ALICE = HumanSpec("Alice", "Alice", people=("web:1",))


@dataclass
class Company:
    """The program's people and agents."""

    humans: Sequence[HumanSpec] = field(default_factory=list)

    guests: Sequence[str] = ()

    def classes(self) -> tuple[str, ...]:
        return ("Host",)

    def ensure(self, klass: str) -> AgentId:
        return AgentId("1000")

    def create(self, klass: str, variables: Mapping[str, Any], /) -> AgentId:
        raise AssertionError(f"nobody asks for a new {klass} with {variables}")


HOST = AgentId("1000")


def session(**people: PersonState) -> SessionState:
    return SessionState(
        agents={HOST: AgentState(HOST, "Host")}, people={PersonId(f"web:{id_}"): p for id_, p in people.items()}
    )


def test_a_declared_human_is_who_they_are_bound_to_and_never_somebody_who_shows_their_name() -> None:
    impostor, alice = PersonState("Alice", alike=True), PersonState("Al", declared="Alice")
    company = Company([ALICE])
    assert attendee("Alice", HOST, session(**{"2": impostor}), company) == "Alice"
    assert attendee("Alice", HOST, session(**{"2": impostor, "1": alice}), company) == "web:1"


def test_of_several_with_a_name_who_showed_it_first_is_meant_and_nobody_else() -> None:
    several = session(**{"1": PersonState("Bob", named_at=9), "2": PersonState("Bob", named_at=5)})
    assert attendee("Bob", HOST, several, Company()) == "web:2"
    with pytest.raises(UnknownTarget, match="nobody called 'Eve' can be invited"):
        attendee("Eve", HOST, several, Company())
