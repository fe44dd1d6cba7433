"""An agent in memory: its queue, and the loop in which it lives."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Any

import anyio

from runtime.agents.invitations import SessionInvitations
from runtime.agents.library import PlaybookLibrary
from runtime.channels.message_queue import MessageBatcher, MessageQueue
from runtime.channels.participant import Participant
from runtime.core.errors import PlaybookError
from runtime.core.ids import AgentId
from runtime.core.message import Message, MessageType
from runtime.core.plain_text import error_text
from runtime.events.sessions import PlaybookFailed, PlaybookReturned, PlaybookStarted
from runtime.execution.calls.builtins import as_they_are
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.frame import ExecutablePlaybook
from runtime.execution.frames.outcomes import RaisedFailure, described, reason
from runtime.execution.host import SessionHost
from runtime.execution.prompt.step_words import shown_call
from runtime.execution.prompt.with_files import heard_with_files
from runtime.tape.facts.content import NOTHING
from runtime.tape.facts.frames import FrameReturned, FrameStarted
from runtime.tape.facts.session import AgentPaused, AgentRestarted, MessageQueued, MessagesDropped
from runtime.tape.state.frames import RaisedAt
from runtime.tape.state.session import AgentState

QUEUE_CAPACITY = 10_000
"""Messages that may wait for one agent; more are refused, none is forgotten."""

MAX_HANDLED_MESSAGES = 100
"""An idle agent handles at most this many messages at once."""


_OVER = frozenset({MessageType.CHOICE, MessageType.MEETING_NOTICE})
"""What is about something that is over when the agent does nothing."""

_ALONE = frozenset({MessageType.MEETING_INVITATION, MessageType.TRIGGER})
"""What is not handled together with other messages."""


class Agent:
    """An instance of an agent class. Its state is on the tape; this is its mouth, its ears and its pulse."""

    def __init__(
        self,
        id_: AgentId,
        context: ExecutionContext,
        library: PlaybookLibrary,
        host: SessionHost,
        invitations: SessionInvitations,
    ) -> None:
        self.id = id_
        self.queue = MessageQueue(QUEUE_CAPACITY, context.clock)
        self._batcher = MessageBatcher(self.queue.put_all, context.clock, context.tasks, self._is_addressed)
        self._running: anyio.CancelScope | None = None
        self._waiting: anyio.CancelScope | None = None
        self._journal = context.journal
        self._pages = context.pages
        self._bus = context.bus
        self._library = library
        self._host = host
        self._invitations = invitations
        self.participant = Participant(id_, self.state.klass, self._hear)
        self._named = re.compile(rf"\b{re.escape(self.state.klass)}\b", re.IGNORECASE)
        self.queue.put_all(self.state.queue)

    @property
    def state(self) -> AgentState:
        return self._journal.state.agents[self.id]

    def _hear(self, message: Message) -> Awaitable[None] | None:
        """Take a message from a channel. Invitations to an agent at work, and answers to its own, are not for its
        queue."""
        if message.type == MessageType.MEETING_RESPONSE:
            self._invitations.answered(message)
        elif message.type == MessageType.MEETING_INVITATION and self._works():
            return self._invitations.busy(self.id, message)
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
        begins = not self.state.paused and self.state.begun < len(self._library.beginning(self.state.klass))
        return begins or self._is_called()

    def _is_called(self) -> bool:
        """Whether a playbook is executed on it, which for one that waits somebody else called: what comes is for that
        first."""
        return any(frame.agent == self.id for frame in self._journal.state.frames.values())

    def forget(self, messages: Collection[str]) -> None:
        """Take messages out of the queue that the tape no longer has in it."""
        self.queue.remove(lambda message: message.id in messages)

    async def live(self) -> None:
        """Begin, then handle messages, until the program has ended, or it is dismissed. Continues where a crash left
        it."""
        while not self._journal.state.ended and self._is_there():
            await self._next()

    async def _next(self) -> None:
        roots = self._journal.state.roots(self.id)
        if roots:
            await self._run(roots[0].id, self._library.executable(self.state.klass, roots[0].playbook))
            return
        beginning = self._library.beginning(self.state.klass)
        if not self.state.paused and self.state.begun < len(beginning):
            await self._start(beginning[self.state.begun], (), begins=True)
            return
        if not self._is_called():
            await self._invitations.idle(self.id)
        came: Sequence[Message] = ()
        with anyio.CancelScope() as self._waiting:
            came = await self._wait()
        if not self._is_there():
            return
        messages = self._of_use(as_they_are(came, self.state))
        if not messages:
            return  # they were dropped or taken back while they were handed over
        if messages[0].type == MessageType.MEETING_INVITATION:
            await self._attend(messages[0])
        elif messages[0].type == MessageType.TRIGGER:
            await self._do_in_time(messages[0])
        elif self.state.paused and beginning and any(message.from_human for message in messages):
            text = "\n".join(heard_with_files(message) for message in messages)
            mids = [message.id for message in messages]
            self._journal.note(AgentRestarted(self.id, messages=mids, variables={"startup_message": text}))
        else:
            await self._handle(messages)

    def _is_there(self) -> bool:
        return self.id in self._journal.state.agents

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
        found = await self._invitations.received(self.id, invitation)
        if found is None:
            self._journal.note(MessagesDropped(self.id, [invitation.id]))
            return
        executable, arguments = self._library.executable(self.state.klass, found[0]), found[1]
        frame = self._note_start(executable, (), arguments, meeting=str(invitation.meeting_id), mids=[invitation.id])
        await self._run(frame, executable)

    async def _do_in_time(self, message: Message) -> None:
        _, playbook, *_ = [*message.content.split(":"), ""]
        executable = self._library.find(self.state.klass, playbook)
        if executable is None:
            self._journal.note(MessagesDropped(self.id, [message.id]))
            return
        await self._start(executable, (), mids=[message.id])

    async def _wait(self) -> Sequence[Message]:
        await self._journal.commit()
        first = await self.queue.get(lambda _message: not self._is_called())
        if first.type in _ALONE or not len(self.queue):
            return [first]
        rest = self.queue.take(lambda message: message.type not in _ALONE, max_messages=MAX_HANDLED_MESSAGES)
        return [first, *rest]

    async def _handle(self, messages: Sequence[Message]) -> None:
        over = [message for message in messages if self._is_over(message)]
        if over:
            self._journal.note(MessagesDropped(self.id, [message.id for message in over]))
            messages = [message for message in messages if message not in over]
        if not messages:
            return
        handler, takes_text = self._library.receiver(self.state.klass, messages) or (
            self._library.handler(self.state.klass),
            True,
        )
        mids = [message.id for message in messages]
        if handler is None:
            self._journal.note(MessagesDropped(self.id, mids))
            if any(message.from_human for message in messages):
                await self._tell("session.finished", agent=self.state.klass)
            return
        text = "\n".join(heard_with_files(message) for message in messages)
        await self._start(handler, (text,) if takes_text else (), mids=mids)

    def _is_over(self, message: Message) -> bool:
        """Whether it was said in a meeting that has ended, for others than its host."""
        meeting = self._journal.state.meetings.get(str(message.meeting_id))
        broadcast = message.type == MessageType.MEETING_BROADCAST
        return broadcast and meeting is not None and meeting.status == "ended" and meeting.host != self.id

    async def _start(
        self, executable: ExecutablePlaybook, args: tuple[Any, ...], *, begins: bool = False, mids: Sequence[str] = ()
    ) -> None:
        try:
            frame = self._note_start(executable, args, begins=begins, mids=mids)
        except PlaybookError as error:  # what begins it does not fit its parameters: it fails before its first step
            at, frame = RaisedAt(self.state.klass, executable.name), f"{self.id}.{self.state.roots}"
            name, version = executable.name, executable.version
            self._journal.note(FrameStarted(frame, self.id, name, [], {}, version, begins=begins, messages=mids))
            self._journal.note(FrameReturned(frame, error=described(error), raised_at=at))
            await self._failed(executable, RaisedFailure(error, at))
        else:
            await self._run(frame, executable)

    def _note_start(
        self,
        executable: ExecutablePlaybook,
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

    async def _run(self, frame: str, executable: ExecutablePlaybook) -> None:
        self._bus.publish(PlaybookStarted(*self._of(executable)))
        # Those that came while it had nothing to do, and another was taken before them.
        for message in [waiting for waiting in self.state.queue if waiting.type == MessageType.MEETING_INVITATION]:
            self._journal.note(MessagesDropped(self.id, [message.id]))
            self.forget({message.id})
            await self._invitations.busy(self.id, message)
        failure: RaisedFailure | None = None
        with anyio.CancelScope() as running:
            self._running = running
            failure = await self._host.run_frame(frame, executable)
        if running.cancelled_caught or self._journal.state.ended:
            return
        if failure is None:
            self._bus.publish(PlaybookReturned(*self._of(executable)))
            return
        await self._failed(executable, failure)

    async def _failed(self, executable: ExecutablePlaybook, failure: RaisedFailure) -> None:
        error, place = failure.error, failure.raised_at
        self._bus.publish(PlaybookFailed(*self._of(executable), error_text(error), str(place), place.lines))
        self._journal.note(AgentPaused(self.id))
        again = "_again" if self._library.beginning(self.state.klass) else ""
        if self._journal.state.has_guests:
            await self._tell(f"session.went_wrong{again}")
            return
        why = reason(described(error), self._pages.texts)
        name = shown_call(place.playbook, self._pages.texts)
        await self._tell(f"session.playbook_failed{again}", playbook=name, error=why)

    async def _tell(self, key: str, **values: object) -> None:
        """Tell the people of the conversation something that no program said, by the text's key."""
        self._pages.tell(self._pages.texts(key, **values))
        await self._journal.commit()

    def _of(self, executable: ExecutablePlaybook) -> tuple[str, str, str]:
        return self._journal.session, self.id, executable.name
