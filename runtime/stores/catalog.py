"""The ports for administration: of sessions, which are listed, exported, deleted and imported, and of data about people
beside the tapes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from msgspec import Struct

from runtime.core.address import Address
from runtime.core.errors import SessionBusy
from runtime.core.ids import SessionId
from runtime.stores.sessions import SessionRecord
from runtime.tape.tape import Fact

Item = TypeVar("Item")

_READ_AT_ONCE = 200
_FEW = 20


class KnownSession(Struct, frozen=True):
    """A session as the store has it.

    `awake` says whether it has work to do without a further event, `pages` are those that no platform has in final
    form. `last_at` is the time of the last fact, UTC; `size_bytes` is roughly what its own tapes take. `node` is the
    name of the node that serves its shard now, None where none does.
    """

    record: SessionRecord
    awake: bool
    pages: frozenset[str]
    last_at: datetime
    size_bytes: int
    node: str | None

    @property
    def state(self) -> Literal["archived", "ended", "replaced", "working", "resting"]:
        """The state: an ended one may still have pages to show, and is working then."""
        if self.awake or self.pages:
            return "working"
        if self.record.archived:
            return "archived"
        if self.record.replaced_by is not None:
            return "replaced"
        return "ended" if self.record.ended else "resting"

    @property
    def busy(self) -> bool:
        """Whether a running node is at work on it."""
        return self.node is not None and self.state == "working"


class WholeSession(Struct, frozen=True):
    """A whole session, as an export has it. `facts` are numbered from 1 without a gap, including its parents'."""

    record: SessionRecord
    awake: bool
    pages: frozenset[str]
    facts: Sequence[Fact]


class SessionPage(Struct, frozen=True):
    """A page of sessions, the most recently active first. `next` is the mark for the next page, "" at the end. `marks`
    has one for each session: a page after it goes on behind that."""

    sessions: Sequence[KnownSession]
    next: str
    marks: Sequence[str]


class SessionCatalog(Protocol):
    """Raises SessionBusy, SessionExists, ContentLocked or StorageUnavailable, and nothing else."""

    def sessions(self) -> AsyncIterator[KnownSession]:
        """Every session once, in no order, read in pages. One that starts or goes meanwhile may be missing."""

    async def page(self, after: str = "", /, *, limit: int) -> SessionPage:
        """Up to `limit` sessions after a mark, the most recently active first. One that is active meanwhile moves
        forward, and may be missing.
        """

    async def count(self) -> int:
        """The number of sessions."""

    async def find(self, session: SessionId, /) -> KnownSession | None: ...

    async def whole(self, session: SessionId, /) -> WholeSession | None:
        """The session at one moment, even while it works; None if there is none."""

    async def delete(self, session: SessionId, /, *, force: bool = False) -> bool:
        """Take a session out at once: record, tapes, pages, its place in its conversation. False when there is none.

        Sessions that go on from it keep the facts that they have from it, as their own.
        Raises SessionBusy, and changes nothing, while a running node is at work on it, unless `force`. A node that has
        it in memory is refused its next commit, and forgets it.
        """

    async def insert(self, whole: WholeSession, /) -> None:
        """Take a session in, as one that goes on from no other. It is there when everything of it is.

        Raises SessionExists when there is one of this id, or when its conversation has another session now. What a
        broken-off insertion left is overwritten.
        """

    async def replace(self, whole: WholeSession, /, *, force: bool = False) -> None:
        """Insert a session in place of the one with this id, if there is one.

        Raises SessionExists when its conversation has another session now, and SessionBusy as `delete`; nothing was
        changed then.
        """


def busy_session(session: SessionId, node: str | None) -> SessionBusy:
    """The error for a session at work."""
    return SessionBusy(
        f"The session {session} is active on {node}, so nothing was changed. Wait until it rests, or say /stop in its "
        "conversation, or stop the gateway; --force does it anyway."
    )


async def among_sessions(
    catalog: SessionCatalog,
    after: str,
    limit: int,
    choose: Callable[[KnownSession], Awaitable[Item | None]],
    look_at: int,
) -> tuple[list[Item], str]:
    """What `choose` makes of the sessions after a mark, the most recently active first, and the mark of the next page.

    There are fewer than `limit` only at the end, where the mark is "", or where none was found among `look_at` more
    sessions than those that were given. Raises ValueError for what is no mark.
    """
    found: list[Item] = []
    mark, looked_at = after, 0
    while True:
        page = await catalog.page(mark, limit=min(_READ_AT_ONCE, limit + _FEW))
        for known, own in zip(page.sessions, page.marks, strict=True):
            item = await choose(known)
            if item is None:
                looked_at += 1
                continue
            found.append(item)
            if len(found) == limit:
                is_last = not page.next and known is page.sessions[-1]
                return found, "" if is_last else own
        mark = page.next
        if not mark or looked_at >= look_at:
            return found, mark


class PersonKeys(Struct, frozen=True):
    """A person by id, the keys of the conversations that were theirs alone, the sessions they took part in, and the
    names they had there."""

    person: str
    conversations: frozenset[str]
    sessions: frozenset[SessionId] = frozenset()
    names: frozenset[str] = frozenset()


class PersonTraces(Protocol):
    """Every method can be called again. Raises StorageUnavailable, and nothing else."""

    async def messages(self, room: str, ids: Collection[str], /) -> None:
        """Remove messages from a room of ours, and every quote of them. A room that is then empty goes as well."""

    async def said(self, conversation: Address, /) -> None:
        """Forget what is kept of what was said in a conversation."""

    async def files(self, ids: Collection[str], /) -> None:
        """Remove files from our own store."""

    async def person(self, whose: PersonKeys, /) -> int:
        """Forget everything that names a person or a conversation of theirs; how many entries that were.

        Schedules; events that wait or could not be processed, also those by which forks of their sessions begin or
        end; quotes of them, by their names, in such events of others; what they said that is kept for a while; known
        event ids, messages and reactions in rooms, notices there that name them; their names in titles of rooms; roles,
        requests, choices, sums, and what adapters remember. Sessions are not touched.
        """

    async def rewrite(self) -> bool:
        """Have the server rewrite its file without deleted data, and return when the old file is gone.

        False where the server may not be asked to, cannot do it, or takes minutes.
        """
