"""The threads below what tasks ask: what people write there answers the question, and begins no conversation."""

from __future__ import annotations

from runtime.core.address import Address, threads_below
from runtime.execution.speech.pages import Pages
from runtime.sessions.meetings.places import UNANSWERED_IN_PLACES, given_back
from runtime.sessions.node_context import NodeContext
from runtime.sessions.tasks.letters import TaskAsking
from runtime.stores.commands import SESSION_COMMANDS
from runtime.stores.inbox import Inbox, InboxEvent
from runtime.stores.meeting_places import HeldPlace, PlaceStore
from runtime.stores.sessions import SessionRecord
from runtime.tape.journal import Journal


class QuestionThreads:
    """The threads below questions of tasks in one conversation of people. They are held in the store before a question
    is taken in, so that a crash leaves none out, and stay held after it is closed: who writes there late is told."""

    def __init__(
        self, record: SessionRecord, journal: Journal, pages: Pages, around: NodeContext, inbox: Inbox
    ) -> None:
        self._record = record
        self._journal = journal
        self._pages = pages
        self._store = around.places
        self._inbox = inbox

    async def hold(self, event: InboxEvent) -> None:
        """Hold the threads below a question, before the event that tells of it is consumed."""
        if self._store is None or self._journal.state.order is not None:  # people write where the orderer is
            return
        for thread in threads_below(self._record.address, TaskAsking.read(event.text).messages):
            await self._store.put(thread, HeldPlace(self._record.address, self._record.id, None))

    async def turned_away(self, event: InboxEvent) -> bool | None:
        """Whether what was done below a question is no business of the session; then it was answered there. None for
        what was done elsewhere."""
        if self._store is None or event.place is None or not await is_below_question(event.place, self._store):
            return None
        command = SESSION_COMMANDS.get(event.kind)
        if event.kind in UNANSWERED_IN_PLACES:
            return True
        if command is None or not command.whole:
            return False
        if event.kind != "new":
            self._pages.tell(self._pages.texts("session.question_thread_only"), event.place)
        elif not await given_back(event, self._store, self._inbox):
            self._pages.tell(self._pages.texts("inbound.full"), event.place)
        return True


async def is_below_question(place: Address, store: PlaceStore) -> bool:
    """Whether a place is a thread below a question of a task, open or closed."""
    held = await store.get(place)
    return held is not None and held.meeting is None
