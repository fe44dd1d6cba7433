"""Calls of models on Redis: a list of their names for each shard, and a key for each call, which is gone at its time.

A name is `<session> <asked_seq> <heard_seq> <ms> <1 if it failed> <bytes>`, so that who looks for calls reads no
others. Calls are compressed, since prompts repeat themselves, and sealed as their session is.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime

from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId
from runtime.core.json_text import plain_data
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import AssociatedData, ContentSealing, key_of, session_home
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.sessions.known_sessions import SessionPlaces
from runtime.stores.inbox import shard_of
from runtime.stores.kept import KEPT_S, MOST, MOST_FAILED, CallBounds, ModelCall, PromptMessage
from runtime.stores.sessions import SessionRecord

_KEEP = load_script("model_call_keep")
_SPEND = load_script("model_call_spend")
_SPENT = "spent:"

TEXT = "text"
"""The field of a call's key."""


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
            _KEEP,
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
    return base64.b64encode(sealing.seal_bytes(_binding(session), content)).decode("ascii")


def _opened(session: SessionId, text: str, sealing: ContentSealing) -> bytes:
    return sealing.open_bytes(_binding(session), base64.b64decode(text))


def _binding(session: SessionId) -> AssociatedData:
    return AssociatedData(session_home(session), ("model call",))
