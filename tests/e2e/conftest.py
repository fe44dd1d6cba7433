"""A real browser for the tests that need one."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from playwright.async_api import Browser, async_playwright, expect

from tests.e2e.browsing import LIMIT_MS, browser_path

QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-smooth-scrolling",
    "--disable-sync",
    "--no-first-run",
)

expect.set_options(timeout=LIMIT_MS)


@pytest.fixture(autouse=True)
def _warm(warm_starts: None) -> None:
    """Gateways of these tests do not load their modules each."""


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Where the system's Chromium is."""
    if path := browser_path():
        return path
    pytest.fail("The browser tests need Chromium. On Debian and Ubuntu: sudo apt-get install chromium", pytrace=False)


@pytest.fixture(scope="module")
async def chromium(chromium_path: str) -> AsyncGenerator[Browser]:
    """A headless Chromium that calls nobody but the tests."""
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=chromium_path, args=list(QUIET), timeout=LIMIT_MS)
        yield launched
        await launched.close()


@pytest.fixture
async def browser(chromium: Browser) -> AsyncGenerator[Browser]:
    """A browser without profiles."""
    yield chromium
    for profile in chromium.contexts:
        await profile.close()
