"""No two people of the web chat have one name, on whichever nodes and however close together they come."""

from collections.abc import Mapping, Sequence

import anyio.lowlevel
import pytest

from adapters.web.adapter import WebAdapter
from adapters.web.codec import WebVisitor
from adapters.web.gatherings import PeopleDirectory, RoomGatherings
from adapters.web.rooms import RoomRules
from runtime.core.clock import SystemClock
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio

IDS = ("web:a", "web:b", "web:c")


class SlowRecords(MemoryRecords):
    """Others have their turn before each answer, as they have with a database."""

    async def all(self) -> Mapping[str, str]:
        found = await super().all()
        await anyio.lowlevel.checkpoint()
        return found


def nodes(records: MemoryRecords, count: int) -> Sequence[RoomGatherings]:
    clock = SystemClock()
    board = WebAdapter(memory_tables(), clock).board
    return [RoomGatherings(board, PeopleDirectory(records), clock, RoomRules()) for _ in range(count)]


@pytest.mark.parametrize("count", [1, 3])
async def test_people_of_one_name_who_come_at_once_get_different_names(count: int) -> None:
    here, found = nodes(SlowRecords(), count), list[str]()

    async def come(number: int) -> None:
        found.append((await here[number % count].came(WebVisitor(IDS[number], "Ada"))).name)

    async with anyio.create_task_group() as tasks:
        for number in range(len(IDS)):
            tasks.start_soon(come, number)
    assert sorted(found) == ["Ada", "Ada 2", "Ada 3"]
    assert [one.name for one in await here[0].directory.all()] == ["Ada", "Ada 2", "Ada 3"]


async def test_a_name_that_somebody_gave_up_on_another_node_is_theirs_no_longer() -> None:
    one, other = nodes(MemoryRecords(), 2)
    assert (await one.came(WebVisitor("web:a", "Ada"))).name == "Ada"
    assert (await other.came(WebVisitor("web:a", "Bob"))).name == "Bob"
    assert (await other.came(WebVisitor("web:b", "Ada"))).name == "Ada"
    assert (await one.came(WebVisitor("web:a", "Ada"))).name == "Ada 2"


async def test_what_is_beside_the_people_in_the_directory_is_nobody() -> None:
    records = MemoryRecords()
    (here,) = nodes(records, 1)
    await here.came(WebVisitor("web:a", "Ada"))
    beside = [key for key in records.records if key != "web:a"]
    assert [await here.directory.name_of(key) for key in beside] == [None]
    assert await here.directory.all() == [WebVisitor("web:a", "Ada")]
