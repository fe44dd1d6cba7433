"""Which notebooks are deleted, and when."""

from datetime import timedelta

import pytest
from pydantic import ValidationError

from gateway.features.notebooks.redis import NotebookRetention
from gateway.features.notebooks.store import Draft
from gateway.settings.operation import RetentionSettings
from runtime.bus import Bus
from runtime.events.service import NotebooksRetired
from tests.fakes.clock import FakeClock
from tests.fakes.memory.notebooks import MemoryNotebooks

DAY_S = timedelta(days=1).total_seconds()


class Shelf:
    """Notebooks whose changes have the time of the test's clock."""

    def __init__(self, days: float) -> None:
        self.clock = FakeClock()
        self.store = MemoryNotebooks()
        self.retention = NotebookRetention(self.store, days, self.clock)
        self._look()

    async def write(self, name: str) -> None:
        await self.store.append(name, [Draft("message", "{}")])

    async def days_pass(self, days: float) -> None:
        await self.clock.advance(days * DAY_S)
        self._look()

    async def due(self) -> list[str]:
        return [one.name for one in await self.retention.plan()]

    def _look(self) -> None:
        self.store.now_ms = int(self.clock.now().timestamp() * 1000)


async def test_what_nobody_has_written_in_is_shown_and_then_deleted() -> None:
    shelf, told = Shelf(30), list[int]()
    await shelf.write("old")
    await shelf.days_pass(20)
    await shelf.write("new")
    assert await shelf.due() == []
    await shelf.days_pass(11)
    assert await shelf.due() == ["old"]
    assert list(await shelf.store.names()) == ["new", "old"]
    bus = Bus(shelf.clock)
    bus.hear(NotebooksRetired, lambda what, _: told.append(what.deleted))
    job = shelf.retention.job(bus)
    await job.run(shelf.clock.now())
    await job.run(shelf.clock.now())
    assert (list(await shelf.store.names()), told) == (["new"], [1])


async def test_what_a_fork_sees_stays_as_long_as_the_fork() -> None:
    shelf = Shelf(30)
    await shelf.write("origin")
    origin = await shelf.store.find("origin")
    assert origin is not None
    await shelf.store.fork("fork", origin, 1)
    await shelf.days_pass(31)
    assert await shelf.due() == ["fork"]
    await shelf.write("fork")
    assert await shelf.due() == []
    await shelf.days_pass(31)
    assert [await shelf.retention.apply() for _ in range(3)] == [1, 1, 0]


async def test_nothing_is_deleted_where_the_settings_say_never_and_keys_of_writes_are_outlasted() -> None:
    shelf = Shelf(RetentionSettings().notebooks_days)
    await shelf.write("old")
    await shelf.days_pass(10_000)
    assert await shelf.due() == []
    assert RetentionSettings(notebooks_days=7).notebooks_days == 7
    with pytest.raises(ValidationError, match="at least 7"):
        RetentionSettings(notebooks_days=6)
