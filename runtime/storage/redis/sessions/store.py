"""Sessions and their tapes on Redis: one script makes a whole commit true."""

from __future__ import annotations

import hashlib
import itertools
import uuid
from collections.abc import AsyncIterator, Mapping

from msgspec import Struct

from runtime.core.errors import LeaseLost, TapeConflict
from runtime.core.ids import SessionId
from runtime.storage.encoding.codec import address_to_json, to_json
from runtime.storage.encoding.sealing import PLAIN, ContentSealing, snapshot_binding
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.sessions.fact_form import FactForms
from runtime.storage.redis.sessions.known_sessions import RECORD_FIELDS, SessionPlaces, pages_of, record_from
from runtime.storage.redis.sessions.removal import ArchivedSessions
from runtime.storage.redis.sessions.tapes import RedisTapes
from runtime.stores.archive import SessionArchive
from runtime.stores.event_log import KEPT_EVENTS, KEPT_MS
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact, TapeBranch

COMMIT = load_script("sessions/commit")
"""Takes what `commit_call` gives."""

_BRANCH = load_script("sessions/branch")
_KEEP = load_script("sessions/keep_snapshot")

_CONFLICTS = {
    "conflict": "Session {session} is at fact {found}, not at {expect}.",
    "archived": "Session {session} was moved into the archive.",
    "replaced": "Session {session} was replaced, and accepts nothing more.",
    "anew": "Session {other} was imported again from a file.",
    "taken": "An event that session {session} takes is no longer in the inbox.",
    "unknown": "Session {session} has not started, or the one that it replaces is not of its conversation.",
}
"""Why a commit is refused, by what its script answers."""

EARLIER_FACTS = 2_000
"""The fewest facts between two of the earlier snapshots, which stay for a look into the past."""

EARLIER_BYTES = 32
"""The most bytes of earlier snapshots for each fact: a tenth of what facts take."""


class RedisSessionStore(RedisTapes):
    """Implements `runtime.stores.sessions.SessionStore`. Whoever reads a session brings it back from the archive."""

    def __init__(self, connection: RedisConnection, archive: SessionArchive | None = None) -> None:
        super().__init__(connection, SessionPlaces(connection))
        self._cold = ArchivedSessions(connection, archive)
        self._writer = uuid.uuid4().hex
        self._calls = itertools.count(1)

    async def commit(self, commit: Commit, /) -> None:
        if commit.begin is not None and commit.begin.parent is not None:
            await self._branch(commit.session, commit.lease.shard, commit.begin.parent)
        shard, token = commit.lease.shard, commit.lease.token
        known = self._connection.histories.under(shard, token).commits
        sender = CommitSender(self._writer, next(self._calls), known)
        if commit.begin is not None:
            self._places.expect(commit.session, commit.begin.address.key)
        sealing = await self._places.sealing(ShardKeys(shard), commit.session)
        outcome, found, *number = await self._connection.run(COMMIT, *commit_call(commit, sender, sealing))
        self._raise_refusal(commit, outcome, found)
        self._connection.histories.committed(shard, token, *number)
        self._places.remember(commit.session, commit.lease.shard)

    def _raise_refusal(self, commit: Commit, outcome: str, found: int) -> None:
        if outcome == "lease":
            raise _taken_over(commit.lease, found)
        if outcome == "forgotten":
            raise LeaseLost(
                f"The server has lost the last commits of shard {commit.lease.shard}, and has {found}: a replica or an "
                "older file took its place. Work there starts again from what the server has."
            )
        if outcome in _CONFLICTS:
            about = {"session": commit.session, "other": commit.replaces or commit.session}
            text = _CONFLICTS[outcome].format(found=found, expect=commit.expect, **about)
            raise TapeConflict(text, expected=commit.expect, actual=found)

    async def current(self, shard: int, conversation: str, /) -> SessionRecord | None:
        found = await self._connection.ask("HGET", ShardKeys(shard).current, conversation)
        return None if found is None else await self.session(shard, SessionId(found))

    async def session(self, shard: int, session: SessionId, /) -> SessionRecord | None:
        kept = await self._connection.ask("HMGET", ShardKeys(shard).session(session), *RECORD_FIELDS)
        record = record_from(session, kept)
        if record is not None:
            self._places.remember(session, shard)
        if record is not None and record.archived:
            await self._cold.bring_back(shard, session)
            return await self.session(shard, session)
        return record

    async def unfinished(self, shard: int, /) -> Mapping[SessionId, frozenset[str]]:
        keys = ShardKeys(shard)
        asked = [("smembers", keys.awake), ("smembers", keys.outbox)]
        awake, outbox = await self._connection.read_at_once(keys.lease, *asked)
        pages: dict[SessionId, set[str]] = {SessionId(session): set() for session in awake}
        for session, page in pages_of(outbox):
            pages.setdefault(session, set()).add(page)
        for session in pages:
            self._places.remember(session, shard)
        return {session: frozenset(found) for session, found in pages.items()}

    async def _branch(self, session: SessionId, shard: int, parent: TapeBranch) -> None:
        """Record at the parent that `session` continues it. Raises TapeConflict when it does not have those facts."""
        keys = await self._places.keys(parent.session)
        outcome, found = ("gone", 0)
        if keys is not None:
            await self.session(keys.shard, parent.session)
            names = [keys.session(parent.session), keys.forks(parent.session)]
            outcome, found = await self._connection.run(_BRANCH, names, [session, shard, parent.seq])
        if outcome == "gone":
            self._places.forget(parent.session)
            raise TapeConflict(
                f"Session {session} cannot continue from fact {parent.seq} of {parent.session}, which has {found}.",
                expected=parent.seq,
                actual=found,
            )

    async def keep_snapshot(
        self, lease: Lease, session: SessionId, snapshot: Snapshot, /, *, taken_in: str | None = None
    ) -> None:
        keys = ShardKeys(lease.shard)
        names = [keys.lease, keys.session(session), keys.snapshot(session)]
        sealing = await self._places.sealing(keys, session)
        text = sealing.seal(snapshot_binding(session, snapshot.seq, snapshot.version), snapshot.text)
        kept: list[str | int] = [lease.token, snapshot.seq, snapshot.version, text, _asked(taken_in)]
        kept += [EARLIER_FACTS, EARLIER_BYTES]
        outcome, found = await self._connection.run(_KEEP, names, kept)
        if outcome == "lease":
            raise _taken_over(lease, found)

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        seen = after
        while True:
            try:
                async for fact in super().read_session(session, after=seen, until=until):
                    seen = fact.seq
                    yield fact
            except TapeConflict:
                if not await self._came_back(session):
                    raise
            else:
                return

    async def _came_back(self, session: SessionId) -> bool:
        """Bring a session back that is in the archive; False when it is not there."""
        keys = await self._places.keys(session)
        if keys is None:
            return False
        archived = bool(await self._connection.read("hexists", keys.session(session), "archived"))
        return archived and await self.session(keys.shard, session) is not None


