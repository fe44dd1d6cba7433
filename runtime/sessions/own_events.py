"""Events of the inbox that are not for the agents: times, results, what is done elsewhere, answers to tasks."""

from __future__ import annotations

from runtime.execution.speech.pages import Pages
from runtime.sessions.commands.merge import Merge
from runtime.sessions.inbound.participants import Participants
from runtime.sessions.tasks.orders import TaskOrders
from runtime.sessions.tasks.questions import TaskQuestions
from runtime.sessions.tasks.work import TaskWork
from runtime.stores.inbox import (
    MERGED,
    PARTICIPANT,
    TASK,
    TASK_AGAIN,
    TASK_ASKS,
    TASK_CANCEL,
    TASK_HEARD,
    TASK_OVER,
    TASK_WORD,
    InboxEvent,
)
from runtime.stores.sessions import TIMER

OWN_EVENTS = frozenset(
    {TIMER, MERGED, PARTICIPANT, TASK, TASK_CANCEL, TASK_OVER, TASK_ASKS, TASK_AGAIN, TASK_WORD, TASK_HEARD}
)
"""Their kinds. What is due at a time, a frame knows by the tape; a session has taken its own order already."""


class OwnEvents:
    """Takes them for one session."""

    def __init__(
        self,
        pages: Pages,
        merge: Merge,
        participants: Participants,
        orders: TaskOrders,
        work: TaskWork,
        questions: TaskQuestions,
    ) -> None:
        self._pages = pages
        self.merge = merge
        """Gives back what came of a fork."""
        self._participants = participants
        self.orders = orders
        """What was ordered here."""
        self.work = work
        """What was ordered of the session itself."""
        self.questions = questions
        """What tasks ask."""

    async def concerns(self, event: InboxEvent) -> bool:
        """Whether an event is for none of the agents here. Does what a crash must find done once it is consumed."""
        if event.kind == TASK_ASKS:
            await self.questions.threads.hold(event)
        if event.kind in OWN_EVENTS or self.questions.answers(event) or self.questions.refusal(event):
            return True
        return await self.questions.meant(event)

    async def take(self, event: InboxEvent, *, broken: bool) -> None:
        """Take an event; `broken`: its program cannot go on."""
        if event.kind not in OWN_EVENTS:
            await self._answer(event)
        elif event.kind == MERGED:
            self._pages.tell(self.merge.take(event))
        elif event.kind == PARTICIPANT and not broken:
            await self._participants.take(event)
        elif event.kind == TASK_CANCEL:
            self.work.cancel()
        elif event.kind == TASK_ASKS:
            self.questions.take(event)
        elif event.kind == TASK_AGAIN:
            self.orders.order_again(event)
        elif event.kind in (TASK_OVER, TASK_WORD, TASK_HEARD) and (told := await self.orders.take(event)):
            self._pages.tell(told)

    async def _answer(self, event: InboxEvent) -> None:
        """Bring what people answer to the task that has asked, or tell them that it is no answer."""
        refusal = self.questions.refusal(event)
        if refusal is None:
            await self.questions.forward(event)
        else:
            self._pages.tell(refusal, event.place)
