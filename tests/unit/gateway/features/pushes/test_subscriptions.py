"""Who wants to be told is read seldom, and heeded at once. Messages that wait to be told to people who
are not looking.
"""

from collections.abc import Mapping
from typing import Any, NoReturn, cast

import anyio

from gateway.features.pushes.door import MAX_WAITING, Pusher
from gateway.features.pushes.subscriptions import LISTED_S, Subscription, Subscriptions, Wishes
from runtime.core.errors import StorageUnavailable
from runtime.core.room import RoomMessage
from tests.contract.storage_samples import T0
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

BROWSER = Subscription("https://fcm.googleapis.com/fcm/send/1", "p", "a")


class CountedRecords(MemoryRecords):
    """Counts how often everything was read."""

    reads = 0

    async def all(self) -> Mapping[str, str]:
        self.reads += 1
        return await super().all()


class SlowRecords(MemoryRecords):
    """Gives what there was when it was asked, later."""

    def __init__(self, records: Mapping[str, str]) -> None:
        super().__init__(records)
        self.read, self.answers = anyio.Event(), anyio.Event()

    async def all(self) -> Mapping[str, str]:
        kept = await super().all()
        self.read.set()
        await self.answers.wait()
        return kept


async def names(subscriptions: Subscriptions) -> list[str]:
    return [wishes.name for _, wishes in await subscriptions.all()]


async def test_many_messages_in_a_second_read_everybody_once() -> None:
    clock, records = FakeClock(), CountedRecords({"web:g": Wishes("Grace", (BROWSER,)).text()})
    subscriptions = Subscriptions(records, clock)
    for _ in range(100):
        assert await names(subscriptions) == ["Grace"]
    assert records.reads == 1
    await records.put("web:a", Wishes("Ada", (BROWSER,)).text())  # on another node
    await clock.advance(LISTED_S)
    assert await names(subscriptions) == ["Grace", "Ada"]
    await records.remove("web:g")
    await clock.advance(LISTED_S)
    assert await names(subscriptions) == ["Ada"]


async def test_a_change_here_counts_at_once() -> None:
    subscriptions = Subscriptions(MemoryRecords({"web:g": Wishes("Grace", (BROWSER,)).text()}), FakeClock())
    assert await names(subscriptions) == ["Grace"]
    await subscriptions.unsubscribe("web:g", BROWSER.endpoint)
    assert await names(subscriptions) == []


async def test_what_was_read_before_a_change_here_is_not_remembered() -> None:
    records = SlowRecords({"web:g": Wishes("Grace", (BROWSER,)).text()})
    subscriptions = Subscriptions(records, FakeClock())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(subscriptions.all)
        await records.read.wait()
        await subscriptions.unsubscribe("web:g", BROWSER.endpoint)
        records.answers.set()
    assert await names(subscriptions) == []


class Rooms:
    """The rooms whose messages somebody is about to be told of. They are a board and its charters, and who listens."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.charters = self

    async def all(self) -> list[tuple[str, None]]:
        return [("web:grace", None)]

    async def get(self, room: str) -> NoReturn:
        self.told.append(room)
        raise StorageUnavailable("nothing more is asked of it here")


async def logged_in(_person: str, _device: str) -> bool:
    return True


def message(author: str, number: int) -> RoomMessage:
    return RoomMessage(str(number), author, author, "person", "hi", T0, seq=number, version=number)


async def test_one_person_who_writes_much_does_not_have_the_messages_of_others_dropped() -> None:
    rooms = Rooms()
    pusher = Pusher(cast("Any", rooms), cast("Any", rooms), logged_in, FakeClock(), "https://chat.example.org")
    pusher.said("lobby", message("web:bo", 0))
    for number in range(MAX_WAITING + 5):
        pusher.said("eve", message("web:eve", number))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pusher.run)
        with anyio.fail_after(60):
            while len(rooms.told) < MAX_WAITING:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert rooms.told == ["lobby", *["eve"] * (MAX_WAITING - 1)]