class CommitSender(Struct, frozen=True):
    """The sender of a commit: a writer, the number of this call among the writer's, which only grows, and the number of
    the shard's last commit that the writer knows.
    """

    writer: str = ""
    call: int = 0
    known: int = 0


_NOBODY = CommitSender()


def commit_call(
    commit: Commit, sender: CommitSender = _NOBODY, sealing: ContentSealing = PLAIN
) -> tuple[list[str], list[str | int]]:
    """The keys and arguments with which `COMMIT` makes a commit true. Raises TapeConflict for misnumbered facts.

    The digest covers all but token, sender and `taken_in`: by it a repetition is recognised. A copy that the network
    holds back until its writer has committed more is recognised by the number of its call; without a writer it is not.
    """
    keys = ShardKeys(commit.lease.shard)
    forms = _forms(commit, keys, sealing)
    tapes = dict.fromkeys(fact.tape for fact in commit.facts)
    content = [*_commit_arguments(commit), *forms.arguments(), *_events(commit), *tapes]
    digest = hashlib.blake2b("\0".join(map(str, (commit.expect, *content))).encode(), digest_size=16).hexdigest()
    names = [
        keys.lease,
        keys.session(commit.session),
        keys.inbox,
        keys.awake,
        keys.outbox,
        keys.current,
        keys.tapes(commit.session),
        keys.session(commit.replaces or commit.session),
        keys.sessions,
        keys.news,
        keys.anchors(commit.session),
        keys.values(commit.session),
        *forms.keys,
        *((keys.events, keys.events_cut) if commit.events else ()),
    ]
    mark = _asked(commit.taken_in)
    return names, [
        commit.lease.token,
        commit.expect,
        digest,
        *content[:10],
        sender.writer,
        sender.call,
        sender.known,
        mark,
        *content[10:],
    ]


def _taken_over(lease: Lease, token: int) -> LeaseLost:
    return LeaseLost(f"Shard {lease.shard} was taken over: token {token}, ours is {lease.token}.")


def _asked(taken_in: str | None) -> str:
    """The mark of an insertion as scripts are asked for it: "-" where there is to be none, "" where any will do."""
    return "" if taken_in is None else taken_in or "-"


def _forms(commit: Commit, keys: ShardKeys, sealing: ContentSealing) -> FactForms:
    forms = FactForms(keys, first=13, sealing=sealing)
    for seq, fact in enumerate(commit.facts, start=commit.expect + 1):
        if fact.seq != seq:
            raise TapeConflict(
                f"A fact of {fact.tape} is numbered {fact.seq}, not {seq}.", expected=seq, actual=fact.seq
            )
        forms.add(fact, keys.tape(fact.tape))
    return forms


def _events(commit: Commit) -> list[str | int]:
    """The list of events for other programs, and how many and how long they are kept."""
    if not commit.events:
        return [0]
    tapes = {fact.seq: fact.tape for fact in commit.facts}
    items = [part for seq, type_ in commit.events for part in (type_, tapes[seq], seq)]
    return [len(commit.events), *items, KEPT_MS, KEPT_EVENTS]


def _commit_arguments(commit: Commit) -> list[str | int]:
    """The arguments of the script for commits from the fourth on, up to the pages, without those about the sender."""
    begin = commit.begin
    arguments: list[str | int] = [
        commit.session,
        "" if commit.awake is None else int(commit.awake),
        "1" if commit.end else "",
    ]
    if begin is None:
        arguments += ["", "", "", "", "", 0]
    else:
        arguments += [begin.address.key, address_to_json(begin.address), begin.program, begin.started_at.isoformat()]
        arguments += ["", 0] if begin.parent is None else [begin.parent.session, begin.parent.seq]
    arguments.append(commit.replaces or "")
    arguments += [len(commit.consume), *commit.consume]
    for pages in (commit.outbox_add, commit.outbox_done):
        arguments += [len(pages), *(to_json([commit.session, page]) for page in pages)]
    return arguments
