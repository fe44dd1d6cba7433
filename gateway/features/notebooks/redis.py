"""Notebooks on Redis: each lies in the shard of its name. Implements `NotebookStore`."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import anyio
from msgspec import Struct

from gateway.database import GatewayDatabase
from gateway.feature import FeatureGround
from gateway.features.notebooks import store
from gateway.jobs.retention import INTERVAL
from gateway.jobs.runner import Job, every
from runtime.bus import Bus
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId, digest_of
from runtime.events.service import NotebooksRetired
from runtime.storage.encoding.sealing import notebook_binding
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import NotebookKeys, ShardKeys
from runtime.storage.redis.sessions.tapes import NewsFollower, TapeNews
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import SHARDS

_APPEND = load_script("append", "gateway.features.notebooks")
_DELETE = load_script("delete", "gateway.features.notebooks")
_FORK = load_script("fork", "gateway.features.notebooks")
_MOVE = load_script("move", "gateway.features.notebooks")
_TOUCH = load_script("touch", "gateway.features.notebooks")

_PAGE = 500
_ATTEMPT_KEPT_MS = 600_000
"""How long an append without a key is known to its own repetitions."""

_COUNTED_FOR_S = 10.0
"""After so long it is counted again how many notebooks there are: other nodes make some."""

_MERGED = "merged:"

Fields = Mapping[str, str]


class RedisNotebooks(Struct, eq=False):
    """`notebooks` is how many there may be, and `entries` how many places each may have. `_news` reads for all who
    follows something on this node.
    """

    _connection: RedisConnection
    _news: TapeNews
    notebooks: int = 10_000
    entries: int = 1_000_000
    _counted: int | None = None
    _counted_at: float = 0.0

    async def find(self, name: str, /) -> store.Notebook | None:
        keys = keys_of(name)

        asked = [("hgetall", keys.notebook), ("hgetall", keys.branches)]
        row, branches = await self._connection.read_at_once(keys.notebook, *asked)
        return _notebook(name, row, branches) if row else None

    async def names(self) -> Mapping[str, int]:
        found = await self._connection.each(_lists(), lambda batch, key: batch.zrange(key, 0, -1, withscores=True))
        return dict(sorted((name, int(score)) for names in found for name, score in names))

    async def append(
        self,
        name: str,
        drafts: Sequence[store.Draft],
        /,
        *,
        expect: int | None = None,
        key: str | None = None,
        merging: store.Merging | None = None,
    ) -> store.Appended:
        keys, mark = keys_of(name), uuid.uuid4().hex
        if not await self._connection.ask("EXISTS", keys.notebook):
            await self._make_room()
        arguments: list[str | int] = [name, mark, _ATTEMPT_KEPT_MS if key is None else store.KEY_KEPT_MS]
        arguments += ["" if expect is None else expect, self.entries, *_merged_fields(merging)]
        for number, draft in enumerate(drafts):
            own = f"{mark}.{number}"
            line = self._connection.sealing.shared.seal(notebook_binding(name, own), draft.line)
            sealed = "" if line == draft.line else own
            arguments += [int(draft.kind == store.ANCHOR), draft.kind, line, int(draft.raw), sealed]
        kind, first, *last = await self._connection.run(
            _APPEND,
            [
                keys.notebook,
                keys.branches,
                keys.entries,
                keys.anchors,
                keys.append(mark if key is None else f"key {digest_of(key)[:32]}"),
                keys.shard.notebooks,
                keys.shard.notebook_news,
            ],
            arguments,
        )
        if kind == "full":
            raise store.no_room_in(name, self.entries)
        if kind in ("head", "merged"):
            raise store.head_moved(name, first)
        return store.Appended(first, last[0], kind == "known")

    async def fork(self, name: str, origin: store.Notebook, at: int, /, *, branch: int | None = None) -> bool:
        view = store.view_up_to(origin, at, branch)
        await self._touch(origin, view)
        keys = keys_of(name)
        if not await self._connection.ask("EXISTS", keys.notebook):
            await self._make_room()
        taken_over = _origin_text(view)
        kind = await self._connection.run(
            _FORK,
            [keys.notebook, keys.branches, keys.shard.notebooks, keys.shard.notebook_news],
            [name, uuid.uuid4().hex, origin.name, at, taken_over],
        )
        if kind == "exists":
            raise store.name_taken(name)
        return bool(kind == "ok")

    async def rollback(self, name: str, to: int, /, *, expect: int | None = None) -> int:
        return await self._move(name, to, expect, "")

    async def rebase(self, name: str, origin: store.Notebook, /, *, expect: int) -> int:
        await self._touch(origin, origin.view())
        return await self._move(name, origin.head, expect, _origin_text(origin.view()))

    async def delete(self, name: str, changed_ms: int, /) -> bool:
        keys = keys_of(name)
        arguments: list[str | int] = [name, changed_ms]
        places = [
            keys.shard.notebooks,
            keys.notebook,
            keys.branches,
            keys.entries,
            keys.anchors,
            keys.shard.notebook_news,
        ]
        return bool(await self._connection.run(_DELETE, places, arguments))

    async def _touch(self, origin: store.Notebook, view: Sequence[store.EntryRange]) -> None:
        """Note that entries of notebooks are taken over: none of these is deleted meanwhile. Raises NotebookGone."""
        for name in dict.fromkeys([origin.name, *(one.notebook for one in view)]):
            keys = keys_of(name)
            if not await self._connection.run(_TOUCH, [keys.shard.notebooks, keys.notebook], [name]):
                raise store.no_entry(name, origin.head)

    async def _move(self, name: str, to: int, expect: int | None, taken_over: str) -> int:
        keys = keys_of(name)
        kind, found = await self._connection.run(
            _MOVE,
            [keys.notebook, keys.branches, keys.shard.notebooks, keys.shard.notebook_news],
            [name, uuid.uuid4().hex, to, "" if expect is None else expect, store.MAX_BRANCHES, taken_over],
        )
        if kind == "head":
            raise store.head_moved(name, found)
        if kind == "full":
            raise store.rolled_back_too_often(name)
        if kind in ("gone", "beyond"):
            raise store.no_entry(name, to)
        return int(found)

    async def read(
        self, view: Sequence[store.EntryRange], /, *, back: bool = False
    ) -> AsyncIterator[store.NotebookEntry]:
        for stretch in reversed(view) if back else view:
            async for entry in self._read_stretch(stretch, back):
                yield entry

    async def anchors(self, view: Sequence[store.EntryRange], /) -> AsyncIterator[int]:
        for stretch in reversed(view):
            key, offset = keys_of(stretch.notebook).anchors, stretch.offset
            last, first = stretch.last - offset, stretch.first - offset
            while last >= first:
                found = await self._connection.ask("ZREVRANGEBYSCORE", key, last, first, "LIMIT", 0, _PAGE)
                for place in map(int, found):
                    yield place + offset
                last = int(found[-1]) - 1 if len(found) == _PAGE else first - 1

    @asynccontextmanager
    async def following(self, name: str, /) -> AsyncIterator[NewsFollower]:
        follower = await self._news.follower(SessionId(name), keys_of(name).shard.notebook_news)
        try:
            yield follower
        finally:
            self._news.leave(follower)

    async def _make_room(self) -> None:
        """Raises NotebookFull where another notebook would be one too many. Those that begin at the same time may pass
        the bound together.
        """
        now = anyio.current_time()
        if self._counted is None or self._counted >= self.notebooks or now - self._counted_at > _COUNTED_FOR_S:
            counts = await self._connection.each(_lists(), lambda batch, key: batch.zcard(key))
            self._counted, self._counted_at = sum(counts), now
        if self._counted >= self.notebooks:
            raise store.no_room_for(self.notebooks)
        self._counted += 1

    async def _read_stretch(self, stretch: store.EntryRange, back: bool) -> AsyncIterator[store.NotebookEntry]:
        key, offset = keys_of(stretch.notebook).entries, stretch.offset
        first, last = stretch.first - offset, stretch.last - offset
        while first <= last:
            command = (
                ("XREVRANGE", key, f"{last}-0", f"{first}-0") if back else ("XRANGE", key, f"{first}-0", f"{last}-0")
            )
            page = await self._connection.ask(*command, "COUNT", min(_PAGE, last - first + 1))
            for entry_id, fields in page:
                place = int(entry_id.partition("-")[0])
                first, last = (first, place - 1) if back else (place + 1, last)
                yield self._entry(stretch.notebook, place + offset, dict(zip(fields[::2], fields[1::2], strict=True)))
            if len(page) < _PAGE:
                return

    def _entry(self, name: str, number: int, fields: Fields) -> store.NotebookEntry:
        kind, raw = fields["k"], "r" in fields
        try:
            line = self._connection.sealing.open(notebook_binding(name, fields.get("m", "")), fields["d"])
        except ContentLocked as error:
            line, raw = store.entry_line(kind, {"locked": str(error)}, {}, ""), False
        return store.NotebookEntry(number, kind, line, raw, "m" in fields)


def keys_of(name: str) -> NotebookKeys:
    return NotebookKeys(ShardKeys(shard_of(f"notebook:{name}")), name)


def _lists() -> list[str]:
    return [ShardKeys(shard).notebooks for shard in range(SHARDS)]


def _notebook(name: str, row: Fields, branches: Fields) -> store.Notebook:
    merged = {key.removeprefix(_MERGED): value.split() for key, value in row.items() if key.startswith(_MERGED)}
    return store.Notebook(
        name,
        int(row["head"]),
        int(row["branch"]),
        int(row["last"]),
        row.get("parent"),
        int(row["at"]),
        {int(number): _branch(text, row.get(f"origin:{number}", "[]")) for number, text in branches.items()},
        int(row["created"]),
        {other: store.Merged(*map(int, numbers)) for other, numbers in merged.items()},
    )


def _branch(text: str, origin: str) -> store.NotebookBranch:
    at, offset, parent, head = text.split()
    return store.NotebookBranch(
        int(at),
        int(offset),
        None if parent == "-" else int(parent),
        None if head == "-" else int(head),
        tuple(store.EntryRange(*each) for each in json.loads(origin)),
    )


def _origin_text(view: Sequence[store.EntryRange]) -> str:
    return json.dumps([[one.notebook, one.first, one.last, one.offset] for one in view])


def _merged_fields(merging: store.Merging | None) -> tuple[str, str, str]:
    if merging is None:
        return "", "", ""
    was = merging.before
    before = "" if was is None else f"{was.branch} {was.last} {was.head}"
    return f"{_MERGED}{merging.notebook}", before, f"{merging.branch} {merging.last}"


def notebooks_in(database: GatewayDatabase) -> RedisNotebooks:
    bounds = database.settings.tapes
    return RedisNotebooks(database.connection, database.tapes.news, notebooks=bounds.notebooks, entries=bounds.entries)


class OldNotebook(Struct, frozen=True):
    """A notebook that the rule deletes, and when it was changed last."""

    name: str
    changed_at: datetime
    changed_ms: int
    written: int


class NotebookRetention(Struct, frozen=True):
    """Deletes what nobody has written in, forked or rebased from for `days`, 0 for never. One of which another notebook
    sees entries stays until that one is gone. Raises StorageUnavailable.
    """

    _notebooks: store.NotebookStore
    _days: float
    _clock: Clock

    async def plan(self) -> list[OldNotebook]:
        """What is to be deleted now, by name. Reads every notebook and changes nothing."""
        if not self._days:
            return []
        until_ms = (self._clock.now() - timedelta(days=self._days)).timestamp() * 1000
        changes = await self._notebooks.names()
        if all(changed_ms >= until_ms for changed_ms in changes.values()):
            return []
        found = [notebook for name in changes if (notebook := await self._notebooks.find(name)) is not None]
        origins = {(one.name, of.notebook) for one in found for branch in one.branches.values() for of in branch.origin}
        seen = {shown for name, shown in origins if shown != name}
        return [
            OldNotebook(one.name, datetime.fromtimestamp(changes[one.name] / 1000, UTC), changes[one.name], one.written)
            for one in found
            if changes[one.name] < until_ms and one.name not in seen
        ]

    async def apply(self) -> int:
        """Carry out a plan; the number of deleted notebooks. What was changed meanwhile stays."""
        return sum([await self._notebooks.delete(one.name, one.changed_ms) for one in await self.plan()])

    def job(self, bus: Bus) -> Job:

        async def run(_due: datetime) -> None:
            if deleted := await self.apply():
                bus.publish(NotebooksRetired(deleted))

        return every("notebook retention", INTERVAL, run)


def retention_in(database: GatewayDatabase) -> NotebookRetention:
    return NotebookRetention(notebooks_in(database), database.settings.retention.notebooks_days, SystemClock())


def jobs(ground: FeatureGround) -> tuple[Job]:
    return (retention_in(ground.database).job(ground.bus),)
