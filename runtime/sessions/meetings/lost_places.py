"""Places of meetings that people have closed or deleted: the meetings continue in the session's conversation."""

from __future__ import annotations

from runtime.bus import Bus
from runtime.execution.calls.ask import Questions
from runtime.execution.speech.pages import Pages
from runtime.sessions.succession import words_within
from runtime.tape.facts.meetings import MeetingPlaceLost
from runtime.tape.facts.pages import PageMoved
from runtime.tape.journal import Journal
from runtime.tape.people_state import PageState
from runtime.tape.state import MeetingState


class LostPlaces:
    """A place is lost when its platform refuses for good to show something there.

    What it refused is shown where the session lives, after one notice, and so is all that is said to the meeting from
    then on; open questions are asked there again. All of this is for one commit. What somebody still writes in the
    place is heard.
    """

    def __init__(self, journal: Journal, pages: Pages, questions: Questions, bus: Bus) -> None:
        self._journal = journal
        self._pages = pages
        self._questions = questions
        self._bus = bus

    def moves(self, page: PageState) -> bool:
        """Whether a page that was refused in a place goes home; then that is noted, and what comes of it."""
        state = self._journal.state
        meeting = next((m for m in state.meetings.values() if m.hears_from(page.place)), None)
        if page.place is None or meeting is None:
            return False
        if not page.agent and (state.ended or meeting.status == "ended"):
            return False
        place = page.place
        if meeting.place is not None:
            self._leave(meeting)
        self._journal.note(PageMoved(page.id))
        self._questions.ask_again(place)
        return True

    def _leave(self, meeting: MeetingState) -> None:
        self._journal.note(MeetingPlaceLost(meeting.id))
        self._pages.tell(self._pages.texts("session.meeting_place_lost", topic=words_within(meeting.topic)))
        self._bus.publish(
            "meeting.placeless",
            session_id=self._journal.session,
            meeting_id=meeting.id,
            error="nothing can be shown there now",
        )
