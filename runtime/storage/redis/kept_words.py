"""What was said in conversations on Redis: a list of messages for each, and a key for each message, which is gone at
its time. Who said it and when stays readable, the rest may be sealed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.errors import ContentLocked
from runtime.core.json_text import plain_data
from runtime.core.message import attachment_from
from runtime.core.quote import quote_from_data, quote_to_data, without_author
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import AssociatedData, ContentSealing, conversation_home, key_of
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.stores.catalog import PersonKeys
from runtime.stores.inbox import shard_of
from runtime.stores.kept import KeptWords

_KEEP = load_script("words_keep")
_CHANGE = load_script("rekeying/reseal_field")

TEXT = "text"
"""The field of a message's key."""


class RedisKeptWords:
    """Implements `runtime.stores.kept.KeptWordsStore`."""

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
        ids = await self._connection.read("zrange", keys.said(to.key), 0, -1)
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

    async def forget_person(self, conversation: str, key: str, whose: PersonKeys) -> int:
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
        for id_ in await self._connection.read("zrange", keys.said(conversation), 0, -1):
            await self._connection.write("UNLINK", keys.said_message(conversation, id_))
        await self._connection.write("UNLINK", keys.said(conversation))


class KeptWordsForm:
    """Writes and reads what was said as `sealing` has it."""

    def __init__(self, sealing: ContentSealing) -> None:
        self._sealing = sealing

    def write(self, conversation: str, words: KeptWords) -> str:
        """What was said in a conversation, as JSON."""
        content = to_json([quote_to_data(words.said), [plain_data(file) for file in words.files]])
        sealed = self._sealing.of(conversation).seal(_binding(conversation, words.said.message_id), content)
        return to_json({"id": words.said.message_id, "person": words.said.person, "content": sealed})

    def read(self, conversation: str, written: str) -> KeptWords:
        """The inverse of `write`. Raises ContentLocked for what cannot be opened."""
        data = json.loads(written)
        said, files = json.loads(self._sealing.open(_binding(conversation, data["id"]), data["content"]))
        return KeptWords(quote_from_data(said), tuple(map(attachment_from, files)))

    def person(self, written: str) -> str:
        """Who said it, whether or not it can be opened."""
        return str(json.loads(written)["person"])

    def key_of(self, written: str) -> str:
        """The id of the key of what was said; "" where it is not sealed."""
        return key_of(json.loads(written)["content"])

    def changed(self, conversation: str, written: str, words: KeptWords) -> str:
        """What was said as it is now, with the time at which it was said first."""
        said_at = self.read(conversation, written).said.said_at
        return self.write(conversation, replace(words, said=replace(words.said, said_at=said_at)))


def _binding(conversation: str, message: str) -> AssociatedData:
    return AssociatedData(conversation_home(conversation), ("said", message))
