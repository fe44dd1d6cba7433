"""An agent in memory: its queue, and the loop in which it lives."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup

from runtime.bus import Bus
from runtime.channels.batching import Batcher
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import AgentParticipant
from runtime.core.clock import Clock
from runtime.core.errors import PlaybookError
from runtime.core.ids import AgentId
from runtime.core.message import Message, MessageType
from runtime.core.plain_text import error_text
from runtime.core.texts import Texts
from runtime.execution.calls.builtins import as_they_are
from runtime.execution.frames.outcomes import described, reason
from runtime.execution.host import Executable
from runtime.execution.prompt.message_text import heard_content
from runtime.tape.facts.agents import AgentPaused, AgentRestarted, MessageQueued, MessagesDropped
from runtime.tape.facts.content import NOTHING
from runtime.tape.facts.frames import FrameStarted
from runtime.tape.journal import Journal
from runtime.tape.state import AgentState

QUEUE_CAPACITY = 10_000
"""Messages that may wait for one agent; more are refused, none is forgotten."""

MAX_HANDLED_MESSAGES = 100
"""An idle agent handles at most this many messages at once."""


class Reception(Protocol):
    """The port for an agent's invitations: those it gets and those it sends."""

    async def received(self, agent: AgentId, invitation: Message) -> tuple[Executable, Mapping[str, Any]] | None:
        """The playbook by which an idle agent takes part in a meeting, and its arguments; None when it does not, and
        has said why where anybody waits for that."""
        ...

    async def busy(self, agent: AgentId, invitation: Message) -> None:
        """The agent is invited, and does something else."""
        ...

    async def idle(self, agent: AgentId) -> None:
        """The agent does nothing: it is invited again where it is still waited for."""
        ...

    def answered(self, response: Message) -> None:
        """An answer to an invitation has come."""
        ...


_OVER = frozenset({MessageType.CHOICE, MessageType.MEETING_NOTICE})
"""What is about something that is over when the agent does nothing."""

_ALONE = frozenset({MessageType.MEETING_INVITATION, MessageType.TRIGGER})
"""What is not handled together with other messages."""


class Keeper(Protocol):
    """The port from an agent's loop to its session."""

    def beginning(self, klass: str) -> Sequence[Executable]:
        """The playbooks with a BGN trigger, in order."""
        ...

    def receiver(self, klass: str, messages: Sequence[Message]) -> tuple[Executable, bool] | None:
        """The playbook that a trigger begins when such messages come, and whether it takes what was said; None when the
        handler sees to them."""
        ...

    def triggered(self, klass: str, code: str) -> Executable | None:
        """The playbook of a trigger of an agent class; None when there is none now."""
        ...

    def handler(self, klass: str) -> Executable | None:
        """The playbook that handles messages while no other is running."""
        ...

    def executable(self, agent: AgentId, playbook: str) -> Executable:
        """The playbook by which a frame of `agent` is executed. Raises ProgramChanged when there is none now."""
        ...

    async def run_root(self, frame: str, executable: Executable) -> BaseException | None:
        """Run a frame that nobody called to its end."""
        ...

    @property
    def reception(self) -> Reception:
        """The source and destination of invitations to the session's meetings."""
        ...

    @property
    def texts(self) -> Texts:
        """The texts of the gateway."""
        ...

    async def tell(self, key: str, /, **values: object) -> None:
        """Tell the people of the conversation something that no program said, by the text's key."""
        ...


