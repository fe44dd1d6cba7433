"""Commands for a session, except those that end it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from runtime.agents.loops import AgentLoops
from runtime.core.texts import Texts
from runtime.execution.execution_context import ExecutionContext
from runtime.sessions.commands.overview import agents_at_work, lasting, status_of, those_here
from runtime.sessions.inbound.backlog import Stop
from runtime.sessions.inbound.binding import Binding
from runtime.sessions.inbound.event_handler import EventHandler
from runtime.sessions.succession import words_within
from runtime.sessions.tasks.orders import cancel_tasks, in_words
from runtime.stores.inbox import SESSION_COMMANDS, InboxEntry, InboxEvent
from runtime.tape.facts.tasks import TaskCancelled
from runtime.tape.journal import Journal
from runtime.tape.state.session import SessionState
from runtime.tape.state.tasks import TaskState

MAX_SHOWN = 20
"""The latest tasks that are shown."""

Carry = Callable[[InboxEvent], Awaitable[None]]
"""Carries out a command."""


def tasks_text(state: SessionState, now_s: float, texts: Texts) -> str:
    """The tasks of a session, one a line, the latest last."""
    shown = list(state.tasks.values())[-MAX_SHOWN:]
    return "\n".join(_line(task, now_s, texts) for task in shown) if shown else texts("tasks.none")


def _line(task: TaskState, now_s: float, texts: Texts) -> str:
    came = in_words(task.value) if task.status == "completed" else task.error or ""
    return texts(
        "tasks.line" if not came else "tasks.line_over",
        task=task.number,
        does=f"{task.klass}.{task.playbook}",
        status=texts(f"tasks.{task.status}"),
        time=lasting(now_s - task.since, texts),
        result=words_within(came),
    )


def stop_task(journal: Journal, asked: str, texts: Texts) -> str:
    """End the task of this number; what people are told."""
    number = asked.strip()
    known = (task for task in journal.state.tasks.values() if str(task.number) == number)
    task = next(known, None)
    if task is None:
        return texts("tasks.unknown", task=words_within(number))
    if task.over:
        return texts("tasks.over", task=task.number)
    journal.note(TaskCancelled(task.number))
    return texts("tasks.stopped", task=task.number)


class SessionCommands:
    """The commands of one session. Each becomes facts and answers, for the commit that consumes it."""

    def __init__(
        self,
        context: ExecutionContext,
        loops: AgentLoops,
        event_handler: EventHandler,
        binding: Binding,
        others: Mapping[str, Carry],
    ) -> None:
        """`others` carry out further commands, by their kinds."""
        self._context = context
        self._program = context.program
        self._journal = context.journal
        self._pages = context.pages
        self._texts = context.pages.texts
        self._loops = loops
        self._event_handler = event_handler
        self._binding = binding
        self._kinds: Mapping[str, Carry] = {
            "start": self._start,
            "status": self._status,
            "who": self._who,
            "iam": self._iam,
            "agents": self._agents,
            "tasks": self._tasks,
            **others,
        }

    async def carry_out(self, entry: InboxEntry, *, broken: bool) -> bool:
        """Carry out a command; False when the event is none, or one that a `broken` program cannot carry out."""
        command = SESSION_COMMANDS.get(entry.event.kind)
        if broken and command is not None and command.agents:
            return False
        if entry.event.kind == "stop":
            await self.stop(Stop(entry))
            return True
        handler = self._kinds.get(entry.event.kind)
        if handler is not None:
            await handler(entry.event)
        return handler is not None

    async def stop(self, stop: Stop) -> None:
        """Everything stops, and what was said before it is not answered."""
        busy, unread = await self._loops.stop()
        busy = cancel_tasks(self._journal) or busy
        self._event_handler.stopped(unread, [entry.event for entry in stop.passed])
        stopped = busy or unread or stop.passed
        if stopped:
            self._tell("stopped", stop.entry.event)
        else:
            self._pages.answer(self._texts("session.nothing_runs"), stop.entry.event)

    async def _start(self, event: InboxEvent) -> None:
        self._pages.answer(self._texts("session.already"), event)

    async def _status(self, event: InboxEvent) -> None:
        model, texts = self._context.llm.model, self._texts
        self._pages.answer(status_of(self._journal.state, self._program.name, model, texts), event)

    async def _who(self, event: InboxEvent) -> None:
        self._pages.answer(those_here(self._journal.state, self._texts), event)

    async def _agents(self, event: InboxEvent) -> None:
        now_s = self._context.clock.now().timestamp()
        self._pages.answer(agents_at_work(self._journal.state, self._program, now_s, self._texts), event)

    async def _tasks(self, event: InboxEvent) -> None:
        word, _, which = event.text.strip().partition(" ")
        if not word:
            said = tasks_text(self._journal.state, self._context.clock.now().timestamp(), self._texts)
        elif word.lower() == "stop":
            self._pages.tell(stop_task(self._journal, which, self._texts), event.place)
            return
        else:
            said = self._texts("tasks.usage")
        self._pages.answer(said, event)

    async def _iam(self, event: InboxEvent) -> None:
        key, values = self._binding.claim(event)
        self._tell(key, event, **values)

    def _tell(self, key: str, asked: InboxEvent, **values: object) -> None:
        """Tell everybody there where it was asked."""
        self._pages.tell(self._texts(f"session.{key}", **values), asked.place)
