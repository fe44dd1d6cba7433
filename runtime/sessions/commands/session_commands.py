"""Commands for a session, except those that end it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from runtime.agents.supervisor import Supervisor
from runtime.execution.speech.pages import Pages
from runtime.language.program import Program
from runtime.sessions.commands.meeting_commands import MeetingCommands
from runtime.sessions.commands.overview import agents_at_work, status_of, those_here
from runtime.sessions.commands.task_view import stop_task, tasks_text
from runtime.sessions.inbound.backlog import Stop
from runtime.sessions.inbound.event_handler import EventHandler
from runtime.sessions.node_context import NodeContext
from runtime.sessions.tasks.orders import cancel_tasks
from runtime.stores.inbox import InboxEntry, InboxEvent
from runtime.tape.journal import Journal

_FOR_AGENTS = frozenset({"invite", "leave"})
"""Orders that need agents who live."""


class SessionCommands:
    """The commands of one session. Each becomes facts and answers, for the commit that consumes it."""

    def __init__(
        self,
        program: Program,
        journal: Journal,
        supervisor: Supervisor,
        pages: Pages,
        intake: EventHandler,
        around: NodeContext,
    ) -> None:
        self._program = program
        self._journal = journal
        self._supervisor = supervisor
        self._pages = pages
        self._intake = intake
        self._around = around
        self._kinds: Mapping[str, Callable[[InboxEvent], Awaitable[None]]] = {
            "start": self._start,
            "status": self._status,
            "who": self._who,
            "iam": self._iam,
            "agents": self._agents,
            "tasks": self._tasks,
            **MeetingCommands(journal, supervisor, pages, around.clock).table(),
        }

    async def carry_out(self, entry: InboxEntry, *, broken: bool) -> bool:
        """Do what is ordered; False when the event orders nothing, or what a `broken` program cannot do."""
        if broken and entry.event.kind in _FOR_AGENTS:
            return False
        if entry.event.kind == "stop":
            await self.stop(Stop(entry))
            return True
        order = self._kinds.get(entry.event.kind)
        if order is not None:
            await order(entry.event)
        return order is not None

    async def stop(self, stop: Stop) -> None:
        """Everything stops, and what was said before it is not answered."""
        busy, unread = await self._supervisor.stop()
        busy = cancel_tasks(self._journal) or busy
        self._intake.stopped(unread, [entry.event for entry in stop.passed])
        stopped = busy or unread or stop.passed
        self._tell("stopped" if stopped else "nothing_runs", stop.entry.event)

    async def _start(self, event: InboxEvent) -> None:
        self._tell("already", event)

    async def _status(self, event: InboxEvent) -> None:
        model, texts = self._around.llm.model, self._around.texts
        self._pages.tell(status_of(self._journal.state, self._program.name, model, texts), event.place)

    async def _who(self, event: InboxEvent) -> None:
        self._pages.tell(those_here(self._journal.state, self._around.texts), event.place)

    async def _agents(self, event: InboxEvent) -> None:
        now_s = self._around.clock.now().timestamp()
        self._pages.tell(agents_at_work(self._journal.state, self._program, now_s, self._around.texts), event.place)

    async def _tasks(self, event: InboxEvent) -> None:
        texts, (word, _, which) = self._around.texts, event.text.strip().partition(" ")
        if not word:
            now_s = self._around.clock.now().timestamp()
            said = tasks_text(self._journal.state, now_s, texts)
        elif word.lower() == "stop":
            said = stop_task(self._journal, which, texts)
        else:
            said = texts("tasks.usage")
        self._pages.tell(said, event.place)

    async def _iam(self, event: InboxEvent) -> None:
        key, values = self._intake.binding.claim(event)
        self._tell(key, event, **values)

    def _tell(self, key: str, asked: InboxEvent, **values: object) -> None:
        """Answer there where it was asked."""
        self._pages.tell(self._around.texts(f"session.{key}", **values), asked.place)
