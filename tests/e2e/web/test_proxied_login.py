"""The web chat behind a proxy that logs people in, with the settings of docs/chats/web-chat.md."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.browsing import LIMIT_MS, say, saying
from tests.e2e.gateway_process import gateway, parley
from tests.fakes.servers.naming_proxy import naming_proxy

pytestmark = pytest.mark.anyio

HEADER = "X-Forwarded-Email"
BEHIND = {
    "PARLEY_WEB__LOGIN": "proxy",
    "PARLEY_WEB__TRUSTED_HEADER": HEADER,
    "PARLEY_WEB__TRUSTED_PROXIES": "127.0.0.1",
}


async def come(browser: Browser, port: int) -> Page:
    """A browser that claims to be somebody else."""
    page = await (await browser.new_context(extra_http_headers={HEADER: "root@example.org"})).new_page()
    page.set_default_timeout(LIMIT_MS)
    await page.goto(f"http://127.0.0.1:{port}")
    return page


async def test_a_person_is_whom_the_proxy_names(tmp_path: Path, browser: Browser) -> None:
    async with gateway(tmp_path, None, BEHIND) as running:
        port = urlsplit(running.url).port
        assert port is not None
        async with naming_proxy(port, HEADER, "ada@example.org") as door:
            page = await come(browser, door)
            await expect(page.locator("#me .name")).to_have_text("ada")  # nobody is asked for a name
            await say(page, "approve")
            await expect(saying(page, "I am the")).to_be_visible()  # over the WebSocket, which the proxy passes on
            await expect(page.locator(".message.person .author").first).to_have_text("ada")
            person = await page.evaluate("fetch('/session').then((it) => it.json()).then((it) => it.person.id)")
            code, _, said = await parley(tmp_path, "access", "block", person)
            assert code == 0, said
            await expect(page.locator("#room-timeline")).to_be_hidden()

        straight = await (await browser.new_context()).new_page()  # nobody has named who comes here
        await straight.goto(running.url)
        await expect(straight.get_by_role("dialog").last).to_be_visible()
        await expect(straight.locator("#room-timeline")).to_be_hidden()
