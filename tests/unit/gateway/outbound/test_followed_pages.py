"""Pages of clients' tasks are written down while they grow, not too often, and not after their end."""

from __future__ import annotations

import anyio
import pytest

from gateway.outbound.pages import GROWS_S, FollowedPage
from runtime.core.errors import LeaseLost
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.anyio


class Written:
    """A record that keeps what grew; `lost`: the session is another process's."""

    def __init__(self, *, lost: bool = False) -> None:
        self.texts: list[str] = []
        self._lost = lost

    async def opening(self, part: int, text: str, /) -> None:
        raise AssertionError("nothing is sent anywhere")

    async def grows(self, text: str, /) -> None:
        if self._lost:
            raise LeaseLost("gone")
        self.texts.append(text)

    async def sent(self, part: int, platform_id: str, /) -> None:
        raise AssertionError("nothing is sent anywhere")


async def test_the_newest_text_is_written_down_once_in_a_while() -> None:
    clock, record = FakeClock(), Written()
    async with anyio.create_task_group() as tasks:
        page = FollowedPage(record, clock, tasks)
        for text in ("a", "ab", "abc"):
            page.update(text)
        await clock.advance(GROWS_S)
        page.update("abcd")
        await clock.advance(GROWS_S / 2)
        assert record.texts == ["abc"]
        await clock.advance(GROWS_S)
        await clock.advance(GROWS_S)
        page.update("abcde")
        await clock.advance(GROWS_S)
        assert record.texts == ["abc", "abcd", "abcde"]
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("how", ["ends", "finish", "rest", "abandon"])
async def test_what_is_over_is_written_down_no_more(how: str) -> None:
    clock, record = FakeClock(), Written()
    async with anyio.create_task_group() as tasks:
        page = FollowedPage(record, clock, tasks)
        page.update("a")
        match how:
            case "ends":
                page.ends()
            case "finish":
                assert await page.finish("a whole")
            case "rest":
                await page.rest()
            case _:
                page.abandon()
        await clock.advance(GROWS_S)
        page.update("a w")
        await clock.advance(GROWS_S)
        assert record.texts == []


async def test_a_session_that_is_lost_meanwhile_harms_nobody_else() -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        page = FollowedPage(Written(lost=True), clock, tasks)
        page.update("a")
        await clock.advance(GROWS_S)
