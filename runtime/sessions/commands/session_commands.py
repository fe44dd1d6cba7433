"""Commands for a session, except those that end it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from runtime.agents.loops import AgentLoops
from runtime.execution.execution_context import ExecutionContext
from runtime.sessions.commands.overview import agents_at_work, status_of, those_here
from runtime.sessions.features import SessionPart
from runtime.sessions.inbound.backlog import Stop
from runtime.sessions.inbound.binding import Binding
from runtime.sessions.inbound.event_handler import EventHandler
from runtime.stores.inbox import SESSION_COMMANDS, InboxEntry, InboxEvent

Carry = Callable[[InboxEvent], Awaitable[None]]
"""Carries out a command."""


class SessionCommands:
    """The commands of one session. Each becomes facts and answers, for the commit that consumes it."""

    def __init__(
        self,
        context: ExecutionContext,
        loops: AgentLoops,
        event_handler: EventHandler,
        binding: Binding,
        parts: Sequence[SessionPart],
    ) -> None:
        """`parts` carry out further commands."""
        self._parts = parts
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
            **{kind: carry for part in parts for kind, carry in part.commands.items()},
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
        busy = bool([part for part in self._parts if part.stopped()]) or busy
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

    async def _iam(self, event: InboxEvent) -> None:
        key, values = self._binding.claim(event)
        self._tell(key, event, **values)

    def _tell(self, key: str, asked: InboxEvent, **values: object) -> None:
        """Tell everybody there where it was asked."""
        self._pages.tell(self._texts(f"session.{key}", **values), asked.place)
