"""Calls of models on Redis: a list of their names for each shard, and a key for each call, which is gone at its time.

A name is `<session> <asked_seq> <heard_seq> <ms> <bytes>`, so that who looks for calls reads no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId
from runtime.storage.encoding.model_calls import call_from_text, call_to_text
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.script import load_script
from runtime.storage.redis.sessions.locations import SessionPlaces
from runtime.stores.model_calls import KEPT_S, MOST_BYTES, MOST_CALLS, ModelCall

_KEEP = load_script("model_call_keep")

TEXT = "text"
"""The field of a call's key."""


class RedisModelCalls:
    """Implements `runtime.stores.model_calls.KeptCalls`."""

    def __init__(self, connection: RedisConnection, *, most: int = MOST_CALLS, most_bytes: int = MOST_BYTES) -> None:
        self._connection = connection
        self._places = SessionPlaces(connection)
        self._most = most
        self._most_bytes = most_bytes

    async def keep(self, call: ModelCall, /) -> None:
        keys = await self._places.keys(call.session)
        if keys is None:
            return
        text = call_to_text(call, await self._places.sealing(keys, call.session))
        at_ms = round(call.at.timestamp() * 1000)
        name = f"{call.session} {call.asked_seq} {call.heard_seq} {at_ms} {len(text)}"
        await self._connection.run(
            _KEEP,
            [keys.session(call.session), keys.model_calls, keys.model_call(name)],
            [name, text, KEPT_S * 1000, self._most, self._most_bytes, keys.model_call("")],
            replicated=False,
        )

    async def between(self, session: SessionId, after: int, until: int, /) -> Sequence[ModelCall]:
        keys = await self._places.keys(session)
        if keys is None:
            return []

        async def read(client: Redis) -> Any:
            return await client.zrange(keys.model_calls, 0, -1)

        names = [name.split(" ") for name in await self._connection.retrying(read, keys.model_calls)]
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
