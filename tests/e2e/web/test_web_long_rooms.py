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


async def test_the_end_stays_in_sight_while_the_box_below_grows_and_the_open_room_has_no_number(
    browser: Browser,
) -> None:
    async with web_chat(await long_room()) as chat:
        page = await entered(browser, chat)
        await expect(said(page, 399)).to_be_in_viewport()
        box = page.get_by_role("textbox", name="Message #lobby")
        for text in ("line\n" * 60, "", "line\n" * 40):
            await box.fill(text)
            await page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            await expect(said(page, 399)).to_be_in_viewport(ratio=1)
            await expect(page.locator("#room-timeline .pill")).to_be_hidden()
        await page.keyboard.press("Escape")
        await page.mouse.move(600, 200)
        await page.mouse.wheel(0, -3000)
        await expect(page.locator("#room-timeline .pill")).to_be_visible()
        await chat.adapter.send(LOBBY, "late", speaker=GUIDE, nonce="late", final=True)
        await expect(page.get_by_role("button", name="1 new message")).to_be_visible()
        await expect(page.locator("#rooms .badge")).to_have_count(0)


async def test_what_a_person_says_at_length_is_folded_until_somebody_wants_more(browser: Browser) -> None:
    store = RoomStoreThatFails()
    long = "\n\n".join(f"line {number}" for number in range(200))
    await store.put("lobby", RoomPost("m0", "web:x", "Olga", "person", long, datetime.now(UTC)))
    await store.put("lobby", RoomPost("m1", "1000", "Guide", "agent", long, datetime.now(UTC)))
    async with web_chat(store) as chat:
        page = await entered(browser, chat, "/#lobby//m0")
        body, more = said(page, 0).locator(".body"), said(page, 0).get_by_role("button", name="Show more")
        assert await body.evaluate("body => body.clientHeight") < 1000
        await more.click()
        assert await body.evaluate("body => body.clientHeight") > 3000
        await said(page, 0).get_by_role("button", name="Show less").click()
        assert await body.evaluate("body => body.clientHeight") < 1000
        await expect(said(page, 1).get_by_role("button", name="Show more")).to_be_hidden()


async def test_the_day_is_named_anew_after_midnight(browser: Browser) -> None:
    store = RoomStoreThatFails()
    await store.put("lobby", RoomPost("m0", "1000", "Guide", "agent", "good night", datetime.now(UTC)))
    async with web_chat(store) as chat:
        page = await (await browser.new_context()).new_page()
        await page.clock.install()
        await page.goto(chat.url)
        await page.get_by_label("Your name").fill("Ada")
        await page.get_by_role("button", name="Start chatting").click()
        day = page.locator("#room-timeline .day")
        await expect(day).to_have_text("Today")
        await page.clock.fast_forward("24:00:00")
        await expect(day).to_have_text("Yesterday")
