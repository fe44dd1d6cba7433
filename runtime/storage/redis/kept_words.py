"""What was said in conversations on Redis: a list of messages for each, and a key for each message, which is gone at
its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from redis.asyncio import Redis

from runtime.core.address import Address
from runtime.core.errors import ContentLocked
from runtime.core.quote import without_author
from runtime.storage.encoding.kept_words import KeptWordsForm
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script
from runtime.stores.inbox import shard_of
from runtime.stores.kept_words import KeptWords
from runtime.stores.operation.traces import Whose

_KEEP = load_script("words_keep")
_CHANGE = load_script("rekeying/reseal_field")

TEXT = "text"
"""The field of a message's key."""


class RedisKeptWords:
    """Implements `runtime.stores.kept_words.KeptWordsStore`."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._form = KeptWordsForm(connection.sealing)

    async def keep(self, to: Address, words: KeptWords, /, *, keep_s: float, at_most: int) -> None:
        keys, id_ = ShardKeys(shard_of(to.key)), words.said.message_id
        message, beginning = keys.said_message(to.key, id_), keys.said_message(to.key, "")
        written = self._form.write(to.key, words)
        await self._connection.run(
            _KEEP, [keys.said(to.key), message], [id_, written, int(keep_s * 1000), at_most, beginning]
        )

    async def change(self, to: Address, words: KeptWords, /) -> None:
        key = ShardKeys(shard_of(to.key)).said_message(to.key, words.said.message_id)
        written = await self._connection.ask("HGET", key, TEXT)
        if written is None:
            return
        try:
            changed = self._form.changed(to.key, written, words)
        except ContentLocked:
            return
        await self._connection.run(_CHANGE, [key], [TEXT, written, changed])

    async def remove(self, to: Address, message: str, /) -> None:
        keys = ShardKeys(shard_of(to.key))
        await self._connection.write("UNLINK", keys.said_message(to.key, message))
        await self._connection.write("ZREM", keys.said(to.key), message)

    async def before(self, to: Address, message: str, /) -> Sequence[KeptWords]:
        keys = ShardKeys(shard_of(to.key))

        async def read(client: Redis) -> Any:
            return await client.zrange(keys.said(to.key), 0, -1)

        ids = await self._connection.retrying(read, keys.said(to.key))
        earlier = ids[: ids.index(message)] if message in ids else ids
        if not earlier:
            return []
        wanted = [keys.said_message(to.key, id_) for id_ in earlier]
        found = []
        for written in await self._connection.each(wanted, lambda batch, key: batch.hget(key, TEXT)):
            try:
                found += [] if written is None else [self._form.read(to.key, written)]
            except ContentLocked:
                continue
        return found

    async def forget_person(self, conversation: str, key: str, whose: Whose) -> int:
        """Forget a message of a person, and what they said in the message of somebody else. How many that were. Raises
        ContentLocked where nobody can see whom a message quotes.
        """
        written = await self._connection.ask("HGET", key, TEXT)
        if written is None:
            return 0
        if self._form.person(written) == whose.person:
            return int(await self._connection.write("UNLINK", key))
        words = self._form.read(conversation, written)
        left = replace(words.said, inside=without_author(words.said.inside, whose.person, whose.names))
        if left == words.said:
            return 0
        anew = self._form.write(conversation, replace(words, said=left))
        return int(await self._connection.run(_CHANGE, [key], [TEXT, written, anew]))

    async def forget(self, conversation: str) -> None:
        keys = ShardKeys(shard_of(conversation))

        async def read(client: Redis) -> Any:
            return await client.zrange(keys.said(conversation), 0, -1)

        for id_ in await self._connection.retrying(read, keys.said(conversation)):
            await self._connection.write("UNLINK", keys.said_message(conversation, id_))
        await self._connection.write("UNLINK", keys.said(conversation))
