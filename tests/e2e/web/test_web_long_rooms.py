"""A room with a long history on the page: nodes, the reading position, links, keys, and what a screen reader hears."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from runtime.core.address import Address, Speaker
from runtime.core.room import RoomChange, RoomPost
from tests.e2e.browsing import LIMIT_MS
from tests.fakes.pages.room_store import RoomStoreThatFails
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")
LENGTH = 400


async def long_room() -> RoomStoreThatFails:
    """Messages `m0` to `m399`, of one to five lines."""
    store = RoomStoreThatFails()
    began = datetime.now(UTC) - timedelta(hours=1)
    for number in range(LENGTH):
        text = "\n\n".join([f"number {number}", *["and more"] * (number % 5)])
        at = began + timedelta(seconds=number)
        await store.put("lobby", RoomPost(f"m{number}", "1000", "Guide", "agent", text, at))
    return store


async def entered(browser: Browser, chat: WebChat, place: str = "") -> Page:
    page = await (await browser.new_context()).new_page()
    page.set_default_timeout(LIMIT_MS)
    await page.goto(f"{chat.url}{place}")
    await page.get_by_label("Your name").fill("Ada")
    await page.get_by_role("button", name="Start chatting").click()
    await expect(page.locator("#presence")).to_contain_text("here")
    return page


def said(page: Page, number: int) -> Locator:
    return page.locator(f'[data-id="m{number}"]')


async def top_of(message: Locator) -> float:
    top: float = await message.evaluate("message => message.getBoundingClientRect().top")
    return top


async def test_a_long_history_has_few_nodes_and_its_links_and_keys_reach_every_message(browser: Browser) -> None:
    async with web_chat(await long_room()) as chat:
        page = await entered(browser, chat, "/#lobby//m20")
        await expect(said(page, 20)).to_be_in_viewport()
        await expect(said(page, 20).locator(".row")).to_be_focused()
        await expect(said(page, 20)).to_have_attribute("aria-posinset", "21")
        assert await page.locator("#room-timeline .message").count() < 80
        for _ in range(3):
            await page.keyboard.press("ArrowUp")
        await expect(said(page, 17).locator(".row")).to_be_focused()
        await page.keyboard.press("End")
        await expect(said(page, 399).locator(".row")).to_be_focused()
        await expect(said(page, 399)).to_be_in_viewport()
        await page.keyboard.press("Home")
        await expect(page.locator("#room-timeline .message").first).to_have_attribute("aria-posinset", "1")
        await expect(page.locator(".row:focus")).to_be_in_viewport()
        assert await page.locator("#room-timeline .message").count() < 80
        assert await page.locator('#room-timeline .row[tabindex="0"]').count() == 1
        await page.keyboard.press("Control+f")
        await expect(page.locator("#toast")).to_contain_text("Ctrl Shift F searches the whole room")


async def test_what_is_read_stays_where_it_is_while_messages_above_and_below_change(browser: Browser) -> None:
    async with web_chat(await long_room()) as chat:
        page = await entered(browser, chat, "/#lobby//m300")
        await expect(said(page, 300).locator(".row")).to_be_focused()
        before = await top_of(said(page, 300))
        nearly = "\n\n".join(["longer"] * 30)
        await chat.store.amend("lobby", "m290", RoomChange(text=nearly))
        await chat.adapter.react(LOBBY, "m290", "seen")
        await expect(said(page, 290)).to_contain_text("longer")
        await chat.adapter.send(LOBBY, "news", speaker=GUIDE, nonce="news", final=False)
        for words in ("news at", "news at\n\n- eleven", "news at\n\n- eleven\n- twelve"):
            await chat.adapter.edit(LOBBY, "news", words, speaker=GUIDE, nonce="news", final=words.endswith("twelve"))
        heard = page.locator('#room-timeline [role="log"]')
        await expect(heard).to_have_text("Guide: news at eleven twelve")
        await page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert abs(await top_of(said(page, 300)) - before) < 2
        await page.get_by_role("button", name="1 new message").click()
        await expect(page.locator('[data-id="news"]')).to_be_in_viewport()
