"""Names that tell people apart: no two people share one, and nobody takes that of another."""

import pytest

from runtime.core.ids import PersonId
from runtime.tape.facts.people import PersonMet
from runtime.tape.fold import apply
from runtime.tape.state.people import PersonState
from runtime.tape.state.session import SessionState


def named(*names: str, **declared: str) -> SessionState:
    """A session of people in this order, whose ids are `test:1`, `test:2` and so on."""
    people = {PersonId(f"test:{n}"): PersonState(name) for n, name in enumerate(names, 1)}
    for person, human in declared.items():
        people[PersonId(f"test:{person.removeprefix('p')}")].declared = human
    return SessionState(people=people)


def called(state: SessionState) -> list[str]:
    return [state.called(person) for person in state.people]


def test_people_of_one_name_are_told_apart_by_their_place() -> None:
    assert called(named("Ada", "Bo", "ada")) == ["Ada (1)", "Bo", "ada (3)"]


def test_somebody_alone_with_their_name_has_no_number() -> None:
    assert called(named("Ada", "Bo")) == ["Ada", "Bo"]


def test_a_number_in_a_name_that_somebody_shows_is_replaced() -> None:
    state = named("Ada", "Ada", "Ada (2)", "Ada\uff08\uff11\uff09")
    assert called(state) == ["Ada (1)", "Ada (2)", "Ada (3)", "Ada (4)"]


@pytest.mark.parametrize(("text", "found"), [("Ada (1)", ["test:1"]), ("@ada (2)", ["test:2"]), ("Ada (9)", [])])
def test_a_name_with_a_number_means_the_person_at_that_place(text: str, found: list[str]) -> None:
    assert named("Ada", "Ada", "Ada (1)", "Bo").people_named(text) == found


def test_a_name_with_a_number_stays_with_its_person_when_others_change_theirs() -> None:
    state = named("Ada", "Ada", "Eve")
    state.people[PersonId("test:1")].name, state.people[PersonId("test:3")].name = "Zoe", "Ada (2)"
    assert state.people_named("Ada (2)") == ["test:2"]
    state.people[PersonId("test:2")].name = "Bo"
    assert state.people_named("Ada (2)") == []


def test_who_takes_a_name_that_another_shows_comes_after_them() -> None:
    state = SessionState()
    for seq, (id_, name) in enumerate([("test:1", "Zoe"), ("test:2", "Ada"), ("test:1", "ada"), ("test:3", "Ada")], 1):
        apply(state, seq, PersonMet(PersonId(id_), name, 0.0, alike=False))
    assert state.people_named("Ada") == ["test:2", "test:1", "test:3"]


def test_a_declared_human_keeps_the_name_of_the_program() -> None:
    state = named("Al", "Alice", p1="Alice")
    assert called(state) == ["Alice", "Alice (2)"]
    assert state.people_named("Alice") == ["test:1"]
    assert state.people_named("Alice (2)") == ["test:2"]
