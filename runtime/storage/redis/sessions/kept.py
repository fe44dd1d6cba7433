"""What is kept for a while on Redis. Calls of models: a list of their names for each shard, and a key for each call,
which is gone at its time. What was said in conversations: a list of messages for each, and a key for each message,
likewise; who said it and when stays readable, the rest may be sealed.

A name of a call is `<session> <asked_seq> <heard_seq> <ms> <1 if it failed> <bytes>`, so that who looks for calls reads
no others. Calls are compressed, since prompts repeat themselves, and sealed as their session is.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId
from runtime.core.json_text import plain_data
from runtime.core.message import attachment_from
from runtime.core.quote import quote_from_data, quote_to_data, without_author
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import AssociatedData, ContentSealing, conversation_home, key_of, session_home
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.sessions.known_sessions import SessionPlaces
from runtime.stores.catalog import PersonKeys
from runtime.stores.inbox import shard_of
from runtime.stores.kept import KEPT_S, MOST, MOST_FAILED, CallBounds, KeptWords, ModelCall, PromptMessage
from runtime.stores.sessions import SessionRecord

_KEEP_CALL = load_script("model_call_keep")
_SPEND = load_script("model_call_spend")
_SPENT = "spent:"

TEXT = "text"
"""The field of a call's key, and of a message's."""


class RedisModelCalls:
    """Implements `runtime.stores.kept.KeptCalls`."""

    def __init__(
        self, connection: RedisConnection, most: CallBounds = MOST, most_failed: CallBounds = MOST_FAILED
    ) -> None:
        self._connection = connection
        self._places = SessionPlaces(connection)
        self._most = (*most, *most_failed)

    async def keep(self, call: ModelCall, /) -> None:
        keys = await self._places.keys(call.session)
        if keys is None:
            return
        text = call_to_text(call, await self._places.sealing(keys, call.session))
        at_ms = round(call.at.timestamp() * 1000)
        name = f"{call.session} {call.asked_seq} {call.heard_seq} {at_ms} {1 if call.error else 0} {len(text)}"
        await self._connection.run(
            _KEEP_CALL,
            [keys.session(call.session), keys.model_calls, keys.model_call(name)],
            [name, text, KEPT_S * 1000, keys.model_call(""), *self._most],
            replicated=False,
        )

    async def spend(self, session: SessionId, amounts: Mapping[str, float], /) -> None:
        keys = await self._places.keys(session)
        pairs = [text for name, amount in amounts.items() if amount for text in (_SPENT + name, repr(amount))]
        if keys is not None and pairs:
            await self._connection.run(_SPEND, [keys.session(session)], pairs, replicated=False)

    async def spent(self, records: Sequence[SessionRecord], measures: Sequence[str]) -> Sequence[Mapping[str, float]]:
        """What sessions have used, by these measures. Raises StorageUnavailable."""
        names = [ShardKeys(shard_of(record.address.key)).session(record.id) for record in records]
        fields = [_SPENT + name for name in measures]
        found = await self._connection.each(names, lambda batch, key: batch.hmget(key, fields))
        return [dict(zip(measures, (float(value or 0) for value in values), strict=True)) for values in found]

    async def between(self, session: SessionId, after: int, until: int, /) -> Sequence[ModelCall]:
        keys = await self._places.keys(session)
        if keys is None:
            return []
        names = [name.split(" ") for name in await self._connection.read("zrange", keys.model_calls, 0, -1)]
        wanted = [
            keys.model_call(" ".join(name))
            for name in names
            if name[0] == session and int(name[1]) < until and int(name[2]) > after
        ]
        sealing, found = await self._places.sealing(keys, session), list[ModelCall]()
        for text in await self._connection.each(wanted, lambda batch, key: batch.hget(key, TEXT)):
            try:
                found += [] if text is None else [call_from_text(session, text, sealing)]
            except ContentLocked:
                continue
        return found


def call_to_text(call: ModelCall, sealing: ContentSealing) -> str:
    data = {**plain_data(call), "at": call.at.isoformat()}
    return _text(sealing, call.session, zlib.compress(to_json(data).encode()))


def call_from_text(session: SessionId, text: str, sealing: ContentSealing) -> ModelCall:
    """The call of a session. Raises ContentLocked if its key is missing."""
    data = json.loads(zlib.decompress(_opened(session, text, sealing)))
    prompt = tuple(PromptMessage(one["role"], one["content"], tuple(one["pictures"])) for one in data["prompt"])
    return ModelCall(**{**data, "prompt": prompt, "at": datetime.fromisoformat(data["at"])})


def call_key(text: str) -> str:
    """The id of the key of a sealed call; "" for an unsealed one."""
    return key_of(base64.b64decode(text))


def call_anew(session: SessionId, text: str, sealing: ContentSealing) -> str:
    """A call in its current form. Raises ContentLocked where it cannot be opened."""
    current = sealing.is_current(base64.b64decode(text))
    return text if current else _text(sealing, session, _opened(session, text, sealing))


def _text(sealing: ContentSealing, session: SessionId, content: bytes) -> str:
    return base64.b64encode(sealing.seal_bytes(_call_binding(session), content)).decode("ascii")


def _opened(session: SessionId, text: str, sealing: ContentSealing) -> bytes:
    return sealing.open_bytes(_call_binding(session), base64.b64decode(text))


def _call_binding(session: SessionId) -> AssociatedData:
    return AssociatedData(session_home(session), ("model call",))


_KEEP_WORDS = load_script("words_keep")
_CHANGE = load_script("rekeying/reseal_field")


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
            _KEEP_WORDS, [keys.said(to.key), message], [id_, written, int(keep_s * 1000), at_most, beginning]
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
        sealed = self._sealing.of(conversation).seal(_said_binding(conversation, words.said.message_id), content)
        return to_json({"id": words.said.message_id, "person": words.said.person, "content": sealed})

    def read(self, conversation: str, written: str) -> KeptWords:
        """The inverse of `write`. Raises ContentLocked for what cannot be opened."""
        data = json.loads(written)
        said, files = json.loads(self._sealing.open(_said_binding(conversation, data["id"]), data["content"]))
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


def _said_binding(conversation: str, message: str) -> AssociatedData:
    return AssociatedData(conversation_home(conversation), ("said", message))
