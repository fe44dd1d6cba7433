"""The contract of every store of mailboxes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import anyio
import pytest

from runtime.channels.mailbox import START, MailboxEntry, MailboxReader, ParticipantSeat, SeatLetter, SeatMailboxes
from runtime.core.address import Address
from runtime.core.errors import ContentLocked, MailboxFull
from runtime.core.ids import AgentId, MessageId, SessionId
from runtime.storage.encoding.encryption import ContentEncryption, new_key
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.mailboxes import RedisMailboxes, letter_from_json, letter_to_json
from tests.contract.setups import ENCRYPTED, SETUPS, location_of, sealing_of
from tests.fakes.memory.mailboxes import MemoryMailboxes

pytestmark = pytest.mark.anyio

BOUND = 5
SEAT = ParticipantSeat(SessionId("s1"), AgentId("1001"), Address("web", "room", "7"))
ELSEWHERE = ParticipantSeat(SessionId("s2"), AgentId("1001"), Address("telegram", "42"))


@pytest.fixture(params=["memory", *SETUPS, ENCRYPTED])
async def mailboxes(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[SeatMailboxes]:
    if request.param == "memory":
        yield MemoryMailboxes(bound=BOUND)
        return
    location, sealing = location_of(request.param, request), sealing_of(request.param)
    async with open_connection(location, patience_s=20, sealing=sealing) as connection:
        yield RedisMailboxes(connection, bound=BOUND)


def letter(name: str, seat: ParticipantSeat = SEAT) -> SeatLetter:
    return SeatLetter(seat, MessageId(name), {"text": f"{name} — ünï"})


async def read(mailboxes: SeatMailboxes, after: str = START, participant: str = "scout") -> Sequence[MailboxEntry]:
    reader = await mailboxes.attend(participant, "reader")
    return (await mailboxes.read(participant, after, reader, wait_s=0, at_most=100)).mail


def names(mail: Sequence[MailboxEntry]) -> list[str]:
    return [one.letter.message for one in mail]


async def test_letters_are_read_in_their_order_and_stay_until_taken_out(mailboxes: SeatMailboxes) -> None:
    for name in ("a", "b", "c"):
        assert await mailboxes.put("scout", letter(name)) is True
    found = await read(mailboxes)
    assert [one.letter for one in found] == [letter("a"), letter("b"), letter("c")]
    assert names(await read(mailboxes)) == ["a", "b", "c"]
    assert names(await read(mailboxes, after=found[0].entry_id)) == ["b", "c"]
    await mailboxes.take_out("scout", found[:2])
    assert names(await read(mailboxes)) == ["c"]


async def test_a_letter_is_taken_once_also_after_it_was_taken_out(mailboxes: SeatMailboxes) -> None:
    await mailboxes.put("scout", letter("a"))
    assert await mailboxes.put("scout", letter("a")) is False
    await mailboxes.take_out("scout", await read(mailboxes))
    assert await mailboxes.put("scout", letter("a")) is False
    assert await read(mailboxes) == ()
    assert await mailboxes.put("scout", letter("a", ELSEWHERE)) is True


async def test_mailboxes_of_different_participants_have_nothing_in_common(mailboxes: SeatMailboxes) -> None:
    await mailboxes.put("scout", letter("a"))
    assert await mailboxes.put("guide", letter("a")) is True
    await mailboxes.take_out("guide", await read(mailboxes, participant="guide"))
    assert names(await read(mailboxes)) == ["a"]


async def test_a_full_mailbox_refuses_and_forgets_nothing(mailboxes: SeatMailboxes) -> None:
    for number in range(BOUND):
        await mailboxes.put("scout", letter(str(number)))
    with pytest.raises(MailboxFull, match="scout"):
        await mailboxes.put("scout", letter("more"))
    assert await mailboxes.put("scout", letter("0")) is False
    found = await read(mailboxes)
    assert len(found) == BOUND
    await mailboxes.take_out("scout", found[:1])
    assert await mailboxes.put("scout", letter("more")) is True


async def test_what_waits_up_to_an_entry_can_be_asked_for(mailboxes: SeatMailboxes) -> None:
    for name in ("a", "b", "c"):
        await mailboxes.put("scout", letter(name))
    entries = [one.entry_id for one in await read(mailboxes)]
    assert names(await mailboxes.waiting("scout", entries[1], at_most=10)) == ["a", "b"]
    assert names(await mailboxes.waiting("scout", entries[2], at_most=1)) == ["a"]
    assert names(await mailboxes.waiting("scout", START, at_most=10)) == []


async def test_a_seat_is_known_by_its_letters(mailboxes: SeatMailboxes) -> None:
    assert await mailboxes.seat("scout", SEAT.id) is None
    await mailboxes.put("scout", letter("a"))
    assert await mailboxes.seat("scout", SEAT.id) == SEAT
    assert await mailboxes.seat("guide", SEAT.id) is None
    assert await mailboxes.seat("scout", ELSEWHERE.id) is None


async def test_who_waits_hears_of_a_letter_that_comes(mailboxes: SeatMailboxes) -> None:
    reader, found = await mailboxes.attend("scout", "reader"), list[str]()

    async def wait() -> None:
        delivery = await mailboxes.read("scout", START, reader, wait_s=30, at_most=10)
        found.extend(names(delivery.mail))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await mailboxes.put("scout", letter("a"))
    assert found == ["a"]


async def test_the_newer_reader_replaces_the_older(mailboxes: SeatMailboxes) -> None:
    old = await mailboxes.attend("scout", "old")
    replaced: list[bool] = []

    async def wait(reader: MailboxReader) -> None:
        replaced.append((await mailboxes.read("scout", START, reader, wait_s=30, at_most=10)).replaced)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, old)
        new = await mailboxes.attend("scout", "new")
    assert replaced == [True]
    await mailboxes.put("scout", letter("a"))
    assert (await mailboxes.read("scout", START, old, wait_s=0, at_most=10)).replaced
    assert names((await mailboxes.read("scout", START, new, wait_s=0, at_most=10)).mail) == ["a"]


async def test_a_reader_who_says_so_twice_does_not_replace_itself(mailboxes: SeatMailboxes) -> None:
    first = await mailboxes.attend("scout", "reader")
    await mailboxes.attend("scout", "reader")
    delivery = await mailboxes.read("scout", START, first, wait_s=0, at_most=10)
    assert not delivery.replaced


async def test_a_wait_without_news_ends_with_nothing(mailboxes: SeatMailboxes) -> None:
    reader = await mailboxes.attend("scout", "reader")
    delivery = await mailboxes.read("scout", START, reader, wait_s=0.01, at_most=10)
    assert (delivery.mail, delivery.replaced) == ((), False)


def test_content_can_be_sealed_and_is_of_no_use_without_the_key() -> None:
    sealing = ContentEncryption([new_key()])
    written = letter_to_json(letter("a"), sealing)
    assert "ünï" not in written
    assert letter_from_json(written, sealing) == letter("a")
    with pytest.raises(ContentLocked):
        letter_from_json(written)
