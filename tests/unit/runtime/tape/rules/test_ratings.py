"""What the fold makes of ratings: the step and the model that they are of, and the one that stands."""

from typing import Any

import pytest

from runtime.tape.state.people import rated
from tests.unit.runtime.tape.rules.test_lineage import folded

AGENT = ("agent", {"id": "1000", "class": "Main"})


def _said(version: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """A message m2 that a playbook says after a model has answered, and before another does."""
    return (
        AGENT,
        ("model", {"purpose": "execute", "model": "large"}),
        ("start", {"f": "1000.0", "agent": "1000", "pb": "Ship", "args": [], "kwargs": {}, "version": version}),
        ("step", {"f": "1000.0", "at": "Ship:02", "op": "EXE"}),
        ("page", {"f": "1000.0", "agent": "1000", "to": "user", "reply": None}),
        ("model", {"purpose": "execute", "model": "small"}),
        ("step", {"f": "1000.0", "at": "Ship:03", "op": "EXE"}),
        ("sent", {"page": "5", "part": 0, "pid": "m2"}),
    )


@pytest.mark.parametrize(("version", "model"), [("llm 1 2", "large"), ("steps 1 2", "large"), ("python 1 2", "")])
def test_a_message_is_of_the_step_and_the_model_at_its_beginning(version: str, model: str) -> None:
    said = folded(*_said(version)).said["m2"]
    assert (said.step, said.model) == ("Main.Ship Ship:02", model)


def test_the_last_rating_of_a_person_stands() -> None:
    rating = {"pid": "m2", "agent": "1000", "step": "Main.Ship", "model": ""}
    given = (("ada", "up"), ("bob", "up"), ("ada", "down"), ("bob", "none"))
    facts = (("feedback", {**rating, "person": f"test:{who}", "rating": what}) for who, what in given)
    state = folded(AGENT, *facts)
    assert state.ratings == {rated("test:ada", "m2"): "down", rated("test:bob", "m2"): "none"}
