"""Dead letters on Redis: one stream for each shard, read in pages."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from redis.asyncio import Redis

from runtime.core.errors import InboxFull, LetterGone
from runtime.storage.encoding.events import EventForm
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import ShardKeys
from runtime.storage.redis.client.script import load_script
from runtime.storage.redis.inbox import REMEMBERED_S
from runtime.stores.operation.dead_letters import DeadLetter, letter_id, letter_place
from runtime.stores.sessions import SHARDS

_SETTLE = load_script("sessions/settle_dead_letter")


class RedisDeadLetters:
    """Implements `runtime.stores.operation.dead_letters.DeadLetters`.

    `bound` is the largest number of events in a shard's inbox.
    """

    def __init__(self, connection: RedisConnection, *, bound: int = 10_000) -> None:
        self._connection = connection
        self._bound = bound
        self._form = EventForm(connection.sealing)

    async def page(self, after: str = "", /, *, limit: int) -> Sequence[DeadLetter]:
        first, number = letter_place(after) if after else (0, "")
        found: list[DeadLetter] = []
        for shard in range(max(first, 0), SHARDS):
            behind = f"({number}" if shard == first and number else "-"
            found += await self._read(shard, behind, "+", limit - len(found))
            if len(found) >= limit:
                break
        return found

    async def get(self, letter: str, /) -> DeadLetter | None:
        shard, number = letter_place(letter)
        found = await self._read(shard, number, number, 1) if number else []
        return found[0] if found else None

    async def replay(self, letter: str, /) -> DeadLetter:
        return await self._settle(letter, "replay")

    async def drop(self, letter: str, /) -> DeadLetter:
        return await self._settle(letter, "drop")

    async def _settle(self, letter: str, how: Literal["replay", "drop"]) -> DeadLetter:
        shard, number = letter_place(letter)
        found = await self.get(letter)
        outcome = "gone"
        if found is not None:
            keys, event = ShardKeys(shard), found.event
            outcome = await self._connection.run(
                _SETTLE,
                [keys.dead, keys.settled(number), keys.inbox, keys.seen(event.address.key, event.id)],
                [uuid.uuid4().hex, number, how, self._bound, REMEMBERED_S, event.program],
            )
        if found is None or outcome == "gone":
            raise LetterGone(f"There is no dead letter {letter} (any more); see parley debug letters list.")
        if outcome == "full":
            raise InboxFull(
                f"{self._bound} events wait in shard {shard}; the letter {letter} stays where it is. Try again later."
            )
        return found

    async def _read(self, shard: int, first: str, last: str, count: int) -> list[DeadLetter]:
        key = ShardKeys(shard).dead

        async def call(client: Redis) -> Any:
            return await client.xrange(key, min=first, max=last, count=count)

        return [self._letter(shard, number, fields) for number, fields in await self._connection.retrying(call, key)]

    def _letter(self, shard: int, number: str, fields: Mapping[str, str]) -> DeadLetter:
        event = self._form.read(number, fields)
        reason = self._form.read_reason(event, fields.get("reason", ""))
        died_at = datetime.fromtimestamp(int(number.partition("-")[0]) / 1000, UTC)
        return DeadLetter(letter_id(shard, number), event, fields.get("id", number), reason, died_at)
