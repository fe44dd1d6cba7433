"""Where people see what an agent says and does."""

from typing import Any

import pytest

from runtime.core.address import Address, address_data
from runtime.core.ids import AgentId
from runtime.meetings.meeting import meeting_held_at, place_of, place_of_work
from runtime.tape.facts.registry import content_of
from runtime.tape.fold import apply
from runtime.tape.state.session import SessionState

ONE, TWO = Address("test", "1", "t1"), Address("test", "1", "t2")


class Facts:
    """A session to which facts happen."""

    def __init__(self) -> None:
        self.state = SessionState()
        for agent in ("1000", "1001"):
            self.note("agent", id=agent, **{"class": "Host"})

    def note(self, kind: str, **data: Any) -> None:
        apply(self.state, self.state.seq + 1, content_of(kind, data))

    def start(self, frame: str, agent: str = "1000", meeting: str | None = None) -> None:
        caller, _, pos = frame.rpartition(":")
        up = {"frame": caller, "pos": pos, "name": "Call", "digest": "d"} if caller else None
        about: dict[str, Any] = {"pb": "Main", "args": [], "kwargs": {}, "version": "1", "meeting": meeting}
        self.note("start", f=frame, agent=agent, up=up, **about)

    def meet(self, meeting: str, frame: str, place: Address | None = None) -> None:
        self.note("meeting", id=meeting, topic="t", host=self.state.frames[frame].agent, f=frame)
        self.note("meeting_active", id=meeting)
        if place is not None:
            self.note("place", id=meeting, place=address_data(place), nonce="n")

    def hear(self, frame: str, pid: str, place: Address | None = None) -> None:
        """The frame's agent takes what a person wrote."""
        agent = self.state.frames[frame].agent
        about = {"agent": agent, "person": "test:1", "name": "Ada", "private": False, "text": "hi"}
        self.note("heard", pid=pid, message=f"in.{pid}", place=place and address_data(place), **about)
        said = {"id": f"in.{pid}", "from": "test:1", "class": "Human", "text": "hi", "at": "2026-01-01T00:00:00+00:00"}
        self.note("in", agent=agent, message={**said, "human": True, "pid": pid})
        self.note("wait", f=frame, pos="9", name="WaitForMessage", dig="d", source={"any": True}, due=None)
        self.note("took", f=frame, pos="9", mids=[f"in.{pid}"], val=None, name="WaitForMessage", dig="d")


@pytest.fixture
def facts() -> Facts:
    """A host whose playbook has called the meeting 100, which is held in a place."""
    made = Facts()
    made.start("1000.0")
    made.start("1000.0:1")
    made.meet("100", "1000.0:1", ONE)
    return made


@pytest.mark.parametrize("to", ["human", "person test:1", "ask", "file", "notice", "meeting 100"])
def test_all_that_is_said_in_a_meeting_is_shown_in_its_place(facts: Facts, to: str) -> None:
    assert place_of(facts.state, "1000.0:1", to) == ONE
    facts.start("1000.0:1:2", meeting="100")
    assert place_of(facts.state, "1000.0:1:2", to) == ONE


def test_what_is_said_outside_of_it_is_shown_at_home_unless_it_is_said_to_the_meeting(facts: Facts) -> None:
    facts.start("1001.0", agent="1001")
    assert place_of(facts.state, "1000.0", "human") is None
    assert place_of(facts.state, "1001.0", "human") is None
    assert place_of(facts.state, "1001.0", "meeting 100") == ONE
    assert place_of(facts.state, "", "notice") is None


def test_who_was_heard_last_at_home_is_answered_there_until_somebody_is_heard_in_the_place(facts: Facts) -> None:
    facts.hear("1000.0:1", "m1")
    assert place_of(facts.state, "1000.0:1", "human") is None
    assert place_of(facts.state, "1000.0:1", "meeting 100") == ONE
    assert place_of_work(facts.state, AgentId("1000")) is None
    facts.hear("1000.0:1", "m2", ONE)
    assert place_of(facts.state, "1000.0:1", "human") == ONE
    assert place_of_work(facts.state, AgentId("1000")) == ONE


def test_an_agent_that_joins_speaks_in_the_place_whatever_it_heard_before(facts: Facts) -> None:
    facts.start("1001.0", agent="1001")
    facts.hear("1001.0", "m1")
    facts.start("1001.1", agent="1001", meeting="100")
    assert place_of(facts.state, "1001.1", "human") == ONE


def test_a_meeting_within_a_meeting_has_its_own_place_or_that_of_the_outer_one(facts: Facts) -> None:
    facts.start("1000.0:1:2", meeting="100")
    facts.meet("101", "1000.0:1:2")
    assert place_of(facts.state, "1000.0:1:2", "human") == ONE
    assert place_of(facts.state, "1000.0:1:2", "meeting 101") is None
    facts.note("place", id="101", place=address_data(TWO), nonce="n")
    assert place_of(facts.state, "1000.0:1:2", "human") == TWO
    facts.note("meeting_end", id="101")
    assert place_of(facts.state, "1000.0:1:2", "human") == ONE


def test_a_place_is_one_only_as_long_as_its_meeting_goes_on(facts: Facts) -> None:
    held = meeting_held_at(facts.state, ONE)
    assert held is not None
    assert held.id == "100"
    assert meeting_held_at(facts.state, TWO) is None
    facts.note("meeting_end", id="100")
    assert meeting_held_at(facts.state, ONE) is None
    assert place_of(facts.state, "1000.0:1", "human") is None
    assert place_of(facts.state, "1000.0:1", "meeting 100") is None
