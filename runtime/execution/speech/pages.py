"""Pages: agents' messages to people, which grow while they are written and are finished exactly once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anyio
from msgspec.structs import replace

from runtime.channels.outbox import LivePage, Outbox
from runtime.core.address import Address, Speaker, platform_in
from runtime.core.background import WakeSignal
from runtime.core.errors import AdapterError
from runtime.core.ids import AgentId
from runtime.core.markup import as_written
from runtime.core.message import Attachment, Choice
from runtime.core.page import PageSpec
from runtime.core.texts import Texts
from runtime.events.talk import PageCutShort, PageFailed, PageSettled
from runtime.execution.session_context import SessionContext
from runtime.execution.speech.joint import INTERRUPTED
from runtime.execution.speech.page_records import JournalRecord, UnseenPage
from runtime.execution.speech.presence import AgentPresence, Indicators
from runtime.execution.speech.targets import mentioned
from runtime.language.event_triggers import PLACE
from runtime.language.syntax.humans import humans_of
from runtime.meetings.meeting import meeting_of_page, place_of, place_of_elsewhere
from runtime.stores.inbox import InboxEvent
from runtime.tape.facts.meetings import MeetingPlaceLost
from runtime.tape.facts.people import PageBegun, PageClosed, PageFinished, PageMoved, PageShown
from runtime.tape.state.people import PageState

SPOKEN = "voice"
"""The target of a page that is the voice note of another one."""

MAX_UNFINISHED_PAGES = 8
"""A conversation with this many utterances on their way makes its agents wait."""


class SessionPages:
    """The pages of one session: on the tape first, then on the platform.

    `page` is noted when an utterance begins, `opening` committed before its first text is sent and `grew` before more
    of it is, `sent` when the platform has it, the final text before the final edit, and `shown` noted when people see
    it. What is final and not shown is repaired after a restart; an open page is gone on with by its frame's next
    utterance to the same target.
    """

    def __init__(
        self,
        session: SessionContext,
        outbox: Outbox,
        address: Address,
        texts: Texts,
        places: Mapping[str, Address] | None = None,
    ) -> None:
        """`places` are conversations by the names that the settings have for them."""
        journal = session.journal
        self._told = (places or {}).get(str(session.program.metadata.get(PLACE, "")))
        self.texts = texts
        self.presence = AgentPresence(journal, outbox, address)
        self._room = WakeSignal()
        self.signs = Indicators(journal, outbox, address, self._spec, self._room.send)
        self.tasks = session.tasks
        self._humans = humans_of(session.program)
        self._journal = journal
        self._outbox = outbox
        self.address = address
        self._bus = session.bus
        self._live: dict[str, LivePage] = {}
        self._texts: dict[str, str] = {}
        self._unfinished = 0
        self._resting = False
        self._quiet = False
        self.asked: Callable[[], Awaitable[None]] | None = None
        """Awaited once the platform has a question, before that counts as shown: a crash then finds it owed."""

    def repair(self) -> None:
        """Show what is final or closed and was not seen to be shown. Called once, after the tapes were read."""
        for page in list(self._journal.state.pages.values()):
            if page.status == "held":
                self.release(page)
            elif page.status != "open":
                self.show(page)
        self.signs.restore()
        self.presence.restore()

    @property
    def unfinished(self) -> int:
        """The number of pages and indicators on their way, including those held back for a while."""
        held = sum(page.status == "held" for page in self._journal.state.pages.values())
        return self._unfinished + held + self.signs.under_way

    @property
    def crowded(self) -> bool:
        return self._unfinished >= MAX_UNFINISHED_PAGES

    async def room(self) -> None:
        while self.crowded:
            await self._room.wait()

    async def all_shown(self) -> None:
        while self.unfinished:
            await self._room.wait()

    async def adopt(self, frame: str, to: str) -> PageState:
        """The page for the frame's next utterance: its open one, or a new one below what its callers left open.

        One that is open in another place than what is said now is closed.
        """
        page, place = self.begun(frame, to), self._place_of(frame, to)
        if page is not None:
            return page
        await self._close(lambda other: other.to == to and f"{frame}:".startswith(f"{other.frame}:"))
        agent = self._journal.state.frames[frame].agent
        return self._begin(PageBegun(frame, agent, to, reply=self._answered(agent, place), place=place))

    def _begin(self, page: PageBegun) -> PageState:
        return self._journal.state.pages[str(self._journal.note(page))]

    def begun(self, frame: str, to: str) -> PageState | None:
        page = self._journal.state.open_page(frame, to)
        return page if page is not None and page.place == self._place_of(frame, to) else None

    def _place_of(self, frame: str, to: str) -> Address | None:
        """The place where people see what a frame says. What an event of another program began has no conversation: it
        is seen where the program says, in a place of the settings.
        """
        order = self._journal.state.order
        begun = order is not None and bool(order.event)
        return place_of(self._journal.state, frame, to) or (self._told if begun else None)

    def _answered(self, agent: AgentId, place: Address | None) -> str | None:
        """The platform's id of the message that the agent's next page quotes: where others can read along, and it was
        written."""
        state = self._journal.state
        answering = state.agents[agent].answering
        return None if state.private or state.written_at.get(answering or "") != place else answering

    def question(self, frame: str, prefix: str, options: Sequence[str]) -> PageState:
        """A separate page for a question; `prefix` makes the ids of its choices unique in the conversation.

        Without options the answer is free.
        """
        agent = self._journal.state.frames[frame].agent
        number = self._journal.state.seq + 1
        choices: list[list[Any]] = [[f"{prefix}.{number}.{index}", label] for index, label in enumerate(options)]
        choices = choices or [[f"{prefix}.{number}.free", "", True]]
        place = place_of(self._journal.state, frame, "ask")
        reply = self._answered(agent, place)
        return self._begin(PageBegun(frame, agent, "ask", choices=choices, reply=reply, place=place))

    def with_file(self, frame: str, file: Attachment) -> PageState:
        """A separate page for a file; it is finished with the text beside the file."""
        agent = self._journal.state.frames[frame].agent
        return self._begin(PageBegun(frame, agent, "file", file=file, place=self._place_of(frame, "file")))

    def standing(self, page: PageState) -> str:
        """The text of an open page that people may have read, and the part of it that came since then, in this
        process."""
        known, came = page.visible, self._texts.get(page.id, "")
        return known if known.startswith(came) else came

    async def close_own(self, frame: str) -> None:
        """Close what the frame, or a frame it called, left open: nothing will finish it."""
        await self._close(lambda page: f"{page.frame}:".startswith(f"{frame}:"))

    async def close_all(self) -> None:
        """Close every open page: the program cannot continue."""
        await self._close(lambda _: True)

    async def _close(self, condition: Callable[[PageState], bool]) -> None:
        for page in [p for p in self._journal.state.pages.values() if p.status == "open" and condition(p)]:
            said = self.standing(page).rstrip() + INTERRUPTED
            self._texts.pop(page.id, None)
            if not page.opened and page.stands:
                self._journal.note(PageFinished(page.id, said))  # a message takes the place of what they have read
                self.show(page)
                continue
            self._journal.note(PageClosed(page.id, said))
            if not page.opened:
                self._abandon(page.id)
                continue
            self._bus.publish(PageCutShort(*self._place(page)))
            self.show(page)

    def withdraw(self) -> None:
        """Show nothing more of agents that people have not begun to see; everything else is finished."""
        for page in [
            page for page in self._journal.state.pages.values() if not page.opened and (page.frame or page.to == SPOKEN)
        ]:
            owed = page.status != "open"
            self._journal.note(PageClosed(page.id, page.text))
            self._texts.pop(page.id, None)
            self._abandon(page.id)
            if owed:
                self._journal.note(PageShown(page.id, lost=True))

    def _abandon(self, page_id: str) -> None:
        live = self._live.pop(page_id, None)
        if live is not None:
            live.abandon()

    def grow(self, page: PageState, text: str) -> None:
        """Show the whole text so far of a page that is being written; never blocks. With its first text the page takes
        its place in the conversation."""
        self._texts[page.id] = text
        self._page(page).update(text)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    def answer(self, text: str, asked: InboxEvent) -> None:
        """Answer a command there where it was given: to who gave it, where others read along and the platform can."""
        self.tell(text, asked.place, alone="" if self._journal.state.private else asked.asker)

    def tell(self, text: str, place: Address | None = None, reply: str | None = None, *, alone: str = "") -> str | None:
        """Show people something that no playbook says: those of the session's own conversation, or of a place, perhaps
        under a message. Returns the page, or None where nobody is told anything."""
        if self._quiet or self._journal.state.order is not None:
            return None  # a task tells its orderer how it ended, and nobody else
        page = self._begin(PageBegun("", "", "notice", reply=reply, place=place, alone=alone))
        self._journal.note(PageFinished(page.id, text))
        self.show(page)
        return page.id

    def said_by(self, agent: AgentId, to: str) -> PageState:
        """The page of an agent in another process, which speaks without a frame; to be finished or held at once."""
        place = place_of_elsewhere(self._journal.state, agent, to)
        return self._begin(PageBegun("", agent, to, reply=self._answered(agent, place), place=place))

    def show(self, page: PageState) -> None:
        """Bring a final or closed page to people's eyes, in the background."""
        self._unfinished += 1
        live = self._page(page)
        live.ends()
        self.tasks.start_soon(self._finish, page, live)

    def release(self, page: PageState) -> None:
        self._journal.note(PageFinished(page.id, page.text))
        self.show(page)

    def let_go(self) -> None:
        """Show nothing more, even of later texts: the session leaves memory. The next process continues unfinished
        pages.
        """
        self._resting = True
        for live in self._live.values():
            live.abandon()

    async def rest(self) -> None:
        """Show nothing more; return when what is on its way was answered and written down."""
        self._resting = True
        async with anyio.create_task_group() as tasks:
            for live in list(self._live.values()):
                tasks.start_soon(live.rest)

    async def _finish(self, page: PageState, live: LivePage) -> None:
        delivered: bool | None = None
        try:
            await self._journal.commit()
            delivered = await live.finish(self._said(page))
        except AdapterError as error:
            self._bus.publish(PageFailed(*self._place(page), str(error)))
        finally:
            self._unfinished -= 1
            self._room.send()
        self._live.pop(page.id, None)
        self._texts.pop(page.id, None)
        if delivered is False and (self._is_moved_home(page) or await self._is_moved_on(page)):
            self.show(page)
        elif delivered is not None:
            self._journal.note(PageShown(page.id, lost=not delivered))
            self._bus.publish(PageSettled(*self._place(page), delivered))
        if not self._unfinished:
            await self._journal.commit()

    def _is_moved_home(self, page: PageState) -> bool:
        """Whether a page that is refused in a meeting's place goes to where the session lives; the loss is noted."""
        meeting = meeting_of_page(self._journal.state, page)
        if meeting is None:
            return False
        if meeting.place is not None:
            self._journal.note(MeetingPlaceLost(meeting.id))
        self._journal.note(PageMoved(page.id))
        return True

    async def _is_moved_on(self, page: PageState) -> bool:
        """Whether a page that was refused for good is shown elsewhere; then that is noted. From a thread it goes to
        what the thread is in, from there to the person who is answered, in private. A late notice in the place of
        something that is over goes nowhere.
        """
        if not page.agent and page.place is not None and not page.moved:
            return False
        place = self._spec(page.id, page.agent, {}, None, page.place).address
        further = replace(place, thread=None)
        if place.thread is None and not self._journal.state.private:
            person = self._asker(page, place.platform)
            further = (await self._outbox.private_with(place, person) if person else None) or place
        if further == place:
            return False
        self._journal.note(PageMoved(page.id, further))
        return True

    def _asker(self, page: PageState, platform: str) -> str | None:
        """Who is answered by a page; by a notice, who came last. None where that is nobody of the platform, such as a
        schedule."""
        state = self._journal.state
        agent = state.agent(page.agent)
        latest = max(state.people, key=lambda person: state.people[person].named_at, default=None)
        asker = page.alone or (agent.person if agent is not None else None) or latest
        return asker if asker is not None and platform_in(asker) == platform else None

    def _said(self, page: PageState) -> str:
        """The text of a page as it is shown; of one that moved, its options too: a button there would not be heard."""
        options = "\n".join(f"- {as_written(label)}" for _, label, *_ in page.choices if label)
        return "\n\n".join(filter(None, (self.texts("session.moved"), page.text, options))) if page.moved else page.text

    def _place(self, page: PageState) -> tuple[str, str, str, str]:
        return self._journal.session, page.agent, page.id, page.frame

    def _page(self, page: PageState) -> LivePage:
        live = self._live.get(page.id)
        if live is None and self._resting:
            live = self._live[page.id] = UnseenPage()
        if live is None:
            spec = replace(
                self._spec(page.id, page.agent, page.parts, page.reply_to, page.place),
                choices=() if page.moved else tuple(Choice(*choice) for choice in page.choices),
                file=page.file,
                people=mentioned(page, self._journal.state, self._humans),
                stands=page.visible,
                alone=page.alone,
            )
            spec = replace(spec, speaker=replace(spec.speaker, **self._among(page)))
            live = self._live[page.id] = self._outbox.page(
                spec, JournalRecord(self._journal, page, spec.address, self._bus, self.asked if page.choices else None)
            )
        return live

    def _among(self, page: PageState) -> Mapping[str, str]:
        """The name of the one person to whom it is said, where others read it too, and what its meeting is about."""
        state, (_, _, who) = self._journal.state, page.to.partition(" ")
        person = None if state.private or len(state.people) == 1 else state.person_of(who)
        meeting = None if page.place is not None else state.meetings.get(who)
        return {"to": person.name if person else "", "meeting": meeting.about if meeting else ""}

    def _spec(
        self, page: str, agent: str, parts: Mapping[int, str], reply_to: str | None, place: Address | None
    ) -> PageSpec:
        state, known = self._journal.state, self._journal.state.agent(agent)
        speaker = Speaker(agent, known.klass if known else "Parley")
        latest_first = sorted(state.people.items(), key=lambda one: -one[1].named_at)
        people = {known.name: person for person, known in latest_first}
        place = place or (None if state.order is None else state.order.place)
        id_, address, home = f"{self._journal.session}.{page}", place or self.address, place and self.address
        return PageSpec(id_, address, speaker, dict(parts), reply_to, people, home=home)
