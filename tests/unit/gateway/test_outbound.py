"""What goes out to a platform, as the sessions see it."""

from __future__ import annotations

import anyio
import pytest

from adapters.edit_scheduler import EditScheduler
from adapters.marks import Marks
from adapters.presenter import Presenter
from gateway.origins import Origins
from gateway.outbound import Outbound
from runtime.core.address import Address
from runtime.core.texts import english
from tests.fakes.bucket_platform import TOTAL
from tests.fakes.clock import FakeClock
from tests.fakes.marked_platform import MarkedPlatform
from tests.fakes.records import MemoryRecords

pytestmark = pytest.mark.anyio

ROOM, OTHER = Address("fake", "42"), Address("fake", "43")


async def test_where_the_mark_on_a_waiting_message_is_refused_a_sentence_acknowledges_it() -> None:
    clock = FakeClock()
    platform = MarkedPlatform(clock)
    platform.markless.add("42")
    async with anyio.create_task_group() as tasks:
        scheduler = EditScheduler(TOTAL, clock, tasks)
        presenters, marks = {"fake": Presenter(platform, scheduler, clock)}, {"fake": Marks(platform, scheduler, tasks)}
        outbound = Outbound(presenters, {}, marks, english(), tasks, Origins(MemoryRecords(), MemoryRecords()))
        assert outbound.mark(OTHER, "m", "queued")
        await clock.advance(2)
        assert (platform.marks, platform.messages) == ({"m": "queued"}, {})
        assert outbound.mark(ROOM, "m", "queued")
        await clock.advance(2)
        assert list(platform.messages.values()) == ["I am working on something; your message comes next."]
        assert not outbound.mark(ROOM, "n", "queued")
        assert not outbound.mark(Address("elsewhere", "1"), "m", "queued")
        tasks.cancel_scope.cancel()
