"""Snapshots of a session: taken while it rests, read when it is restored."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from anyio.abc import TaskGroup
from msgspec import Struct

from runtime.core.background import OnDemand
from runtime.core.errors import StorageError
from runtime.stores.sessions import Lease, SessionRecord, SessionStore
from runtime.tape.journal import Journal
from runtime.tape.snapshot import Snapshot, rules_version, snapshot_of, state_from
from runtime.tape.tape import TapeBranch, opened

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
