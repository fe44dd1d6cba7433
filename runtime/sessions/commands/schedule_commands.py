"""The command /schedule in a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from runtime.execution.calls.reminders import Reminders
from runtime.execution.speech.pages import Pages
from runtime.sessions.schedules.answers import ScheduleAnswers, changes_zone, only_asks
from runtime.stores.inbox import InboxEvent
from runtime.stores.schedules import SCHEDULE


class ScheduleCommands:
    """Answers it in the session's conversation. A changed time zone holds for the triggers of its agents at once."""

    def __init__(self, answers: ScheduleAnswers, pages: Pages, reminders: Reminders) -> None:
        self._answers = answers
        self._pages = pages
        self._reminders = reminders

    def table(self) -> Mapping[str, Callable[[InboxEvent], Awaitable[None]]]:
        """The handler by the command's kind."""
        return {SCHEDULE: self._schedule}

    async def _schedule(self, event: InboxEvent) -> None:
        text = await self._answers.answer(event, self._pages.texts)
        if only_asks(event):
            self._pages.answer(text, event)
        else:
            self._pages.tell(text, event.place)
        if changes_zone(event):
            self._reminders.replan()
