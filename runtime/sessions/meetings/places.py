"""The meetings of one session for people: the places that are opened for them, with notices in them, and the reports
of them for people who are not there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import anyio
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.errors import AdapterError, InboxFull
from runtime.core.ids import ANYONE, AgentId, ParticipantId, PersonId
from runtime.core.markup import MarkdownPart
from runtime.core.texts import Texts
from runtime.events.sessions import MeetingPlaceless
from runtime.execution.frames.outcomes import reason
from runtime.execution.speech.pages import SessionPages
from runtime.language.program import Program
from runtime.meetings.meeting import MeetingHabits, Show, meeting_held_at, place_of
from runtime.sessions.features import SessionPart, SessionParts
from runtime.sessions.succession import SessionSuccession, title_of, words_within
from runtime.stores.catalog import WholeSession
from runtime.stores.inbox import SESSION_COMMANDS, Inbox, InboxEvent
from runtime.stores.sessions import HeldPlace, PlaceStore
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import FrameReturned
from runtime.tape.facts.meetings import MeetingBegun, MeetingPlaced, MeetingPlaceLost
from runtime.tape.facts.registry import hears
from runtime.tape.fold import apply_fact
from runtime.tape.journal import Journal
from runtime.tape.state.frames import told
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.session import SessionState

OPENED_WITHIN_S = 60.0
"""How long a meeting waits for its place before it is held where the session lives."""

LINK_WITHIN_S = 5.0
"""How long a platform is asked for a link; without an answer there is none in what is said."""

UNANSWERED_IN_PLACES = frozenset({"edit", "deletion", "reaction"})
"""What is passed over where no meeting is held any more; all else is answered."""


class MeetingPlaces(SessionPart):
    """Opens conversations for the meetings of one session, and says there who is invited.

    A place is known in the store before anything is said in it, and on the tape with what is said there first; what is
    asked of the platform has a name of its own, so that a crash opens no second one where the platform can tell.
    """

    def __init__(self, parts: SessionParts) -> None:
        super().__init__(parts)
        self._going_on: dict[str, Address] = {}
        self._link: str | None = None

    async def open(self, meeting: MeetingState, people: Sequence[str], /) -> None:
        store = self._around.places
        if (meeting.place or meeting.left) is not None or store is None or not self._around.habits.meetings.threads:
            return
        await self._journal.commit()
        done = anyio.Event()
        self._pages.tasks.start_soon(self._open, meeting, people, store, done)
        await done.wait()

    async def _open(self, meeting: MeetingState, people: Sequence[str], store: PlaceStore, done: anyio.Event) -> None:
        """Open a place to the end, also when its meeting is stopped meanwhile: then that is said there."""
        nonce = f"meeting.{self._record.id}.{meeting.id}"
        place = await self._opened(meeting, nonce)
        if place is not None:
            await store.put(place, self._held(meeting))
            await self.find_way_home()
            there = await self._link_to(place)
            self._journal.note(MeetingPlaced(meeting.id, place, nonce=nonce))
            if meeting.status == "ended":
                self._tell("meeting_place_ended", place)
            else:
                self._going_on[meeting.id] = place
                self._invite(meeting, people, place, there)
            await self._journal.commit()
        done.set()

    async def _opened(self, meeting: MeetingState, nonce: str) -> Address | None:
        title = title_of(meeting.topic) or self._say("meeting_title", id=meeting.id)
        try:
            with anyio.fail_after(OPENED_WITHIN_S):
                return await self._around.outbox.open_thread(self._record.address, title, nonce=nonce)
        except (AdapterError, TimeoutError) as error:
            self._around.bus.publish(MeetingPlaceless(self._record.id, meeting.id, str(error) or "no answer"))
            return None

    def _invite(self, meeting: MeetingState, people: Sequence[str], place: Address, there: str | None) -> None:
        """Say in the place what it is, and where the session lives who is asked to come there.

        They are mentioned in the place, once, when they are asked.
        """
        said = {"host": self._journal.state.agents[meeting.host].klass, "topic": words_within(meeting.topic)}
        self._pages.tell(self._say("meeting_place", **said) + self._way_home(), place)
        said["people"] = ", ".join(map(self._name, people))
        key = "meeting_opened_at" if there else "meeting_opened"
        self._pages.tell(self._say(key, link=MarkdownPart(there or ""), **said))

    def _name(self, who: str) -> str:
        known = self._journal.state.person_of(who)
        if known is not None:
            return known.name
        return self._say("meeting_everybody") if who == ANYONE else who

    def _way_home(self) -> str:
        return f" {self._say('meeting_home', link=MarkdownPart(self._link))}" if self._link else ""

    def _held(self, meeting: MeetingState) -> HeldPlace:
        return HeldPlace(self._record.address, self._record.id, meeting.id)

    async def restored(self, succession: SessionSuccession | None, /) -> None:
        """Take up the places of active meetings. A session that continues another has its places from now on."""
        state, store = self._journal.state, self._around.places
        held = {m.id: m.place for m in state.meetings.values() if m.place is not None and m.status != "ended"}
        self._going_on = {} if state.ended else held
        if self._going_on or (succession is not None and succession.places):
            await self.find_way_home()
        if store is None:
            return
        for meeting, place in self._going_on.items():
            if await store.get(place) != self._held(state.meetings[meeting]):
                await store.put(place, self._held(state.meetings[meeting]))

    async def find_way_home(self) -> None:
        """Look up where a link leads to the session's own conversation, for what is said in places from now on."""
        self._link = self._link or await self._link_to(self._record.address)

    async def _link_to(self, address: Address) -> str | None:
        with anyio.move_on_after(LINK_WITHIN_S):
            return await self._around.outbox.link(address)
        return None

    def noted(self, fact: FactContent) -> None:
        """Hear every fact: that a meeting is over is said where it was held, that its place is lost, in the session's
        own conversation."""
        if isinstance(fact, MeetingPlaceLost):
            # It is shown where the session lives from now on. What somebody still writes in the place is heard.
            lost = self._journal.state.meetings[fact.id]
            self._pages.tell(self._say("meeting_place_lost", topic=words_within(lost.topic)))
            self._around.bus.publish(MeetingPlaceless(self._record.id, lost.id, "nothing can be shown there now"))
        if not self._going_on:
            return
        state = self._journal.state
        self._going_on = {m: place for m, place in self._going_on.items() if state.meetings[m].place == place}
        for meeting in [m for m in self._going_on if state.ended or state.meetings[m].status == "ended"]:
            self._tell("meeting_place_ended", self._going_on.pop(meeting))

    @property
    def all(self) -> list[Address]:
        """The places of all meetings so far."""
        return [m.place for m in self._journal.state.meetings.values() if m.place is not None]

    def undone(self, places: Sequence[Address]) -> None:
        """Say in these places that their meetings were undone."""
        for place in places:
            self._tell("meeting_place_undone", place)

    async def turned_away(self, event: InboxEvent, /) -> bool | None:
        """A new session that is asked for where a meeting was held begins there, in a conversation like any other."""
        if event.place is None:
            return None
        goes_on = meeting_held_at(self._journal.state, event.place) is not None and not self._journal.state.ended
        command = SESSION_COMMANDS.get(event.kind)
        if goes_on and (command is None or not command.whole):
            return False
        if goes_on:
            await self.find_way_home()
            self._pages.answer(self._say("meeting_place_only") + self._way_home(), event)
        elif event.kind == "new" and self._around.places is not None:
            if not await given_back(event, self._around.places, self._inbox):
                self._pages.answer(self._around.texts("inbound.full"), event)
        elif event.kind not in UNANSWERED_IN_PLACES:
            await self.find_way_home()
            over = self._say("meeting_place_over") + self._way_home()
            self._pages.tell(over, event.place, alone=event.asker if command else "")
        return True

    def _tell(self, key: str, place: Address) -> None:
        self._pages.tell(self._say(key) + self._way_home(), place)

    def _say(self, key: str, **values: object) -> str:
        return self._around.texts(f"session.{key}", **values)


async def keep_places(whole: WholeSession, store: PlaceStore) -> None:
    """Keep what the places of a session were opened for that was taken in from elsewhere, unless they are known."""
    state = SessionState()
    for fact in whole.facts:
        apply_fact(state, fact)
    for meeting in state.meetings.values():
        place = meeting.place or meeting.left
        if place is not None and await store.get(place) is None:
            await store.put(place, HeldPlace(whole.record.address, whole.record.id, meeting.id))


async def given_back(event: InboxEvent, store: PlaceStore, inbox: Inbox) -> bool:
    """Make a place a conversation like any other, and do there what was done; False when its inbox is full.

    Can be called again for the same event.
    """
    place = event.place or event.address
    held = await store.get(place)
    if held is not None:
        await store.release(place, held.session)
    try:
        await inbox.add(replace(event, address=place, place=None))
    except InboxFull:
        return False
    return True


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
        self._tell(key, self._place(meeting), topic=words_within(meeting.topic), outcome=MarkdownPart(outcome))

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
