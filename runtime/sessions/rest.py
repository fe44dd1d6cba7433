"""Rest: when a session may leave memory, what brings it back, and the snapshots that are taken while it rests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum, auto

from anyio.abc import TaskGroup
from msgspec import Struct

from runtime.core.background import OnDemand
from runtime.core.errors import StorageError
from runtime.events.sessions import SessionRested
from runtime.execution.speech.pages import SessionPages
from runtime.sessions.node_context import NodeContext
from runtime.stores.sessions import Lease, SessionRecord, SessionStore, SessionTimer
from runtime.tape.journal import Journal
from runtime.tape.snapshot import Snapshot, rules_version, snapshot_of, state_from
from runtime.tape.tape import TapeBranch, opened

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


class SessionRest(Struct, eq=False):
    """The rest of one session: while it is out of memory, a timer waits for the times that it waits for."""

    _record: SessionRecord
    _lease: Callable[[], Lease]
    _around: NodeContext
    _journal: Journal

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


FACTS_BETWEEN = 500
"""The number of facts between snapshots: to fold these takes about as long as to read a snapshot."""

AT_WORK = 4
"""After this many times `FACTS_BETWEEN` a snapshot is taken although the session is at work, which waits for it then.
"""

LARGE_CHARS = 256 * 1024
"""The next snapshot is taken `FACTS_BETWEEN` facts later for each of these in the last one, so that each fact costs the
same however large the state becomes."""


class Snapshots(Struct, eq=False):
    """Restores a session's journal, and has snapshots of it kept from `start` on. `origin` is the session to continue,
    which the store does not have yet."""

    _store: SessionStore
    _record: SessionRecord
    _lease: Callable[[], Lease]
    _journal: Journal
    _origin: TapeBranch | None = None
    _kept: int = 0
    _size_chars: int = 0
    _taken: Snapshot | None = None

    async def restore(self) -> None:
        """Bring the journal to where the tapes are. Raises ContentLocked for what cannot be opened.

        Of a session that is new only its record is asked for, in its own shard: its first commit may have been made,
        and its answer lost.
        """
        session, until = self._record.id, None
        new = self._origin is None and not self._record.seq
        if new and await self._store.session(self._lease().shard, session) is None:
            return
        if self._origin is not None:
            session, until = self._origin.session, self._origin.seq
        snapshot = await self._store.snapshot(session, rules_version())
        state = None if snapshot is None else state_from(snapshot)
        if state is not None and (until is None or state.seq <= until):
            self._journal.go_on_from(state)
            self._kept, self._size_chars = state.seq, 0 if snapshot is None else len(snapshot.text)
        async for fact in self._store.read_session(session, after=self._kept, until=until):
            self._journal.restore(opened(fact))

    def start(self, tasks: TaskGroup) -> None:
        """From now on snapshots are taken, and kept in `tasks`."""
        keeping = OnDemand(self._keep)
        keeping.start(tasks)
        self._journal.written.subscribe(lambda _: self._written(keeping))

    async def _keep(self) -> None:
        """Keep what was taken. One that cannot be kept is let go: the facts are there."""
        taken, self._taken = self._taken, None
        if taken is not None:
            with suppress(StorageError):
                taken_in = self._record.taken_in
                await self._store.keep_snapshot(self._lease(), self._record.id, taken, taken_in=taken_in)

    def _written(self, keeping: OnDemand) -> None:
        """Take a snapshot, if it is time: of a moment when all that the state knows is on the tape."""
        journal = self._journal
        new = journal.state.seq - self._kept
        between = FACTS_BETWEEN * (1 + self._size_chars // LARGE_CHARS)
        journal.settles = new >= AT_WORK * between and not journal.settled
        if not journal.settled or new < between or (new < AT_WORK * between and journal.restless()):
            return
        self._taken, self._kept = snapshot_of(journal.state), journal.state.seq
        self._size_chars = len(self._taken.text)
        keeping.wake()
