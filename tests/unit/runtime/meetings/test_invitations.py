"""Who is asked how often, and which playbook takes part."""

import pytest
from msgspec.structs import replace

from runtime.core.errors import PlaybookError
from runtime.core.ids import AgentId, ParticipantId, PersonId
from runtime.language.program import PlaybookSpec
from runtime.meetings.meeting import (
    MAX_TIMES,
    NEXT,
    absence,
    cannot_handle,
    due_after,
    fitting,
    is_last,
    may_become,
    missing,
    names_of,
    rejected,
    solo,
)
from runtime.tape.state.meetings import AskState, MeetingState
from tests.unit.runtime.sessions.programs import llm, triggers

HOST = AgentId("1000")


def plays(name: str, *when: str) -> PlaybookSpec:
    """A meeting playbook with these triggers."""
    return replace(llm(name), metadata={"meeting": True}, triggers=triggers(*(f"EVT {text}" for text in when)))


TAX = plays("Talk", "When invited to tax planning meeting")
TRAVEL = plays("Discuss", "When in travel planning meeting")
BUDGET = plays("BudgetReview")


def test_pauses_double_and_end_after_a_quarter_of_an_hour() -> None:
    pauses = [due_after(times, 0.0) for times in range(1, MAX_TIMES + 1)]
    assert pauses == [30.0, 60.0, 120.0, 240.0, 480.0]
    assert [is_last(AskState(HOST, times)) for times in (1, 4, 5)] == [False, False, True]


@pytest.mark.parametrize(
    ("playbooks", "type_", "topic", "found"),
    [
        ((TAX, TRAVEL), "TravelPlanningMeeting", "", "Discuss"),
        ((TAX, TRAVEL), "TaxPlanning", "", "Talk"),
        ((TAX, TRAVEL), "Meeting", "the travel planning", "Discuss"),
        ((TAX, BUDGET), "BudgetReview", "costs", "BudgetReview"),
        ((plays("TravelPlanning"), TRAVEL), "TravelPlanning", "", "Discuss"),
        ((TAX,), "Anything", "at all", "Talk"),
        ((TAX, TRAVEL), "Party", "cake", None),
        ((), "Party", "cake", None),
    ],
)
def test_a_trigger_decides_then_the_name_then_that_there_is_one(
    playbooks: tuple[PlaybookSpec, ...], type_: str, topic: str, found: str | None
) -> None:
    spec = fitting(playbooks, type_, topic)
    assert (spec.name if spec else None) == found


def test_an_agent_says_which_meetings_it_can_handle() -> None:
    assert cannot_handle([TAX, TRAVEL]) == (
        "REJECTED - cannot handle this type of meeting. Here are the meeting types I can handle: [Talk, Discuss]"
    )
    assert rejected("on leave") == "REJECTED - on leave"


def test_attendees_are_a_list_or_a_text_with_commas() -> None:
    assert names_of(["Accountant", "agent 1003", 1004]) == ["Accountant", "agent 1003", "1004"]
    assert names_of(" Accountant,  Ada ") == ["Accountant", "Ada"]
    assert names_of(None) == []
    with pytest.raises(PlaybookError, match="attendees are given as a list"):
        names_of({"who": "Ada"})


def test_a_meeting_ends_from_every_state_and_never_goes_back() -> None:
    order = ("created", "inviting", "active", "ended")
    for number, status in enumerate(order):
        meeting = MeetingState("100", "t", "1000", "f", status=status)  # type: ignore[arg-type]
        assert may_become(meeting, "ended") == (status != "ended")
        assert not any(may_become(meeting, earlier) for earlier in order[: number + 1])  # type: ignore[arg-type]
    assert set(NEXT) == set(order)


def test_who_is_missing_is_said_with_the_reason() -> None:
    hotel, bob = AgentId("1001"), PersonId("Bob")
    asks: dict[ParticipantId, AskState] = {
        hotel: AskState(HOST, required=True),
        bob: AskState(HOST, required=True),
        AgentId("1002"): AskState(HOST),
    }
    meeting = MeetingState("100", "t", HOST, "f", asks=asks, invited={hotel: "REJECTED - busy", bob: ""})
    assert missing(meeting) == [hotel, bob]
    named = {"1001": "HotelAgent"}
    assert absence(meeting, lambda who: named.get(who, who)) == (
        "Meeting 100 did not take place: HotelAgent: REJECTED - busy; Bob: did not answer"
    )


def test_who_is_alone_is_asked_only_when_nobody_is_about_to_come() -> None:
    meeting = MeetingState("100", "t", HOST, "f", status="active", joined=[HOST])
    other = AgentId("1001")
    assert solo(meeting) == "1000"
    meeting.asks[other] = AskState(HOST, due=5.0)
    assert solo(meeting) is None
    meeting.asks[other].due = None
    assert solo(meeting) == "1000"
    meeting.joined = [PersonId("test:Ada")]
    assert solo(meeting) is None
