"""The meetings of a session keep their promises whatever happens in whatever order."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from runtime.core.ids import ParticipantId
from runtime.meetings.meetings import SessionMeetings
from runtime.tape.facts.registry import content_of
from runtime.tape.state.meetings import MeetingState
from tests.unit.runtime.agents.meeting_machine import AGENTS, MeetingMachine, done

LIMITS = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def test_no_notice_is_lost_or_doubled_nobody_is_stuck_and_every_view_has_the_same_members() -> None:
    run_state_machine_as_test(MeetingMachine, settings=LIMITS)


class _Forgetful(SessionMeetings):
    """Does not tell the others who has left."""

    def leave(self, meeting: MeetingState, who: ParticipantId, why: str | None = None) -> None:
        if who in meeting.joined and meeting.status != "ended" and len(meeting.joined) > 2:
            self._journal.note(content_of("left", {"id": meeting.id, "who": who}))
        else:
            super().leave(meeting, who, why)


class _Chatty(SessionMeetings):
    """Tells one who was there that it has started, when another comes late."""

    def joined(self, meeting: MeetingState, who: ParticipantId, *, named: ParticipantId | None = None) -> None:
        super().joined(meeting, who, named=named)
        if meeting.status == "active" and len(meeting.joined) == 3:
            self._tell(meeting, "Meeting started", but=meeting.joined[1:])


class _Shy(SessionMeetings):
    """Asks nobody twice."""

    def to_ask_again(self) -> list[tuple[MeetingState, ParticipantId]]:
        super().to_ask_again()
        return []


@pytest.mark.parametrize("planted", [_Forgetful, _Chatty, _Shy])
def test_the_machine_finds_a_planted_bug(planted: type[SessionMeetings]) -> None:
    class Planted(MeetingMachine):
        kind_of_meetings = planted

    limits: Any = settings(LIMITS, phases=[Phase.generate], print_blob=False)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Planted, settings=limits)


def test_who_can_take_no_more_is_asked_again_in_time_and_harms_nobody() -> None:
    machine = MeetingMachine()
    machine.create(AGENTS[0])
    meeting = machine.meeting_host.meetings.get("100")
    machine.full.add(AGENTS[1])
    assert done(machine.meeting_host.invite(meeting, AGENTS[0], AGENTS[1:3])) == list(AGENTS[1:3])
    done(machine.meeting_host.invitations.answer(meeting, AGENTS[2], "JOINED"))
    machine.meeting_host.meetings.start(meeting)
    assert meeting.pending == [AGENTS[1]]
    assert [message.content for message in machine.journal.state.agents[AGENTS[2]].queue] == ["Meeting started"]
