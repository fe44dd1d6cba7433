"""People at their browsers."""

from __future__ import annotations

import shutil

from playwright.async_api import Browser, Locator, Page, expect

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first has no windows, and takes half of the processor time of the others."""

LIMIT_MS = 60_000
"""How long something that must become visible is waited for."""


def browser_path() -> str | None:
    """Where the system's Chromium is, if there is one."""
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


async def entered(browser: Browser, url: str, name: str, room: str = "lobby", *, bypass_csp: bool = False) -> Page:
    """A new browser profile in which somebody has chosen a name and gone to a room. With `bypass_csp` axe may run."""
    page = await (await browser.new_context(bypass_csp=bypass_csp)).new_page()
    page.set_default_timeout(LIMIT_MS)
    await page.goto(url)
    await page.get_by_label("Your name").fill(name)
    await page.get_by_role("button", name="Start chatting").click()
    await expect(page.locator("#presence")).to_contain_text("here")
    if room != "lobby":
        await page.keyboard.press("Control+k")
        await page.get_by_role("combobox").fill(room)
        await page.keyboard.press("Enter")
        await expect(page.locator("#room-name")).to_have_text(room)
    return page


async def say(page: Page, text: str) -> None:
    await page.locator("#room-composer textarea").fill(text)
    await page.locator("#room-composer textarea").press("Enter")


def by(page: Page, author: str) -> Locator:
    """The messages of an agent, whole."""
    return page.locator(".message.agent").filter(has=page.locator(".author", has_text=author))


def saying(page: Page, text: str) -> Locator:
    """The agents' messages with this text."""
    return page.locator(".message.agent .body", has_text=text)


async def watch(page: Page) -> None:
    """Keep every state of every growing message from now on: the browser sees them all, a test may come too late."""
    await page.evaluate(
        """() => {
            window.grown = [];
            const bodies = () => [...document.querySelectorAll(".message.agent.live .body")];
            const note = () => window.grown.push(...bodies().map((body) => body.innerText));
            new MutationObserver(note).observe(document.body, {subtree: true, childList: true, characterData: true});
        }"""
    )


async def grown(page: Page, beginning: str) -> list[str]:
    """The states of growing messages with this beginning."""
    states: list[str] = await page.evaluate("window.grown")
    return [state for state in states if state.startswith(beginning)]


async def appears(where: Locator) -> None:
    """Return when it can be seen, once."""
    await expect(where).to_have_count(1)
    await expect(where).to_be_visible()
