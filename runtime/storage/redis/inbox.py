"""The inbox on Redis: one stream for each shard, read plainly, without a consumer group."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from redis.asyncio import Redis

from runtime.core.address import Address
from runtime.core.errors import InboxFull, LeaseLost
from runtime.storage.encoding.events import EventForm
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script
from runtime.stores.inbox import (
    CONVERSATION_BOUND,
    CROWDING,
    PERSON_BOUND,
    InboxEntry,
    InboxEvent,
    KnownEvent,
    crowded,
    has_share,
    shard_of,
    share_used,
)

REMEMBERED_S = 7 * 24 * 3600
"""The time for which an event's id is remembered, so that its repetition is recognised."""

_DEAD_LETTERS = 10_000
_READ_AT_ONCE = 100
_COUNTED_AT_MOST = 500

_ADD = load_script("inbox_add")
_DISCARD = load_script("inbox_discard")


class RedisInbox:
    """Implements `runtime.stores.inbox.Inbox`.

    `bound` is how many events may wait in one shard, `conversation_bound` how many of the kinds CROWDING in one
    conversation, and `person_bound` how many of one person or client: among the newest of the shard, which bounds what
    it costs to count them. So many dead letters of one person are kept, too.
    """

    def __init__(
        self,
        connection: RedisConnection,
        *,
        bound: int = 10_000,
        conversation_bound: int = CONVERSATION_BOUND,
        person_bound: int = PERSON_BOUND,
    ) -> None:
        self._connection = connection
        self._bound = bound
        self._conversation_bound = conversation_bound
        self._person_bound = person_bound
        self._form = EventForm(connection.sealing)
        self._watch = connection.watch()

    async def add(self, event: InboxEvent, /) -> bool:
        conversation = event.address.key
        keys = ShardKeys(shard_of(conversation))
        outcome = await self._connection.run(
            _ADD,
            [keys.seen(conversation, event.id), keys.inbox],
            [
                uuid.uuid4().hex,
                REMEMBERED_S,
                self._bound,
                self._form.write(event),
                conversation,
                self._conversation_bound if event.kind in CROWDING else "",
                _COUNTED_AT_MOST,
                event.program,
                *self._share(event),
            ],
        )
        if outcome == "crowded":
            raise crowded(conversation, self._conversation_bound)
        if outcome == "share":
            raise share_used(event.person_id, self._person_bound)
        if outcome == "full":
            raise InboxFull(
                f"{self._bound} events wait in shard {keys.shard}; the one from {conversation} was not accepted."
            )
        return bool(outcome == "added")

    async def known(self, address: Address, event_id: str, /) -> KnownEvent | None:
        """An event that was taken in there within the time that ids are remembered."""
        keys = ShardKeys(shard_of(address.key))
        key = keys.seen(address.key, event_id)

        async def call(client: Redis) -> Any:
            return await client.get(key)

        seen = await self._connection.retrying(call, key)
        if seen is None:
            return None
        _, _, rest = str(seen).partition(" ")
        entry, _, program = rest.partition(" ")

        async def look(client: Redis) -> Any:
            return await client.xrange(keys.inbox, min=entry, max=entry)

        waits = bool(entry) and bool(await self._connection.retrying(look, keys.inbox))
        return KnownEvent(program, waits)

    async def read(self, after: Mapping[int, str], /, *, wait_s: float) -> Sequence[InboxEntry]:
        shards = {ShardKeys(shard).inbox: shard for shard in after}
        answer = await self._watch.read(
            {key: after[shard] for key, shard in shards.items()}, wait_s=wait_s, count=_READ_AT_ONCE
        )
        for key, entries in answer:
            self._connection.histories.read(shards[key], entries[-1][0])
        return [
            InboxEntry(shards[key], entry_id, self._form.read(entry_id, fields))
            for key, entries in answer
            for entry_id, fields in entries
        ]

    async def still_waiting(self, entries: Sequence[InboxEntry], /) -> Sequence[InboxEntry]:
        if not entries:
            return []
        key = ShardKeys(entries[0].shard).inbox

        async def call(client: Redis) -> Any:
            async with client.pipeline(transaction=True) as batch:
                for entry in entries:
                    batch.xrange(key, min=entry.entry_id, max=entry.entry_id)
                return await batch.execute()

        found = await self._connection.retrying(call, key)
        return [entry for entry, there in zip(entries, found, strict=True) if there]

    async def discard(self, entry: InboxEntry, token: int, /, *, reason: str) -> None:
        await self._take_out(entry, token, reason)

    async def dismiss(self, entry: InboxEntry, token: int, /) -> None:
        await self._take_out(entry, token, "")

    async def _take_out(self, entry: InboxEntry, token: int, reason: str) -> None:
        keys, event = ShardKeys(entry.shard), self._form.write(entry.event)
        why = self._form.write_reason(entry.event, reason) if reason else ""
        done = await self._connection.run(
            _DISCARD,
            [keys.lease, keys.inbox, keys.dead],
            [token, entry.entry_id, event, why, _DEAD_LETTERS, *self._share(entry.event), _COUNTED_AT_MOST],
        )
        if not done:
            raise LeaseLost(f"The lease of shard {entry.shard} is no longer ours (token {token}).")

    def _share(self, event: InboxEvent) -> tuple[str, int | str]:
        """A digest of who sent an event, and how many of them may lie in a shard; "" where nobody has a share."""
        digest = blake2b(event.person_id.encode(), digest_size=8).hexdigest()
        return digest, self._person_bound if has_share(event) else ""
