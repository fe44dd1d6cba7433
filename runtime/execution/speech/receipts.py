"""Acknowledgements for the calls that wait for them: on the tape, so that the wait survives a restart."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Annotated, Any

import anyio
from msgspec import Struct, field

from runtime.channels.participant import MessageAcknowledgements
from runtime.core.clock import Clock, until
from runtime.core.errors import StorageError
from runtime.core.ids import ANYONE, AgentId, GuestId, MessageId, ParticipantId
from runtime.core.message import Message
from runtime.execution.frames.frame import Frame, FrameCall
from runtime.execution.frames.outcomes import site
from runtime.execution.speech.presence import AgentPresence
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import AcksAwaited, FrameStarted, FrameSteered, MessageAcknowledged, WaitEnded
from runtime.tape.facts.registry import agent_of
from runtime.tape.facts.session import AgentRestarted, AgentStopped, MessagesDropped, MessagesFetched
from runtime.tape.journal import Journal
from runtime.tape.state.frames import AckState, CallKey

MAX_WITHIN_S = 7 * 24 * 3600.0
"""No acknowledgement is waited for longer."""

_CONSUMED = (WaitEnded, FrameStarted, AgentRestarted, FrameSteered, MessagesFetched)


class SpeechReceipts(Struct, eq=False):
    _journal: Journal
    _presence: AgentPresence
    _live: MessageAcknowledgements
    _clock: Clock
    _waiting: dict[CallKey, anyio.Event] = field(default_factory=dict)

    def ask(
        self,
        frame: Frame,
        call: FrameCall,
        message: Message,
        who: Collection[ParticipantId],
        *,
        page: str | None,
        to: str,
    ) -> None:
        """Write down that the call waits for `who` to acknowledge `message`: agents by consuming it, people by seeing
        its page."""
        due = self._clock.now().timestamp() + message.ack_within_s
        self._journal.note(AcksAwaited(*site(frame, call), due, message.id, list(who), page, to))

    async def collect(self, frame: Frame, call: FrameCall, within_s: float) -> None:
        """Wait until all have acknowledged it, or cannot, or the time is over; the result says who did."""
        key = CallKey(frame.id, call.pos)
        await self._journal.commit()
        wait = self._journal.state.waits.get(key)
        if wait is not None:
            with self._presence.waiting(frame.id):
                await self._settled(key, wait.due or 0.0, within_s)
        ack = self._journal.state.acks.get(key)
        if ack is None:
            await anyio.sleep_forever()  # stopped meanwhile: whoever did that cancels us
            raise AssertionError("unreachable")
        self._journal.note(WaitEnded(*site(frame, call), messages=[], value=self._value(ack)))
        await self._journal.commit()

    async def _settled(self, key: CallKey, due: float, within_s: float) -> None:
        event = self._waiting[key] = anyio.Event()
        self._look(key)

        async def expire() -> None:
            await until(self._clock, due, at_most_s=within_s)
            event.set()

        try:
            async with anyio.create_task_group() as timer:
                timer.start_soon(expire)
                await event.wait()
                timer.cancel_scope.cancel()
        finally:
            del self._waiting[key]

    def _value(self, ack: AckState) -> dict[str, list[str]]:
        return {
            "acknowledged": [self._called(who) for who in ack.acknowledged],
            "missing": [self._called(who) for who in (*ack.awaited, *ack.refused)],
        }

    def _called(self, who: ParticipantId) -> str:
        if isinstance(who, AgentId):
            return f"agent {who}"
        if isinstance(who, GuestId):
            return who.name
        return "user" if who == ANYONE else self._journal.state.called(who)

    def noted(self, fact: FactContent) -> None:
        """Hears every fact: a message was consumed, or will not be, or people see it."""
        if self._live.remembered:
            if isinstance(fact, MessageAcknowledged):
                settle = self._live.acknowledge if fact.has_it else self._live.give_up
                settle(MessageId(fact.message), fact.who)
            elif isinstance(fact, _CONSUMED):
                agent = AgentId(agent_of(fact, self._journal.state))
                for message in fact.messages:
                    self._live.acknowledge(MessageId(message), agent)
            elif isinstance(fact, MessagesDropped | AgentStopped):
                for message in fact.messages if isinstance(fact, MessagesDropped) else fact.dropped:
                    self._live.give_up(MessageId(message), fact.agent)
        for key in list(self._waiting):
            self._look(key)

    def _look(self, key: CallKey) -> None:
        ack = self._journal.state.acks.get(key)
        if ack is None or not ack.awaited:
            self._waiting[key].set()


def note_delivered(journal: Journal, message: MessageId, who: GuestId, has_it: bool) -> None:
    """Write down that a participant of an extension has a message that is to be acknowledged, or never will."""
    with suppress(StorageError):  # the session is gone; its wait ends in time
        journal.note(MessageAcknowledged(message, who, has_it))
        journal.hurry()


def _within(given: Any) -> float | None:
    if given is False:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= MAX_WITHIN_S:
        raise ValueError(f"ack_within_s as a number of seconds, at most {MAX_WITHIN_S:g}, not {given!r}")
    return float(given)


AckWithin = Annotated[float, _within]
"""The time within which a message is to be acknowledged."""
