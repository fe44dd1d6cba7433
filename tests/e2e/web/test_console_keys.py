"""Every screen and dialog of the console, for keyboards, readers and narrow screens; and acts done by keys alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Locator, Page, Route, ViewportSize, expect

from tests.e2e.browsing import LIMIT_MS
from tests.e2e.gateway_process import Gateway
from tests.e2e.web.console_stand import PASSWORD, at_work

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240), pytest.mark.usefixtures("warm_servers")]

SCREENS = ("Now", "Sessions", "Work", "Decisions", "People", "Programs", "Models", "Tools")
WIDE, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=390, height=844)
DRAWN = {"runOnly": ["color-contrast", "scrollable-region-focusable", "target-size", "aria-required-children"]}
"""The rules of axe whose outcome depends on how a page is drawn."""
EVERYTHING: dict[str, Any] = {}

STOPS = """() => {
    const parts = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']");
    const seen = (one) => one.checkVisibility() && !one.closest("dialog:not([open])") && one.tabIndex >= 0;
    window.unvisited = new Set([...parts].filter(seen));
    document.querySelector("main").focus();
    document.addEventListener("focusin", ({target}) => window.unvisited.delete(target));
    return window.unvisited.size;
}"""
LEFT = "() => [...window.unvisited].filter((one) => one.isConnected).map((one) => one.outerHTML.slice(0, 120))"
DRAWN_ANEW = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
WIDTHS = "() => [...document.querySelectorAll('html, main')].map((one) => one.scrollWidth - one.clientWidth)"


async def faultless(page: Page, where: str, rules: dict[str, Any] = EVERYTHING) -> None:
    """Fail with what axe finds, and where something is wider than the screen."""
    found = await Axe().run(page, options={"resultTypes": ["violations"], **rules})
    faults = [(one["id"], one["nodes"][0]["html"][:200]) for one in found.response["violations"]]
    assert faults == [], where
    assert await page.evaluate(WIDTHS) == [0, 0], where


async def reached_by_tab(page: Page, where: str) -> None:
    """Fail unless Tab comes to all that can be used."""
    stops = await page.evaluate(STOPS)
    for number in range(4 * stops):  # to the end and around to what stands above; once more where all is drawn anew
        await page.keyboard.press("Tab")
        if number >= stops and not await page.evaluate(LEFT):
            break
    assert await page.evaluate(LEFT) == [], where


async def logged_in(browser: Browser, url: str) -> Page:
    """The console after a log-in by keys, in a window in which axe may run."""
    page = await (await browser.new_context(viewport=WIDE, bypass_csp=True)).new_page()
    page.set_default_timeout(LIMIT_MS)
    await page.goto(f"{url}/console")
    await expect(page.get_by_label("Your name")).to_be_focused()
    await faultless(page, "log-in")
    await page.keyboard.type("Olga")
    await page.keyboard.press("Tab")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Now")).to_be_visible()
    return page


async def every_way(page: Page, where: str) -> None:
    """One screen or dialog: wide in light colours, and narrow in dark ones, which are drawn in a way of their own."""
    await faultless(page, where)
    await page.set_viewport_size(PHONE)
    await page.emulate_media(color_scheme="dark")
    await page.evaluate(DRAWN_ANEW)
    await faultless(page, f"{where}, on a phone at night", DRAWN)
    await page.set_viewport_size(WIDE)
    await page.emulate_media(color_scheme="light")


async def shown(page: Page, screen: str) -> None:
    """Go to a screen with its key, and open what is folded there."""
    await page.locator("main").press(str(SCREENS.index(screen) + 1))  # in a field it would be a digit
    await expect(page.get_by_role("heading", level=1, name=screen)).to_be_visible()
    await expect(page.locator("main")).not_to_contain_text("Asking the gateway")
    for folded in await page.locator("main summary").all():
        await folded.press("Enter")


async def test_every_screen_is_there_for_keys_readers_phones_and_the_night(tmp_path: Path, browser: Browser) -> None:
    async with at_work(tmp_path) as running:
        page = await logged_in(browser, running.url)
        for screen in SCREENS:
            await shown(page, screen)
            await reached_by_tab(page, screen)
            await every_way(page, screen)
        await shown(page, "Sessions")
        row = page.get_by_role("option", name="web:lobby")
        await expect(row).to_be_visible()
        await page.keyboard.press("j")
        await expect(page.get_by_role("listbox")).to_be_focused()
        while await row.get_attribute("aria-selected") != "true":
            await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="At this moment")).to_be_visible()
        for folded in await page.locator("main summary").all():
            await folded.press("Enter")
        await expect(page.get_by_role("region", name="Entries").get_by_role("row").nth(1)).to_be_visible()
        await reached_by_tab(page, "a session")
        await every_way(page, "a session")
        await page.get_by_role("button", name="Delete").press("Enter")
        await expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
        await every_way(page, "a dialog")
        await page.keyboard.press("1")  # a key of the screens means nothing in a dialog
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Delete")).to_be_focused()

        await _act_by_keys(page, running)


async def _act_by_keys(page: Page, running: Gateway) -> None:
    """Do, with the keyboard alone, what no other test does by clicking."""
    told = page.locator(".told")

    async def act(button: Locator, outcome: str, *, sure: bool = False) -> None:
        await button.press("Enter")
        if sure:
            asked = page.locator("dialog[open]")
            await asked.get_by_role("button").first.press("Enter")
        await expect(told).to_contain_text(outcome)

    def button(name: str) -> Locator:
        return page.get_by_role("button", name=name, exact=True)

    await act(button("Fork"), "It is asked to fork.", sure=True)
    await shown(page, "Decisions")
    approval = page.get_by_role("row", name="A tool asks to be used")
    await act(approval.get_by_role("button").first, "Answered:")
    await expect(approval).to_have_count(0)
    await expect(page.get_by_role("region", name="Questions that wait")).to_be_focused()  # its button is gone
    await act(button("Let in as member Grace"), "Grace is in as member.")
    await act(button("Block Linus"), "Linus is blocked.", sure=True)
    await act(page.get_by_role("button", name="Process again").first, "It is processed again.")
    await act(page.get_by_role("button", name=re.compile("^Drop")).last, "It is deleted.", sure=True)
    await act(button("Try again from there report 1"), "The conversation tries again.", sure=True)
    await shown(page, "Work")
    await page.get_by_role("link", name="The boat").press("Enter")
    await act(button("End the meeting The boat"), "The meeting is to end.", sure=True)
    await shown(page, "People")
    await act(button("Remove role of Grace"), "The role is removed.", sure=True)
    await shown(page, "Programs")
    before = (await page.locator("h2 small").inner_text()).removeprefix("version ")
    program = running.data_dir / "works.pb"
    program.write_text(program.read_text().replace("I am at work.", "I am here."))
    await act(button("Reload all programs"), "All nodes read their programs again.")
    await act(button(f"Roll back to {before}"), "All nodes serve that version", sure=True)
    await expect(page.get_by_text("Olga rolled it back")).to_be_visible()
    await act(
        page.get_by_role("button", name=re.compile("^Serve the file again")), "All nodes serve that version", sure=True
    )
    await shown(page, "Models")
    await act(page.get_by_role("button", name="Test call").first, "No language model is set up")
    await page.route("**/bus/v1/status", _with_a_node_that_is_going)  # nodes are shown where there are several
    await shown(page, "Now")
    refused = "No other node could take over"
    await act(page.get_by_role("button", name=re.compile("^Drain")), refused, sure=True)


async def _with_a_node_that_is_going(route: Route) -> None:
    """Answer as while another node is alive and being emptied."""
    status = await (await route.fetch()).json()
    status["nodes"].append({"name": "another", "alive_for_s": 1.0, "shards": 0, "draining": True})
    await route.fulfill(json=status)
