"""Reports of meetings for people who are not in them: all messages, the participants and the result, or nothing."""

from __future__ import annotations

import json

from runtime.core.address import Address
from runtime.core.ids import AgentId, ParticipantId, PersonId
from runtime.core.texts import Texts
from runtime.execution.frames.outcomes import reason
from runtime.execution.speech.pages import SessionPages
from runtime.language.program import Program
from runtime.meetings.meeting import MeetingHabits, Show, place_of
from runtime.sessions.features import SessionPart
from runtime.sessions.succession import SessionSuccession, words_within
from runtime.tape.facts.frames import FrameReturned
from runtime.tape.facts.meetings import MeetingBegun
from runtime.tape.facts.registry import hears
from runtime.tape.journal import Journal
from runtime.tape.state.frames import told
from runtime.tape.state.meetings import MeetingState

MAX_OUTCOME_CHARS = 500
"""The length to which what came of a meeting is shown."""


class MeetingReports(SessionPart):
    """Reports one session's meetings to people."""

    def __init__(
        self, program: Program, journal: Journal, pages: SessionPages, texts: Texts, habits: MeetingHabits
    ) -> None:
        self._program = program
        self._journal = journal
        self._pages = pages
        self._texts = texts
        self._habits = habits
        self._held: dict[str, tuple[str, Show]] = {}
        """Meetings that go on, and what is shown of each, by the frames that hold them."""

    async def restored(self, _succession: SessionSuccession | None, /) -> None:
        for meeting in self._journal.state.meetings.values():
            if meeting.status == "active":
                self._held[meeting.frame] = (meeting.id, self._shown(meeting))

    def open_to_people(self, meeting: MeetingState) -> bool:
        """Whether people who are not in the meeting see what is said there. What was begun is said to its end."""
        if self._shown(meeting) == "all" or meeting.people or (meeting.place or meeting.left) is not None:
            return True
        to = f"meeting {meeting.id}"
        return any(page.to == to and page.status == "open" for page in self._journal.state.pages.values())

    @hears(MeetingBegun, FrameReturned)
    def noted(self, fact: MeetingBegun | FrameReturned) -> None:
        """Report a meeting that begins or ends, where people want that."""
        if isinstance(fact, MeetingBegun):
            self._begun(self._journal.state.meetings[fact.id])
        elif fact.frame in self._held:
            number, shown = self._held.pop(fact.frame)
            self._ended(self._journal.state.meetings[number], shown, fact)

    def _begun(self, meeting: MeetingState) -> None:
        shown = self._shown(meeting)
        self._held[meeting.frame] = (meeting.id, shown)
        if shown == "summaries" and not meeting.people and meeting.place is None:
            said = {"topic": words_within(meeting.topic), "people": ", ".join(map(self._name, meeting.joined))}
            self._tell("meeting_begun", self._place(meeting), **said)

    def _ended(self, meeting: MeetingState, shown: Show, came_to: FrameReturned) -> None:
        """A meeting that people of this conversation did not follow: they were not in it, or it had a place."""
        if shown == "none" or (meeting.place is None and (shown == "all" or meeting.people)):
            return
        outcome = self._outcome(meeting, came_to)
        failed = "meeting_went_wrong" if self._journal.state.has_guests else "meeting_failed"
        key = failed if came_to.error else "meeting_came_to" if outcome else "meeting_over"
        self._tell(key, self._place(meeting), topic=words_within(meeting.topic), outcome=outcome)

    def _outcome(self, meeting: MeetingState, came_to: FrameReturned) -> str:
        """The outcome: the value of the host's playbook, else what the host wrote of it, else the last words."""
        value = reason(came_to.error, self._texts) if came_to.error else came_to.value
        if value in (None, ""):
            value = came_to.summary or (told(meeting.talk) if meeting.place is None else "")
        if value in (None, ""):
            return ""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        text = " ".join(text.split())
        return text if len(text) <= MAX_OUTCOME_CHARS else text[: MAX_OUTCOME_CHARS - 1].rstrip() + "…"

    def _shown(self, meeting: MeetingState) -> Show:
        klass, frame = self._journal.state.agents[meeting.host].klass, self._journal.state.frames.get(meeting.frame)
        spec = self._program.agent(klass)
        playbook = spec.playbook(frame.playbook) if spec is not None and frame is not None else None
        return self._habits.shown(playbook.metadata if playbook is not None else {})

    def _place(self, meeting: MeetingState) -> Address | None:
        """The address of the people among whom the host called the meeting."""
        return place_of(self._journal.state, meeting.frame.rpartition(":")[0], "notice")

    def _name(self, who: ParticipantId) -> str:
        state = self._journal.state
        return state.agents[who].klass if isinstance(who, AgentId) else state.spoken_name(PersonId(who))

    def _tell(self, key: str, place: Address | None, **values: object) -> None:
        self._pages.tell(self._texts(f"session.{key}", **values), place)
