"""Mailboxes on Redis: one stream for each participant, read plainly, and a memory of recent letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from runtime.channels.mailbox import Letter, Mail, MailboxRead, MailboxReader, Seat
from runtime.core.errors import MailboxFull
from runtime.storage.encoding.letters import letter_from_json, letter_to_json, seat_from_json, seat_to_json
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.client.keys import MailboxKeys
from runtime.storage.redis.client.script import load_script
from runtime.storage.redis.client.streams import Entries

REMEMBERED_S = 7 * 24 * 3600
"""The time for which a removed letter is remembered, so that it is not added again."""

SEATED_S = 30 * 24 * 3600
"""The time for which a seat without letters is remembered."""

_PUT = load_script("mailboxes/put")
_TAKE_OUT = load_script("mailboxes/take_out")
_ATTEND = load_script("mailboxes/attend")


class RedisMailboxes:
    """Implements `runtime.channels.mailbox.Mailboxes`. `bound` is the most letters in one mailbox."""

    def __init__(self, connection: RedisConnection, *, bound: int = 1_000) -> None:
        self._connection = connection
        self._bound = bound

    async def put(self, participant: str, letter: Letter, /) -> bool:
        keys, text = MailboxKeys(participant), letter_to_json(letter, self._connection.sealing)
        outcome = await self._connection.run(
            _PUT,
            [keys.mail, keys.seen, keys.seat(letter.seat.id)],
            [letter.id, self._bound, text, seat_to_json(letter.seat), SEATED_S],
        )
        if outcome == "full":
            raise MailboxFull(f"{self._bound} messages wait for {participant}; another one was not accepted.")
        return bool(outcome == "added")

    async def read(
        self, participant: str, after: str, reader: MailboxReader, /, *, wait_s: float, at_most: int
    ) -> MailboxRead:
        keys = MailboxKeys(participant)
        answer = await self._connection.read_streams(
            {keys.mail: after, keys.readers: reader.news}, wait_s=wait_s, count=at_most
        )
        found: dict[str, Entries] = dict(answer)
        if found.get(keys.readers):
            return MailboxRead(replaced=True)
        return MailboxRead(tuple(self._mail(*entry) for entry in found.get(keys.mail, ())))

    async def waiting(self, participant: str, until: str, /, *, at_most: int) -> Sequence[Mail]:
        key = MailboxKeys(participant).mail

        async def call(client: Redis) -> Any:
            return await client.xrange(key, max=until, count=at_most)

        return [self._mail(*entry) for entry in await self._connection.retrying(call, key)]

    async def take_out(self, participant: str, mail: Sequence[Mail], /) -> None:
        keys = MailboxKeys(participant)
        pairs = [part for one in mail for part in (one.entry_id, one.letter.id)]
        if pairs:
            await self._connection.run(_TAKE_OUT, [keys.mail, keys.seen], [REMEMBERED_S, *pairs])

    async def seat(self, participant: str, seat_id: str, /) -> Seat | None:
        key = MailboxKeys(participant).seat(seat_id)

        async def call(client: Redis) -> Any:
            return await client.get(key)

        found = await self._connection.retrying(call, key)
        return None if found is None else seat_from_json(found)

    async def attend(self, participant: str, connection: str, /) -> MailboxReader:
        keys = MailboxKeys(participant)
        news = await self._connection.run(_ATTEND, [keys.reader, keys.readers], [connection])
        return MailboxReader(connection, str(news))

    def _mail(self, entry_id: str, fields: Any) -> Mail:
        return Mail(entry_id, letter_from_json(fields["l"], self._connection.sealing))
