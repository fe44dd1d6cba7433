"""The people that a page may mention, and the declared humans that they are."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.core.ids import parse_meeting_id
from runtime.language.syntax.humans import ANYBODY, HumanSpec
from runtime.tape.state.people import PageState
from runtime.tape.state.session import SessionState


def human_of(person: str, state: SessionState, humans: Sequence[HumanSpec]) -> HumanSpec:
    """The declared human that a person is; ANYBODY for others."""
    known = state.person_of(person)
    return next((spec for spec in humans if known is not None and spec.declared == known.declared), ANYBODY)


def mentioned(page: PageState, state: SessionState, humans: Sequence[HumanSpec]) -> dict[str, str]:
    """The people that a page may mention: ids by name. A name that several people show means the page's recipient, or
    nobody; with its number, "Ada (2)", it means one of them.
    """
    kind, _, whose = page.to.partition(" ")
    held = parse_meeting_id(page.to) is not None
    found: dict[str, str] = {}
    for person, known in state.people.items():
        spec = human_of(person, state, humans)
        if held and spec.delivery.meeting_notifications == "none":
            continue
        if state.people_named(known.name) == [person] or (kind == "person" and whose == person):
            found[known.name] = person
        found.setdefault(state.called(person), person)
        if spec is not ANYBODY:
            found |= {spec.declared: person, spec.name: person}
    return found
