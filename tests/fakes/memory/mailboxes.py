"""Mailboxes in memory."""

from collections.abc import Sequence

import anyio
from msgspec import Struct, field

from runtime.channels.mailbox import MailboxEntry, MailboxRead, MailboxReader, ParticipantSeat, SeatLetter
from runtime.core.errors import MailboxFull
from runtime.storage.redis.mailboxes import letter_from_json, letter_to_json


class _Mailbox(Struct):
    letters: dict[int, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    seats: dict[str, ParticipantSeat] = field(default_factory=dict)
    count: int = 0
    readers: list[str] = field(default_factory=list)
    news: anyio.Event = field(default_factory=anyio.Event)

    def tell(self) -> None:
        news, self.news = self.news, anyio.Event()
        news.set()

    def behind(self, after: str, at_most: int) -> tuple[MailboxEntry, ...]:
        found = [number for number in self.letters if number > _number(after)][:at_most]
        return tuple(self.mail(number) for number in found)

    def mail(self, number: int) -> MailboxEntry:
        return MailboxEntry(f"{number}-0", letter_from_json(self.letters[number]))


class MemoryMailboxes:
    """Implements `runtime.channels.mailbox.SeatMailboxes`. `bound` is how many letters may wait in one."""

    def __init__(self, *, bound: int = 1_000) -> None:
        self._bound = bound
        self._mailboxes: dict[str, _Mailbox] = {}

    async def put(self, participant: str, letter: SeatLetter, /) -> bool:
        box = self._box(participant)
        box.seats[letter.seat.id] = letter.seat
        if letter.id in box.seen:
            return False
        if len(box.letters) >= self._bound:
            raise MailboxFull(f"{self._bound} messages wait for {participant}; another one was not accepted.")
        box.seen.add(letter.id)
        box.count += 1
        box.letters[box.count] = letter_to_json(letter)
        box.tell()
        return True

    async def read(
        self, participant: str, after: str, reader: MailboxReader, /, *, wait_s: float, at_most: int
    ) -> MailboxRead:
        box = self._box(participant)
        found = MailboxRead()
        with anyio.move_on_after(wait_s):
            while not (found.mail or found.replaced):
                news = box.news
                replaced = len(box.readers) > int(reader.news)
                found = MailboxRead(() if replaced else box.behind(after, at_most), replaced)
                if not (found.mail or found.replaced):
                    await news.wait()
        return found

    async def waiting(self, participant: str, until: str, /, *, at_most: int) -> Sequence[MailboxEntry]:
        box = self._box(participant)
        return [box.mail(number) for number in box.letters if number <= _number(until)][:at_most]

    async def take_out(self, participant: str, mail: Sequence[MailboxEntry], /) -> None:
        for one in mail:
            self._box(participant).letters.pop(_number(one.entry_id), None)

    async def seat(self, participant: str, seat_id: str, /) -> ParticipantSeat | None:
        return self._box(participant).seats.get(seat_id)

    async def attend(self, participant: str, connection: str, /) -> MailboxReader:
        box = self._box(participant)
        if box.readers[-1:] != [connection]:
            box.readers.append(connection)
            box.tell()
        return MailboxReader(connection, str(len(box.readers)))

    def _box(self, participant: str) -> _Mailbox:
        return self._mailboxes.setdefault(participant, _Mailbox())


def _number(entry_id: str) -> int:
    return int(entry_id.partition("-")[0])
