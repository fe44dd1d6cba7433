"""Messages that wait to be told to people who are not looking."""

from __future__ import annotations

from typing import Any, NoReturn, cast

import anyio
import pytest

from gateway.features.pushes.pusher import MAX_WAITING, Pusher
from runtime.core.errors import StorageUnavailable
from runtime.core.room import RoomMessage
from tests.contract.storage_samples import T0
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio


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
    return RoomMessage(str(number), number, number, author, author, "person", "hi", T0, final=True)


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
