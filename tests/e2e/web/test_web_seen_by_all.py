"""What axe finds on the chat page: at a desk by day and on a phone by night, with everything on it that there is."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from adapters.adapter import FileData
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.message import Choice
from tests.e2e.web.test_console_keys import every_way, faultless
from tests.e2e.web.test_web_page import PHONE, enter, listening, say
from tests.fakes.pages.web_chat import web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

LOBBY = Address("web", "lobby")
GUIDE, POET = Speaker("1000", "Guide"), Speaker("1001", "Poet")
EVERYTHING = """# A title

**Bold**, *italic*, ~~struck~~, `code`, [a link](https://example.org) and @Ada. $x^2 + y^2$

1. one
   - within

> quoted

| what | how many |
|---|--:|
| boats | 3 |

```python
async def name(boat: str) -> str:
    return f"{boat} 2"  # a comment
```
"""


async def _opened(page: Page, name: str, where: str) -> None:
    """Open what a button opens, look at it, and close it."""
    await page.get_by_role("button", name=name).first.click()
    await expect(page.locator("dialog[open]")).to_be_visible()
    await every_way(page, where)
    await page.keyboard.press("Escape")
    await expect(page.locator("dialog[open]")).to_have_count(0)


async def test_nothing_on_the_chat_page_keeps_anybody_out(browser: Browser) -> None:
    async with web_chat(agents=["Guide", "Poet"]) as chat, listening(chat):
        stranger = await (await browser.new_context(bypass_csp=True)).new_page()
        await stranger.goto(chat.url)
        await expect(stranger.get_by_label("Your name")).to_be_visible()
        await every_way(stranger, "the door")

        page = await enter(browser, chat, "Ada", bypass_csp=True)
        await every_way(page, "an empty room")
        send = chat.adapter.send
        await send(LOBBY, EVERYTHING, speaker=GUIDE, nonce="n1", final=True)
        await send(LOBBY, "Meeting started", speaker=GATEWAY, nonce="n2", final=True)
        await chat.adapter.upload(LOBBY, FileData("a.csv", "text/csv", b"a,b"), "Here.", speaker=POET, nonce="n3")
        await send(LOBBY, "Shall I?", speaker=POET, nonce="n4", final=True)
        await chat.adapter.offer(
            LOBBY, "n4", "Shall I?", (Choice("y", "Yes"), Choice("n", "No")), speaker=POET, nonce="n4"
        )
        await say(page, "a message of my own, boats included")
        await expect(page.locator(".message.person:not(.pending)")).to_have_count(1)
        await chat.adapter.react(LOBBY, "n4", "queued")
        await send(LOBBY, "It grows", speaker=GUIDE, nonce="n5", final=False)
        await expect(page.get_by_text("It grows")).to_be_visible()
        await page.locator(".message.agent .row").first.focus()
        await every_way(page, "a room with everything")
        await page.locator("#room-composer textarea").fill("/")
        await expect(page.get_by_role("option").first).to_be_visible()
        await faultless(page, "commands")
        await page.locator("#room-composer textarea").fill("")

        await _opened(page, "Account", "settings")
        await _opened(page, "People and room", "people")
        await _opened(page, "Write to somebody", "write to somebody")
        await page.get_by_role("button", name="Search this room").click()
        await page.get_by_label("Words to find").fill("boats")
        await expect(page.locator("#search-list mark").first).to_be_visible()
        await every_way(page, "what was found")
        await page.keyboard.press("Escape")
        await page.locator(".message.agent").first.hover()
        await page.get_by_role("button", name="Reply in thread").first.click()
        await expect(page.locator("#thread")).to_be_visible()
        await every_way(page, "a thread")

        phone = await enter(browser, chat, "Grace", bypass_csp=True, **PHONE)
        await phone.get_by_role("button", name="Actions").last.tap()
        await expect(phone.get_by_role("dialog").get_by_role("button", name="Copy the text")).to_be_visible()
        await every_way(phone, "the actions of a message")