class Agent:
    """An instance of an agent class. Its state is on the tape; this is its mouth, its ears and its pulse."""

    def __init__(
        self, id_: AgentId, journal: Journal, keeper: Keeper, clock: Clock, bus: Bus, tasks: TaskGroup
    ) -> None:
        self.id = id_
        self.queue = MessageQueue(QUEUE_CAPACITY, clock)
        self._batcher = Batcher(self.queue.put_all, clock, tasks, self._is_addressed)
        self._running: anyio.CancelScope | None = None
        self._waiting: anyio.CancelScope | None = None
        self._journal = journal
        self._keeper = keeper
        self._bus = bus
        self.participant = AgentParticipant(id_, self.state.klass, self._hear)
        self._named = re.compile(rf"\b{re.escape(self.state.klass)}\b", re.IGNORECASE)
        self.queue.put_all(self.state.queue)

    @property
    def state(self) -> AgentState:
        """The agent's state on the tape."""
        return self._journal.state.agents[self.id]

    def _hear(self, message: Message) -> Awaitable[None] | None:
        """What comes by a channel. Invitations to an agent at work, and answers to its own, are not for its queue."""
        if message.type == MessageType.MEETING_RESPONSE:
            self._keeper.reception.answered(message)
        elif message.type == MessageType.MEETING_INVITATION and self._works():
            return self._keeper.reception.busy(self.id, message)
        else:
            self.accept(message)
        return None

    def accept(self, message: Message) -> None:
        """Take a message; durable with the next commit, in the queue when it is due. Raises QueueFull."""
        self._batcher.add(message)
        self._journal.note(MessageQueued(self.id, message))

    def _is_addressed(self, message: Message) -> bool:
        return message.addresses(self.id) or self._named.search(message.content) is not None

    def interrupt(self) -> None:
        """Give up what is running, or about to; the tape has been told."""
        for scope in (self._running, self._waiting):
            if scope is not None:
                scope.cancel()

    def look(self, *, wanted: bool = False) -> None:
        """See whether there is something to handle, now that a playbook that others called on it has returned: in the
        queue, or because it is `wanted` in a meeting."""
        if self._waiting is not None and (wanted or len(self.queue)) and not self._is_called():
            self._waiting.cancel()

    def _works(self) -> bool:
        """Whether it is busy, or about to be: then it cannot join a meeting."""
        begins = not self.state.paused and self.state.begun < len(self._keeper.beginning(self.state.klass))
        return begins or self._is_called()

    def _is_called(self) -> bool:
        """Whether a playbook is executed on it, which for one that waits somebody else called: what comes is for that
        first."""
        return any(frame.agent == self.id for frame in self._journal.state.frames.values())

    def forget(self, messages: Collection[str]) -> None:
        """Take messages out of the queue that the tape no longer has in it."""
        self.queue.remove(lambda message: message.id in messages)

    async def live(self) -> None:
        """Begin, then handle messages, until the program has ended. Continues where a crash left it."""
        while not self._journal.state.ended:
            await self._next()

    async def _next(self) -> None:
        roots = self._journal.state.roots(self.id)
        if roots:
            await self._run(roots[0].id, self._keeper.executable(self.id, roots[0].playbook))
            return
        beginning = self._keeper.beginning(self.state.klass)
        if not self.state.paused and self.state.begun < len(beginning):
            await self._start(beginning[self.state.begun], (), begins=True)
            return
        if not self._is_called():
            await self._keeper.reception.idle(self.id)
        came: Sequence[Message] = ()
        with anyio.CancelScope() as self._waiting:
            came = await self._wait()
        messages = self._of_use(as_they_are(came, self.state))
        if not messages:
            return  # they were dropped or taken back while they were handed over
        if messages[0].type == MessageType.MEETING_INVITATION:
            await self._attend(messages[0])
        elif messages[0].type == MessageType.TRIGGER:
            await self._do_in_time(messages[0])
        elif self.state.paused and beginning and any(message.from_human for message in messages):
            self._begin_anew(messages)
        else:
            await self._handle(messages)

    def _of_use(self, messages: Sequence[Message]) -> list[Message]:
        """Those that are not about what is over: a question, or a meeting whose playbook it has done."""
        over = [message.id for message in messages if message.type in _OVER or self._is_left_behind(message)]
        if over:
            self._journal.note(MessagesDropped(self.id, over))
        return [message for message in messages if message.id not in over]

    def _is_left_behind(self, message: Message) -> bool:
        """Whether an agent said it in a meeting that this one has left."""
        meeting = self._journal.state.meetings.get(str(message.meeting_id))
        said_there = message.type == MessageType.MEETING_BROADCAST and not message.from_human
        return said_there and (meeting is None or self.id not in meeting.joined or meeting.status == "ended")

    async def _attend(self, invitation: Message) -> None:
        found = await self._keeper.reception.received(self.id, invitation)
        if found is None:
            self._journal.note(MessagesDropped(self.id, [invitation.id]))
            return
        executable, arguments = found
        frame = self._note_start(executable, (), arguments, meeting=str(invitation.meeting_id), mids=[invitation.id])
        await self._run(frame, executable)

    async def _do_in_time(self, message: Message) -> None:
        """Execute the playbook whose time has come."""
        executable = self._keeper.triggered(self.state.klass, message.content)
        if executable is None:
            self._journal.note(MessagesDropped(self.id, [message.id]))
            return
        await self._start(executable, (), mids=[message.id])

    async def _wait(self) -> Sequence[Message]:
        await self._journal.commit()
        first = await self.queue.get(lambda _message: not self._is_called())
        if first.type in _ALONE or not len(self.queue):
            return [first]
        rest = await self.queue.get_batch(
            lambda message: message.type not in _ALONE,
            min_messages=0,
            max_messages=MAX_HANDLED_MESSAGES,
            timeout_s=0.0,
        )
        return [first, *rest]

    def _begin_anew(self, messages: Sequence[Message]) -> None:
        text = "\n".join(heard_content(message) for message in messages)
        mids = [message.id for message in messages]
        self._journal.note(AgentRestarted(self.id, messages=mids, variables={"startup_message": text}))

    async def _handle(self, messages: Sequence[Message]) -> None:
        over = [message for message in messages if self._is_over(message)]
        if over:
            self._journal.note(MessagesDropped(self.id, [message.id for message in over]))
            messages = [message for message in messages if message not in over]
        if messages:
            await self._take(messages)

    def _is_over(self, message: Message) -> bool:
        """Whether it was said in a meeting that has ended, for others than its host."""
        meeting = self._journal.state.meetings.get(str(message.meeting_id))
        broadcast = message.type == MessageType.MEETING_BROADCAST
        return broadcast and meeting is not None and meeting.status == "ended" and meeting.host != self.id

    async def _take(self, messages: Sequence[Message]) -> None:
        handler, takes_text = self._keeper.receiver(self.state.klass, messages) or (
            self._keeper.handler(self.state.klass),
            True,
        )
        mids = [message.id for message in messages]
        if handler is None:
            self._journal.note(MessagesDropped(self.id, mids))
            if any(message.from_human for message in messages):
                await self._keeper.tell("session.finished", agent=self.state.klass)
            return
        text = "\n".join(heard_content(message) for message in messages)
        await self._start(handler, (text,) if takes_text else (), mids=mids)

    async def _start(
        self, executable: Executable, args: tuple[Any, ...], *, begins: bool = False, mids: Sequence[str] = ()
    ) -> None:
        try:
            frame = self._note_start(executable, args, begins=begins, mids=mids)
        except PlaybookError as error:  # what begins it does not fit its parameters
            self._journal.note(MessagesDropped(self.id, mids))
            await self._failed(executable, error)
        else:
            await self._run(frame, executable)

    def _note_start(
        self,
        executable: Executable,
        args: tuple[Any, ...],
        named: Mapping[str, Any] = NOTHING,
        *,
        begins: bool = False,
        meeting: str | None = None,
        mids: Sequence[str] = (),
    ) -> str:
        bound, kwargs, variables = executable.bind(args, dict(named))
        frame = f"{self.id}.{self.state.roots}"
        started = FrameStarted(
            frame,
            self.id,
            executable.name,
            bound,
            kwargs,
            executable.version,
            variables,
            begins=begins,
            meeting=meeting,
            messages=mids,
        )
        self._journal.note(started)
        return frame

    async def _run(self, frame: str, executable: Executable) -> None:
        self._publish("playbook.started", executable)
        await self._refuse_invitations()
        failure: BaseException | None = None
        with anyio.CancelScope() as running:
            self._running = running
            failure = await self._keeper.run_root(frame, executable)
        if running.cancelled_caught or self._journal.state.ended:
            return
        if failure is None:
            self._publish("playbook.returned", executable)
            return
        await self._failed(executable, failure)

    async def _failed(self, executable: Executable, failure: BaseException) -> None:
        self._publish("playbook.failed", executable, error=error_text(failure))
        self._journal.note(AgentPaused(self.id))
        again = "_again" if self._keeper.beginning(self.state.klass) else ""
        error = reason((described(failure)[0], error_text(failure)), self._keeper.texts)
        await self._keeper.tell(f"session.playbook_failed{again}", playbook=executable.name, error=error)

    async def _refuse_invitations(self) -> None:
        """Those that came while it had nothing to do, and another was taken before them."""
        for message in [waiting for waiting in self.state.queue if waiting.type == MessageType.MEETING_INVITATION]:
            self._journal.note(MessagesDropped(self.id, [message.id]))
            self.forget({message.id})
            await self._keeper.reception.busy(self.id, message)

    def _publish(self, name: str, executable: Executable, **data: Any) -> None:
        self._bus.publish(name, session_id=self._journal.session, agent_id=self.id, playbook=executable.name, **data)
