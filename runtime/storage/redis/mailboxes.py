"""Mailboxes on Redis: one stream for each participant, read plainly, and a memory of recent letters.

The content of letters may be sealed; ids and places stay readable.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from runtime.channels.mailbox import MailboxEntry, MailboxRead, MailboxReader, ParticipantSeat, SeatLetter
from runtime.core.address import Address
from runtime.core.errors import MailboxFull
from runtime.core.ids import AgentId, MessageId, SessionId
from runtime.storage.encoding.codec import to_json
from runtime.storage.encoding.sealing import PLAIN, AssociatedData, ContentSealing, key_of, session_home
from runtime.storage.redis.client.connection import RedisConnection, load_script
from runtime.storage.redis.client.keys import MailboxKeys
from runtime.storage.redis.client.streams import Entries

REMEMBERED_S = 7 * 24 * 3600
"""The time for which a removed letter is remembered, so that it is not added again."""

SEATED_S = 30 * 24 * 3600
"""The time for which a seat without letters is remembered."""

_PUT = load_script("mailboxes/put")
_TAKE_OUT = load_script("mailboxes/take_out")
_ATTEND = load_script("mailboxes/attend")


class RedisMailboxes:
    """Implements `runtime.channels.mailbox.SeatMailboxes`. `bound` is the most letters in one mailbox."""

    def __init__(self, connection: RedisConnection, *, bound: int = 1_000) -> None:
        self._connection = connection
        self._bound = bound

    async def put(self, participant: str, letter: SeatLetter, /) -> bool:
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

    async def waiting(self, participant: str, until: str, /, *, at_most: int) -> Sequence[MailboxEntry]:
        key = MailboxKeys(participant).mail
        return [self._mail(*entry) for entry in await self._connection.read("xrange", key, max=until, count=at_most)]

    async def take_out(self, participant: str, mail: Sequence[MailboxEntry], /) -> None:
        keys = MailboxKeys(participant)
        pairs = [part for one in mail for part in (one.entry_id, one.letter.id)]
        if pairs:
            await self._connection.run(_TAKE_OUT, [keys.mail, keys.seen], [REMEMBERED_S, *pairs])

    async def seat(self, participant: str, seat_id: str, /) -> ParticipantSeat | None:
        found = await self._connection.read("get", MailboxKeys(participant).seat(seat_id))
        return None if found is None else seat_from_json(found)

    async def attend(self, participant: str, connection: str, /) -> MailboxReader:
        keys = MailboxKeys(participant)
        news = await self._connection.run(_ATTEND, [keys.reader, keys.readers], [connection])
        return MailboxReader(connection, str(news))

    def _mail(self, entry_id: str, fields: Any) -> MailboxEntry:
        return MailboxEntry(entry_id, letter_from_json(fields["l"], self._connection.sealing))


def seat_to_json(seat: ParticipantSeat) -> str:
    address = [seat.address.platform, seat.address.conversation, seat.address.thread]
    return to_json([seat.session, seat.agent, seat.stops, *address])


def seat_from_json(text: str) -> ParticipantSeat:
    session, agent, stops, *address = json.loads(text)
    return ParticipantSeat(SessionId(session), AgentId(agent), Address(*address), stops)


def letter_to_json(letter: SeatLetter, sealing: ContentSealing = PLAIN) -> str:
    content = sealing.of(letter.seat.address.key).seal(_binding(letter.seat, letter.message), to_json(letter.content))
    return to_json({"seat": seat_to_json(letter.seat), "message": letter.message, "content": content})


def letter_from_json(text: str, sealing: ContentSealing = PLAIN) -> SeatLetter:
    """The letter in this JSON. Raises ContentLocked if its key is missing."""
    data = json.loads(text)
    seat, message = seat_from_json(data["seat"]), MessageId(data["message"])
    return SeatLetter(seat, message, json.loads(sealing.open(_binding(seat, message), data["content"])))


def letter_key(text: str) -> str:
    """The id of the key of a sealed letter; "" for an unsealed one."""
    return key_of(str(json.loads(text)["content"]))


def seat_of_letter(text: str) -> ParticipantSeat:
    """The destination of a letter, even of one that cannot be decrypted."""
    return seat_from_json(json.loads(text)["seat"])


def _binding(seat: ParticipantSeat, message: MessageId) -> AssociatedData:
    return AssociatedData(session_home(seat.session), ("letter", seat.id, message))
