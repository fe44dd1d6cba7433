"""The ports through which a session becomes durable, by one commit for tapes, outbox and inbox together, and through
which nodes share the work: leases, timers, the roster of nodes, places of a session that lives elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact, TapeBranch, TapeStore

SHARDS = 64
"""Part of the data format: a conversation's shard is crc32 of its key modulo this."""

TIMER = "timer"
"""The kind of an inbox event that only loads its session, which knows itself what is due."""


class Lease(Struct, frozen=True):
    """The right to write in a shard. A greater token makes every smaller one void."""

    shard: int
    token: int


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session as it is known without reading its tapes. `seq` is the last fact's number.

    `parent` is what it goes on from, `replaced_by` the session that went on in its place. The facts of an `archived`
    one are in the archive. `taken_in` is the mark of the insertion by which it came into the store, "" for one that
    began there: another session of the same id has another one.
    """

    id: SessionId
    address: Address
    program: str
    started_at: datetime
    seq: int
    ended: bool = False
    parent: TapeBranch | None = None
    replaced_by: SessionId | None = None
    archived: bool = False
    taken_in: str = field(default="", compare=False)

    def at(self, seq: int) -> TapeBranch:
        """The parent of a session that continues this one from fact `seq`: the owner of that fact."""
        inherited = self.parent is not None and seq <= self.parent.seq
        return TapeBranch(self.parent.session if inherited and self.parent is not None else self.id, seq)


class Commit(Struct, frozen=True):
    """Everything that becomes true at once, or not at all.

    `expect` is the `seq` of the session's last committed fact. `consume` are inbox entry ids of the session's shard.
    `begin` creates the session and makes it its conversation's current one; `end` releases the conversation. A session
    that begins with a parent goes on at the parent's `seq`: that is what it expects. `replaces` is a session of the
    same conversation that ends with this beginning, rests, and has no pages in the outbox any more.
    `outbox_add` and `outbox_done` are page ids: what people should see, until a platform has it. `awake` says whether
    the session has work to do without a further event; None leaves it as it is. `taken_in` is that of the record from
    which the session goes on, of one that `replaces` another that of the other's; None does not ask for it.
    `events` are those of the facts that other programs see as events: the `seq` and the type of each.
    """

    lease: Lease
    session: SessionId
    expect: int
    facts: tuple[Fact, ...] = ()
    consume: tuple[str, ...] = ()
    outbox_add: tuple[str, ...] = ()
    outbox_done: tuple[str, ...] = ()
    awake: bool | None = None
    begin: SessionRecord | None = None
    end: bool = False
    replaces: SessionId | None = None
    taken_in: str | None = None
    events: tuple[tuple[int, str], ...] = ()


class SessionStore(TapeStore, Protocol):
    """Raises LeaseLost, TapeConflict, StorageUnavailable, or, where a session is in the archive, ArchiveUnavailable, or
    ContentLocked for what was encrypted and cannot be opened.

    `read_session` brings a session back as `session` does.
    """

    async def commit(self, commit: Commit, /) -> None:
        """Make `commit` true. Repeating one that was applied (its answer was lost) succeeds and changes nothing.

        Raises TapeConflict also for a session that was replaced or taken in again, for one that begins from facts that
        are not there, and for an event that is no longer in the inbox.
        """

    async def current(self, shard: int, conversation: str, /) -> SessionRecord | None:
        """The session that lives in this conversation now, brought back if it was in the archive.

        Raises ArchiveUnavailable when it cannot be.
        """

    async def session(self, shard: int, session: SessionId, /) -> SessionRecord | None:
        """A session of this shard, as `current`."""

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        """The newest snapshot of this version: the session's own, or one of the session that it continues, before the
        branch.
        """

    async def keep_snapshot(
        self, lease: Lease, session: SessionId, snapshot: Snapshot, /, *, taken_in: str | None = None
    ) -> None:
        """Keep a snapshot in place of the session's last one; the facts stay. One of no more than these is let go.

        `taken_in` is that of the record of which the snapshot was made, as in a commit: where it is another by now, the
        snapshot is let go.
        """

    async def unfinished(self, shard: int, /) -> Mapping[SessionId, frozenset[str]]:
        """Sessions that are awake or have pages in the outbox, with those pages: what a restart continues."""


class LeaseHolder(Struct, frozen=True):
    """The holder of leases: a node's stable name, and the length of a lease without renewal."""

    node: str
    ttl_s: float = 10.0


