"""Finding one's way in the chat page: links to messages, the line above what is new, search, pictures, logging out."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime

import anyio
import pytest
from playwright.async_api import Browser, expect

from adapters.adapter import FileData
from runtime.core.address import Address, Speaker
from runtime.core.room import RoomPost
from tests.e2e.browsing import entered
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def told(chat: WebChat, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        await chat.adapter.send(LOBBY, f"This is number {number}.", speaker=GUIDE, nonce=f"n{number}", final=True)


async def test_a_link_to_a_message_leads_to_it_also_when_it_is_far_up(browser: Browser) -> None:
    async with web_chat() as chat:
        await told(chat, 200)
        page = await entered(browser, chat.url, "Ada")
        link = page.locator('[data-id="n199"] .time-link')
        assert await link.get_attribute("href") == "#lobby//n199"
        await page.goto(f"{chat.url}/#lobby//n3")
        await page.reload()
        await expect(page.locator('[data-id="n3"] .row')).to_be_in_viewport()
        await expect(page.locator('[data-id="n3"] .row')).to_be_focused()
        await page.goto(f"{chat.url}/#lobby//nowhere")
        await expect(page.locator("#toast")).to_contain_text("no longer here")


async def test_an_address_that_cannot_be_decoded_leads_to_the_room_all_the_same(browser: Browser) -> None:
    async with web_chat() as chat:
        await told(chat, 1)
        page = await entered(browser, chat.url, "Ada")
        await page.goto(f"{chat.url}/#lobby//100%")
        await page.reload()
        await expect(page.locator('[data-id="n0"]')).to_be_visible()
        await expect(page.locator("#toast")).to_contain_text("no longer here")


async def test_a_search_forgives_a_slip_where_nothing_has_the_words(browser: Browser) -> None:
    async with web_chat() as chat:
        for number, text in enumerate(("Good morning.", "A croissant for 2 €, or an apple pie?", "Croissants!")):
            await chat.adapter.send(LOBBY, text, speaker=GUIDE, nonce=f"n{number}", final=True)
        page = await entered(browser, chat.url, "Ada")
        await page.get_by_role("button", name="Search").click()
        await page.get_by_label("Words to find").fill("croisant")
        await expect(page.locator("#search-state")).to_have_text("Nothing has these words. With croissant: 1 message.")
        await expect(page.locator("#search-list mark")).to_have_text("croissant")
        await page.get_by_label("Words to find").fill("croissant")
        await expect(page.locator("#search-state")).to_have_text("2 messages")
        for number in range(51):
            await chat.adapter.send(LOBBY, "A baguette", speaker=GUIDE, nonce=f"b{number}", final=True)
        await page.get_by_label("Words to find").fill("bagette")
        await expect(page.locator("#search-state")).to_have_text("With baguette: The newest 50; there are more.")


async def test_a_damaged_picture_is_shown_as_a_file(browser: Browser) -> None:
    async with web_chat() as chat:
        damaged = FileData("bad.png", "image/png", DOT[:40])
        await chat.adapter.upload(LOBBY, damaged, "Look", speaker=GUIDE, nonce="n1")
        page = await entered(browser, chat.url, "Ada")
        await expect(page.locator(".file")).to_have_text(re.compile(r"bad\.png.*damaged"))
        await expect(page.locator(".picture, .file img")).to_have_count(0)


async def test_an_answer_does_not_repeat_the_question_that_was_pressed_and_times_fit_into_the_margin(
    browser: Browser,
) -> None:
    async with web_chat() as chat:
        bought = RoomPost("p", "web:bob", "Bob", "person", "✓ Milk", datetime(2026, 1, 1, tzinfo=UTC))
        await chat.adapter.board.post("lobby", bought)
        for number, text in enumerate(("Which? \n\n✓ Pie, by Ada", "Hm", "Well")):
            await chat.adapter.send(LOBBY, text, speaker=GUIDE, nonce=f"n{number}", final=True)
        await chat.adapter.send(LOBBY, "Here.", speaker=GUIDE, nonce="a", final=True, reply_to="n0")
        await chat.adapter.send(LOBBY, "As I said.", speaker=GUIDE, nonce="b", final=True, reply_to="n1")
        await chat.adapter.send(LOBBY, "Thanks.", speaker=GUIDE, nonce="c", final=True, reply_to="p")
        page = await entered(browser, chat.url, "Ada")
        await expect(page.locator(".message")).to_have_count(7)
        await expect(page.locator(".quoted")).to_have_text(["Guide Hm", "Bob ✓ Milk"])
        last = page.locator(".message").last
        await last.hover()
        time, said = [await last.locator(part).bounding_box() for part in (".side-time", ".said")]
        assert time is not None
        assert said is not None
        assert time["x"] + time["width"] < said["x"]


async def test_a_room_that_comes_slowly_says_that_it_loads(browser: Browser) -> None:
    async with web_chat() as chat:
        await told(chat, 1)
        page = await entered(browser, chat.url, "Ada")
        ways: list[str] = []
        await page.route_web_socket("**/ws", lambda socket: socket.connect_to_server() and None if ways else None)
        await page.reload()
        shown = "() => getComputedStyle(document.querySelector('#room-timeline .inner'), '::after').content"
        assert await page.evaluate(shown) == '"Loading…"'
        ways.append("open")
        await page.reload()
        await expect(page.locator(".message")).to_have_count(1)
        assert await page.evaluate(shown) == "none"


async def test_a_link_to_a_reply_opens_its_thread(browser: Browser) -> None:
    async with web_chat() as chat:
        await told(chat, 80)
        thread = Address("web", "lobby", "n2")
        await chat.adapter.send(thread, "Below number 2.", speaker=GUIDE, nonce="r1", final=True)
        page = await entered(browser, chat.url, "Ada")
        await page.goto(f"{chat.url}/#lobby/n2/r1")
        await expect(page.locator('#thread-timeline [data-id="r1"] .row')).to_be_focused()


async def test_a_line_stands_above_what_came_while_the_person_was_away(browser: Browser) -> None:
    async with web_chat() as chat:
        await told(chat, 3)
        page = await entered(browser, chat.url, "Ada")
        await expect(page.locator('[data-id="n2"]')).to_be_visible()
        await expect(page.locator(".new-line:visible")).to_have_count(0)
        await page.goto("about:blank")
        await told(chat, 2, start=3)
        await page.goto(chat.url)
        await expect(page.locator('[data-id="n3"] .new-line')).to_have_text("New")
        await expect(page.locator(".new-line:visible")).to_have_count(1)


async def test_a_message_is_found_by_its_words_and_shown_in_its_place(browser: Browser) -> None:
    async with web_chat() as chat:
        await chat.adapter.send(LOBBY, "The <b>key</b> is under the mat.", speaker=GUIDE, nonce="k1", final=True)
        await told(chat, 150)
        page = await entered(browser, chat.url, "Ada")
        await page.keyboard.press("Control+Shift+f")
        await page.get_by_label("Words to find").fill("MAT key")
        found = page.locator("#search-list button")
        await expect(found).to_have_count(1)
        await expect(page.locator("#search-list mark")).to_have_text("mat")
        await expect(page.locator("#search-state")).to_have_text("1 message")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(page.locator('[data-id="k1"] .row')).to_be_focused()
        await page.get_by_role("button", name="Search this room").click()
        await page.get_by_label("Words to find").fill("nothing of the kind")
        await expect(page.locator("#search-state")).to_have_text("Nothing found.")
        await chat.adapter.send(
            Address("web", "kitchen"), "Nothing of the kind.", speaker=GUIDE, nonce="k2", final=True
        )
        await page.get_by_role("button", name="Search all rooms").click()
        await expect(page.get_by_label("In all rooms")).to_be_checked()
        await expect(page.get_by_role("button", name="Search all rooms")).to_be_hidden()
        await expect(found).to_contain_text("in kitchen")
        await found.click()
        await expect(page.locator("#room-name")).to_have_text("kitchen")
        await expect(page.locator('[data-id="k2"] .row')).to_be_focused()


async def test_a_room_is_saved_whole_as_markdown_and_as_json(browser: Browser) -> None:
    async with web_chat() as chat:
        await told(chat, 150)
        page = await entered(browser, chat.url, "Ada")
        for form in ("Markdown", "JSON"):
            await page.get_by_role("button", name="People and room").click()
            async with page.expect_download() as saving:
                await page.get_by_role("button", name=f"Save as {form}").click()
            saved = await saving.value
            text = await anyio.Path(await saved.path()).read_text()
            if form == "JSON":
                assert [each["text"] for each in json.loads(text)["messages"]][::149] == [
                    "This is number 0.",
                    "This is number 149.",
                ]
            else:
                assert saved.suggested_filename == "lobby.md"
                assert text.count("**Guide**") == text.count("This is number") == 150
        await page.get_by_role("button", name="Write to somebody").click()
        await page.get_by_label("Name of a private room").fill("Secret plans")
        await page.keyboard.press("Enter")
        await expect(page.locator("#room-name")).to_have_text("Secret plans")
        await page.get_by_role("button", name="People and room").click()
        async with page.expect_download() as saving:
            await page.get_by_role("button", name="Save as Markdown").click()
        assert (await saving.value).suggested_filename == "Secret plans.md"


async def test_the_theme_is_the_system_s_until_somebody_chooses_one_which_stays(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await entered(browser, chat.url, "Ada")
        background = "getComputedStyle(document.body).backgroundColor"
        light = await page.evaluate(background)
        await page.emulate_media(color_scheme="dark")
        dark = await page.evaluate(background)
        assert light != dark
        await page.locator("#me").click()
        await page.get_by_label("Light").check()
        assert await page.evaluate(background) == light
        await page.reload()
        await expect(page.locator("#me")).to_contain_text("Ada")
        assert await page.evaluate(background) == light
        await page.locator("#me").click()
        await page.get_by_label("System").check()
        assert await page.evaluate(background) == dark


async def test_a_picture_is_shown_large_and_arrows_lead_to_the_others(browser: Browser) -> None:
    async with web_chat() as chat:
        for name in ("one.png", "two.png"):
            file = FileData(name, "image/png", DOT, alt=f"Picture {name}")
            await chat.adapter.upload(LOBBY, file, "", speaker=GUIDE, nonce=name)
        page = await entered(browser, chat.url, "Ada")
        await page.locator("a.picture").first.click()
        viewer = page.locator("#picture")
        await expect(viewer.get_by_role("img", name="Picture one.png")).to_be_visible()
        await expect(viewer).to_contain_text("1 of 2")
        await page.keyboard.press("ArrowRight")
        await expect(viewer.get_by_role("img", name="Picture two.png")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator("a.picture").last).to_be_focused()


async def test_who_logs_out_is_asked_for_a_name_again(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await entered(browser, chat.url, "Ada")
        await page.get_by_role("textbox", name="Message #lobby").fill("a draft for nobody else")
        kept = "Object.entries(localStorage).join().includes('a draft for nobody else')"
        await page.wait_for_function(kept)
        await page.locator("#me").click()
        await page.get_by_role("button", name="Log out", exact=True).click()
        await expect(page.get_by_role("heading", name="Welcome to Parley")).to_be_visible()
        await expect(page.get_by_role("button", name="Log out", exact=True)).to_be_hidden()
        assert not await page.evaluate(kept)
