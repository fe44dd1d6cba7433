"""An agent that is played in another process: what it hears goes there by its mailbox, what it says comes back."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import anyio
from msgspec.structs import replace

from runtime.bus import Bus
from runtime.channels.mailbox import ParticipantSeat, SeatLetter, SeatMailboxes
from runtime.channels.message_queue import MessageQueue
from runtime.channels.participant import Participant
from runtime.core.errors import MailboxFull, QueueFull, RoutingError
from runtime.core.ids import AgentId
from runtime.core.message import Message
from runtime.events.sessions import ParticipantPosted, ParticipantRefused
from runtime.tape.facts.session import MessageQueued, MessagesDropped, MessagesFetched, MessagesPosted
from runtime.tape.journal import Journal
from runtime.tape.state.meetings import MeetingState
from runtime.tape.state.session import AgentState

SEAT_CAPACITY = 500
"""Messages that may wait in one session to be fetched; more are refused, none is forgotten."""

MAX_TEXT_CHARS = 200_000
"""A longer text is refused."""


MAX_SHARED_CHARS = 8000
"""The length of the shared state that goes with each message, as JSON."""


Undelivered = Callable[[Message, AgentId, str], Awaitable[None]]
"""Tells the sender of a message to an agent why it was not delivered; it is no longer in the agent's queue."""


class RemoteAgent:
    """The side of such an agent that is in its session: its seat.

    What comes is in the agent's queue on the tape first, then in the mailbox of its participant, and leaves the queue
    when the participant has acknowledged it. A crash in between puts it into the mailbox again, which knows it.
    """

    def __init__(
        self,
        seat: ParticipantSeat,
        journal: Journal,
        mailboxes: SeatMailboxes,
        undelivered: Undelivered,
        bus: Bus,
    ) -> None:
        self.id = seat.agent
        self.queue = MessageQueue(1, bus.clock)
        """Empty: nothing of the agent is executed here."""
        self._seat = seat
        self._posted = anyio.Event()
        self._journal = journal
        self._mailboxes = mailboxes
        self._undelivered = undelivered
        self._bus = bus
        self._came = anyio.Event()
        self.participant = Participant(seat.agent, self.state.klass, self.accept)

    @property
    def seat(self) -> ParticipantSeat:
        """The seat as it is now: another one after each stop."""
        return replace(self._seat, stops=self.state.stops)

    @property
    def state(self) -> AgentState:
        return self._journal.state.agents[self.id]

    def accept(self, message: Message) -> None:
        """Take a message; durable with the next commit, on its way after it. Raises QueueFull, and RoutingError for one
        that is too long."""
        if len(message.content) > MAX_TEXT_CHARS:
            raise RoutingError(
                f"{self.state.klass} is played in another process, which takes at most {MAX_TEXT_CHARS} characters at "
                f"once; these are {len(message.content)}"
            )
        if len(self.state.queue) >= SEAT_CAPACITY:
            raise QueueFull(
                f"{SEAT_CAPACITY} messages are waiting for {self.state.participant}, who plays "
                f"{self.state.klass}; another was not taken"
            )
        self._journal.note(MessageQueued(self.id, message))
        self._came.set()

    def forget(self, messages: Collection[str]) -> None:
        """Take messages out of the queue that the tape no longer has in it: there is no other queue."""

    def interrupt(self) -> None:
        """Nothing: another process cannot be stopped from here."""

    async def live(self) -> None:
        """Post what comes, for ever: what was said before the program ended is posted after it."""
        while True:
            posted = set(self.state.posted)
            waiting = [message for message in self.state.queue if message.id not in posted]
            if not waiting:
                self._posted.set()
                self._came = anyio.Event()
                await self._came.wait()
                continue
            await self._journal.commit()
            for message in waiting:
                await self._post(message)
            await self._journal.commit()

    async def all_posted(self) -> None:
        while self.state.has_work():
            if self._posted.is_set():
                self._posted = anyio.Event()
            self._came.set()
            await self._posted.wait()

    async def _post(self, message: Message) -> None:
        if all(message.id != queued.id for queued in self.state.queue):
            return  # it was taken back, or dropped by a stop
        participant = str(self.state.participant)
        about = (self._journal.session, self.id, message.id, participant)
        try:
            await self._mailboxes.put(participant, SeatLetter(self.seat, message.id, self._content(message)))
        except MailboxFull as error:
            self._journal.note(MessagesDropped(self.id, [message.id]))
            await self._undelivered(message, self.id, str(error))
            self._bus.publish(ParticipantRefused(*about))
        else:
            self._journal.note(MessagesPosted(self.id, [message.id]))
            self._bus.publish(ParticipantPosted(*about))

    def fetched(self, message_ids: Collection[str]) -> None:
        """The participant has acknowledged these messages; those that it did before, or that were dropped, are passed
        over."""
        mids = [message.id for message in self.state.queue if message.id in message_ids]
        if mids:
            self._journal.note(MessagesFetched(self.id, mids))

    def _content(self, message: Message) -> Mapping[str, Any]:
        """A message as the participant reads it; see docs/connecting/remote-participants.md."""
        meeting = self._journal.state.meetings.get(str(message.meeting_id))
        content: dict[str, Any] = {
            "id": message.id,
            "you": {"agent": self.id, "class": self.state.klass},
            "kind": str(message.type),
            "from": _stated(
                id=message.sender_id,
                **{"class": message.sender_class},
                name=message.sender_name,
                human=message.from_human,
            ),
            "text": message.content,
            "at": message.created_at.isoformat(),
            "meeting": message.meeting_id,
            "topic": meeting.topic if meeting is not None else None,
            "shared": _shared(meeting) if meeting is not None and self.id in meeting.joined else None,
            "to_you": message.recipient_id == self.id or message.addresses(self.id),
            "acknowledge": message.ack_required,
            "files": [{"name": file.name, "media_type": file.media_type} for file in message.attachments],
        }
        return _stated(**content)


def _shared(meeting: MeetingState) -> Mapping[str, Any] | None:
    """The shared state of a meeting, by name; values beyond the limit are left out."""
    left, found = MAX_SHARED_CHARS, dict[str, Any]()
    for name, known in meeting.shared.items():
        left -= len(json.dumps(known.value, ensure_ascii=False))
        found[name] = {"version": known.version, "by": known.by} | ({"value": known.value} if left >= 0 else {})
    return found or None


def _stated(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
