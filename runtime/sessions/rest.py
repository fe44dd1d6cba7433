"""Rest: when a session may leave memory, and what brings it back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum, auto

from runtime.events.sessions import SessionRested
from runtime.execution.speech.pages import SessionPages
from runtime.sessions.node_context import NodeContext
from runtime.stores.sessions import Lease, SessionRecord, SessionTimer
from runtime.tape.journal import Journal

UNATTENDED_IDLE_S = 10.0
"""The idle time of a session that nobody has addressed since it was restored."""


class Outcome(Enum):
    """The reason why a session left memory."""

    ENDED = auto()
    """The program has ended, and the conversation is free."""
    RENEWED = auto()
    """Somebody asked for a new session; the asking entry is still in the inbox."""
    RESTING = auto()
    """Nothing happens until the next event restores it."""
    STIRRED = auto()
    """Its time came while it was leaving memory, so it is restored at once."""
    SUCCEEDED = auto()
    """Another session continues in its place; the event that asked for that is still in the inbox."""
    REVERTED = auto()
    """It cannot go on with the program as this node serves it, and is restored with its own version."""
    FAILED = auto()
    """An error ended it; it can be restored from its tapes."""


class SessionRest:
    """The rest of one session: while it is out of memory, a timer waits for the times that it waits for."""

    def __init__(
        self, record: SessionRecord, lease: Callable[[], Lease], around: NodeContext, journal: Journal
    ) -> None:
        self._record = record
        self._lease = lease
        self._around = around
        self._journal = journal

    def idle_s(self, *, spoken_with: bool) -> float:
        """The idle time after which the session leaves memory; shorter if nobody has spoken since a timer or a restart
        restored it.
        """
        return self._around.resting.idle_s if spoken_with else min(self._around.resting.idle_s, UNATTENDED_IDLE_S)

    def possible(self, pages: SessionPages) -> bool:
        """Whether the session may leave memory, because nothing happens until somebody acts or a timer rings."""
        due_s = self._journal.state.next_due()
        if due_s is not None and (self._around.resting.alarm is None or due_s <= self._around.clock.now().timestamp()):
            return False
        return not self._journal.restless() and not pages.unfinished

    async def begin(self) -> Outcome:
        """Set the timer that brings the session back, if it waits for a time: nothing of it runs now."""
        state, alarm = self._journal.state, self._around.resting.alarm
        due_s = state.next_due()
        unseen = any(page.status != "open" for page in state.pages.values())
        if self._journal.pending or state.restless() or unseen:
            return Outcome.STIRRED
        if due_s is None or alarm is None:
            self._publish()
            return Outcome.RESTING
        if not await alarm.set(self._lease(), SessionTimer(self._record.id, due_s), state.seq):
            return Outcome.STIRRED
        self._publish(datetime.fromtimestamp(due_s, UTC).isoformat())
        return Outcome.RESTING

    async def end(self) -> None:
        """The session is in memory and needs no timer."""
        state, alarm = self._journal.state, self._around.resting.alarm
        if alarm is not None and state.next_due() is not None:
            await alarm.cancel(self._lease(), self._record.id, state.seq)

    def _publish(self, until: str | None = None) -> None:
        self._around.bus.publish(SessionRested(self._record.id, self._record.address.key, until))