class LeaseStore(Protocol):
    """Leases of shards (`shard:<n>`) and of bot connections (`bot:<platform>`)."""

    async def acquire(self, name: str, holder: LeaseHolder, /, *, living: Collection[str] = ()) -> int | None:
        """A fencing token greater than all before, or None while another node holds it.

        The same node gets it at once, with a new token: its former process is dead. What one of the `living` has not
        released is still its own, though it may have run out by the store's clock, which can be put forward.
        """

    async def renew(self, name: str, holder: LeaseHolder, token: int, /) -> bool:
        """Extend the lease; False when another has taken it."""

    async def release(self, name: str, holder: LeaseHolder, token: int, /) -> None: ...


class ShareStore(Protocol):
    """The live nodes, and the part of every shared limit that each may use. Raises StorageUnavailable only."""

    async def claim(self, holder: LeaseHolder, in_use: float, /, *, weight: float = 1.0) -> float:
        """We live for another `ttl_s` and use the part `in_use` now; the part from 0 to 1 that we may use from now on.

        Parts are as the weights in the end. Those of all live nodes never sum to more than 1, a node that is to use
        less counting with what it uses until it says that it does: a newcomer has nothing until the others made room.
        """

    async def leave(self, holder: LeaseHolder, /) -> None:
        """Announce that this node uses nothing."""


class SessionTimer(Struct, frozen=True):
    """A session that has left memory until a time: `due_s` is UTC, in seconds since the epoch."""

    session: SessionId
    due_s: float


class SessionTimers(Protocol):
    """At most one timer a session, kept with its shard. Raises LeaseLost or StorageUnavailable, and nothing else."""

    async def set(self, lease: Lease, timer: SessionTimer, seq: int, /) -> bool:
        """From now on the timer brings the session back, and no restart does. Setting it again changes its time.

        False, and nothing changed, when the session's last fact is not number `seq`.
        """

    async def cancel(self, lease: Lease, session: SessionId, seq: int, /) -> bool:
        """The session is back in memory, so a restart restores it, and no timer does. False as for `set`."""

    async def first(self, shard: int, /) -> float | None:
        """The time of the shard's next timer; None when it has none."""

    async def due(self, shard: int, until_s: float, limit: int, /) -> Sequence[SessionTimer]:
        """The timers due by then, the earliest first."""

    async def done(self, shard: int, timer: SessionTimer, /) -> None:
        """Take a timer away, unless it was set to another time meanwhile."""


class HeldPlace(Struct, frozen=True):
    """The purpose of a place, in a session that lives in the conversation `home`: a meeting, by its id, or None for
    a thread below the question of an agent or a task."""

    home: Address
    session: SessionId
    meeting: str | None


class PlaceStore(Protocol):
    """The places of sessions. Messages in a place go to its session, even after a meeting's end or an answer. Raises
    StorageUnavailable, and nothing else.
    """

    async def put(self, place: Address, held: HeldPlace, /) -> None:
        """Record the purpose of a place, replacing an earlier record."""

    async def get(self, place: Address, /) -> HeldPlace | None:
        """The purpose of a place; None for a conversation that is not a place."""

    async def release(self, place: Address, session: SessionId, /) -> None:
        """Make it an ordinary conversation, unless it is another session's place by now."""


class LivingNodes(Struct, frozen=True):
    """The live nodes by name, with the seconds for which each still counts as alive; `news` is the latest news.

    `left` are those who have said that they leave, for as long as they would else have counted as alive. Who is in
    neither has died, or the store's clock was put forward.
    """

    nodes: Mapping[str, float]
    news: str
    left: frozenset[str] = frozenset()


class NodeStore(Protocol):
    """The roster of nodes. Raises StorageUnavailable, and nothing else."""

    async def announce(self, holder: LeaseHolder, /) -> LivingNodes:
        """Stay alive for another `ttl_s`. A new node is news."""

    async def living(self) -> LivingNodes: ...

    async def leave(self, holder: LeaseHolder, /) -> None:
        """Announce that this node takes no more leases."""

    async def tell(self) -> None:
        """Report as news that a lease was given back."""

    async def news(self, after: str, /, *, wait_s: float) -> str:
        """The latest news as soon as there is any after `after`, or `after` when `wait_s` passed without."""


async def is_below_question(place: Address, store: PlaceStore) -> bool:
    """Whether a place is a thread below a question of a task, open or closed."""
    held = await store.get(place)
    return held is not None and held.meeting is None
