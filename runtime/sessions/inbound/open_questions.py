"""The threads below the open questions of one session: what people write there answers the question, as words in its
conversation do, and begins no conversation of its own."""

from __future__ import annotations

from collections.abc import Mapping

from anyio.abc import TaskGroup

from runtime.core.address import UNSEEN, Address, threads_below
from runtime.core.background import OnDemand
from runtime.execution.calls.ask import SessionQuestions
from runtime.sessions.features import SessionPart, SessionParts
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import HeldPlace
from runtime.tape.facts.content import FactContent
from runtime.tape.state.people import QuestionState


class OpenQuestions(SessionPart):
    """Holds the threads in the store while their questions wait, so that words there come to this session. One in which
    somebody has answered stays held: who writes there late is told. The others are given back with the answer.
    """

    def __init__(self, parts: SessionParts, questions: SessionQuestions) -> None:
        parts.pages.asked = self.all_posted
        super().__init__(parts)
        self.questions = questions
        """All that are open, and the call that asks one."""
        self._store = None if parts.record.address.platform in UNSEEN else parts.around.places
        self._held: dict[str, Address] = {}
        self._comparing = OnDemand(self.all_posted)

    def start(self, tasks: TaskGroup) -> None:
        """Hold and give back, in `tasks`. After a restart what is open is held once more, which changes nothing."""
        self._comparing.start(tasks)
        if self._wanted():
            self._comparing.wake()

    def noted(self, _fact: FactContent) -> None:
        """Hears every fact: a question may be seen now, or answered."""
        if (self._held or self._journal.state.questions) and self._wanted().keys() != self._held.keys():
            self._comparing.wake()

    async def all_posted(self) -> None:
        """Return when the store knows what is open. Before that no question counts as shown, and no session leaves
        memory.
        """
        if self._store is None:
            return
        wanted = self._wanted()
        for key in [key for key in wanted if key not in self._held]:
            await self._store.put(wanted[key], HeldPlace(self._record.address, self._record.id, None))
            self._held[key] = wanted[key]
        for key in [key for key in self._held if key not in self._wanted()]:
            thread = self._held.pop(key, None)
            if thread is not None and thread not in self._journal.state.written_at.values():
                await self._store.release(thread, self._record.id)

    def _wanted(self) -> Mapping[str, Address]:
        """The threads below what waits for people, by their keys. A task's belong to who ordered it."""
        state = self._journal.state
        if self._store is None or state.order is not None or state.ended:
            return {}
        threads = [
            thread
            for question in state.questions.values()
            for thread in threads_below(question.place or self._record.address, [*question.parts.values()])
        ]
        return {thread.key: thread for thread in threads}

    def answered(self, event: InboxEvent) -> QuestionState | None:
        """The open question that somebody's words answer because of where they stand: in the thread below it, or as a
        reply to it. None for all other words.
        """
        thread = None if event.place is None else event.place.thread
        message = event.quote.message_id if event.place is None and event.quote is not None else thread
        return None if message is None or event.choice else self.questions.shown_in(message, event.author)
