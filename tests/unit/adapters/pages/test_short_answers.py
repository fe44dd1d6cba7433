"""An answer of little more than a second is seen growing, as far as its bucket has tokens."""

import anyio
import pytest

from adapters.capabilities import Capabilities
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pacing.lanes import FloodMemory
from adapters.pages.presenter import PagePresenter
from runtime.core.page import PageSpec
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.platforms.bucket_platform import TOTAL
from tests.fakes.platforms.rich_platform import DRAFTS, RichPlatform, rich_capabilities
from tests.unit.adapters.pages.presenting import HOST, ROOM, Journal

EDITS, PREVIEWS = rich_capabilities(), rich_capabilities(preview=DRAFTS)


class Desk:
    """One process after another on one platform, which counts on."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.clock = FakeClock()
        self.platform = RichPlatform(self.clock, capabilities)
        self._records = MemoryRecords()
        self._pages = 0

    async def answer(self, lasts_s: float, *, killed_after_s: float = 2.0) -> int:
        """A process starts, says something for so long and is killed then: how many states of it people saw."""
        memory = FloodMemory(self._records, self.clock)
        await memory.open()
        before = len(self.platform.landings) + len(self.platform.drafts)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(memory.run)
            scheduler = EditScheduler(TOTAL, self.clock, tasks, memory=memory)
            presenter = PagePresenter(self.platform, scheduler, self.clock, tasks=tasks)
            self._pages += 1
            page, text = presenter.page(PageSpec(str(self._pages), ROOM, HOST), Journal()), ""
            for _ in range(round(lasts_s / 0.025)):
                text += "word "
                page.update(text)
                await self.clock.advance(0.025)
            tasks.start_soon(page.finish, text)
            await self.clock.advance(killed_after_s)
            tasks.cancel_scope.cancel()
        assert self.platform.floods == 0
        return len(self.platform.landings) + len(self.platform.drafts) - before


@pytest.mark.parametrize("capabilities", [EDITS, PREVIEWS], ids=["edits", "drafts"])
@pytest.mark.parametrize("lasts_s", [1.2, 1.5])
async def test_between_its_beginning_and_its_end_it_is_seen_at_least_once(
    capabilities: Capabilities, lasts_s: float
) -> None:
    desk = Desk(capabilities)
    assert await desk.answer(lasts_s) >= 3
    await desk.clock.advance(5)
    assert await desk.answer(lasts_s) >= 3


@pytest.mark.parametrize("capabilities", [EDITS, PREVIEWS], ids=["edits", "drafts"])
async def test_right_after_a_restart_the_bucket_pays_for_its_beginning_and_its_end(capabilities: Capabilities) -> None:
    desk = Desk(capabilities)
    await desk.answer(8, killed_after_s=0.2)
    assert await desk.answer(1.2) == 2
