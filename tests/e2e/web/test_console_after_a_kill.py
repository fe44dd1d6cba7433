"""A gateway is killed in the middle of a payment, as `make chaos` does it; what came of it is found in the console."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.meetings.test_remote_agents import PROGRAM, ended, room_of, shop
from tests.e2e.web.test_console import opened, with_console
from tests.fakes.protocols.mcp_server import Ledger

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

CAUGHT = """\
        try:
            await Say("user", await call)
        except OutcomeUnknown:
            await Say("user", "I do not know whether it was paid.")
"""
UNCAUGHT = """\
        await Say("user", await call)
"""


async def test_what_a_kill_has_broken_is_found_from_now_to_the_moment_by_clicking_alone(
    tmp_path: Path, browser: Browser
) -> None:
    ledger, program = Ledger(tmp_path / "ledger"), shop(tmp_path)
    assert CAUGHT in PROGRAM
    program.write_text(program.read_text().replace(CAUGHT, UNCAUGHT))
    async with with_console(tmp_path, program, PARLEY_LOGS__LEVEL="debug") as running:
        async with AsyncExitStack() as stack:
            room = await room_of(running, stack)
            await room.say("hi")
            await room.until("Open.")
            await room.say("pay")
            await running.prints("remote.progressed")
        server = ledger.pid
        running.kill()
        await running.gone()
        await ended(server)
        await running.start()

        page = await opened(browser, running)
        await expect(page.get_by_role("heading", name="Now")).to_be_visible()
        await page.get_by_role("link", name="to decide").click()
        await page.get_by_role("link", name="1: Outcome unknown").click()
        await expect(page.get_by_role("heading", name="web:lobby")).to_be_visible()
        failed = page.locator(".causes .bad").first
        await expect(failed).to_contain_text("Bank.pay was started before a restart, and its outcome is unknown")
        await expect(page.locator(".strip .mark.trouble").first).to_be_visible()
        before = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="Go here"))
        await before.filter(has_text="pay").get_by_role("button").click()
        await expect(page.locator(".moment-line")).to_contain_text("after entry ")
        await expect(page.locator(".chat [aria-current]")).to_contain_text("pay")

        await page.get_by_role("link", name="Programs").click()
        await page.get_by_text("How it does").click()
        await expect(page.get_by_role("row", name="Outcome unknown")).to_contain_text("the moment")
        await page.get_by_role("link", name="Tools", exact=True).click()
        await expect(page.get_by_text("Connected")).to_be_visible()
