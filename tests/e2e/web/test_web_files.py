"""Files on the chat page, in Chromium: chosen, pasted, dropped, sent, saved; and what is refused."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from playwright.async_api import Browser, FilePayload, Route, expect

from adapters.adapter import FileData
from runtime.core.address import Address, Speaker
from tests.e2e.web.test_web_page import enter, listening, say
from tests.fakes.pages.web_chat import web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")
CSV = FilePayload(name="sales.csv", mimeType="text/csv", buffer=b"a,b\n1,2\n")
TRANSFER = """([place, name, type]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["dropped"], name, {type}));
    const event = place === "paste"
        ? new ClipboardEvent("paste", {clipboardData: transfer, bubbles: true, cancelable: true})
        : new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true});
    document.querySelector(place === "paste" ? "#room-composer textarea" : "#room-timeline").dispatchEvent(event);
}"""


async def test_a_file_goes_in_and_comes_out_unchanged(browser: Browser, tmp_path: Path) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        ada, grace = await enter(browser, chat, "Ada"), await enter(browser, chat, "Grace")
        await ada.locator("#room-composer input[type=file]").set_input_files([CSV])
        await expect(ada.locator(".uploads li")).to_contain_text("sales.csv")
        await say(ada, "the numbers")
        await expect(ada.locator(".uploads li")).to_have_count(0)
        link = grace.locator(".message.person .file")
        await expect(link).to_contain_text("sales.csv")
        async with grace.expect_download() as saved:
            await link.click()
        download = await saved.value
        assert download.suggested_filename == "sales.csv"
        await download.save_as(tmp_path / "saved")
        assert (tmp_path / "saved").read_bytes() == CSV["buffer"]
        (inbound,) = heard
        (attachment,) = inbound.attachments
        assert (inbound.text, attachment.name, attachment.media_type) == ("the numbers", "sales.csv", "text/csv")
        assert await chat.adapter.download(attachment.url, max_bytes=100) == CSV["buffer"]


async def test_a_picture_is_shown_before_it_is_sent_and_what_is_no_picture_keeps_its_icon(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await enter(browser, chat, "Ada")
        picture = FilePayload(name="red.png", mimeType="image/png", buffer=(await page.screenshot()))
        broken = FilePayload(name="cut.png", mimeType="image/png", buffer=b"no picture")
        await page.locator("#room-composer input[type=file]").set_input_files([picture, broken, CSV])
        rows = page.locator(".uploads li")
        await expect(rows).to_have_count(3)
        await expect(rows.nth(0).locator("canvas")).to_be_visible()
        await expect(rows.nth(0).locator("svg:not(button svg)")).to_have_count(0)
        for other in (rows.nth(1), rows.nth(2)):
            await expect(other.locator("svg:not(button svg)")).to_have_count(1)
            await expect(other.locator("canvas")).to_have_count(0)


async def test_what_is_sent_while_a_file_is_on_its_way_goes_with_it(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        arrives = anyio.Event()

        async def held(route: Route) -> None:
            await arrives.wait()
            await route.continue_()

        await page.route("**/files", held)
        await page.locator("#room-composer input[type=file]").set_input_files([CSV])
        await say(page, "the numbers")
        await expect(page.locator(".message.person")).to_have_count(0)
        arrives.set()
        await expect(page.locator(".message.person .file")).to_contain_text("sales.csv")
        await expect(page.locator(".sending")).to_have_count(0)
        assert [(each.text, each.attachments[0].name) for each in heard] == [("the numbers", "sales.csv")]


async def test_a_file_that_fails_holds_back_what_was_to_go_with_it(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        arrives = anyio.Event()

        async def lost(route: Route) -> None:
            await arrives.wait()
            await route.abort()

        await page.route("**/files", lost)
        await page.locator("#room-composer input[type=file]").set_input_files([CSV])
        await say(page, "the numbers")
        arrives.set()
        await expect(page.get_by_role("alert").filter(has_text="sales.csv could not be uploaded")).to_be_visible()
        await expect(page.locator("#room-composer textarea")).to_have_value("the numbers")
        assert heard == []


async def test_a_file_that_is_attached_offline_waits_as_its_text_does(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        await page.context.set_offline(True)
        await expect(page.locator("#connection")).to_contain_text("You are offline")
        await page.locator("#room-composer input[type=file]").set_input_files([CSV])
        await expect(page.locator(".uploads li")).to_contain_text("Try again")
        await expect(page.get_by_role("alert").filter(has_text="It waits until the connection is back")).to_be_visible()
        await say(page, "the numbers")
        await expect(page.get_by_role("alert").filter(has_text="Not sent yet: a file waits")).to_be_visible()
        assert heard == []
        await page.context.set_offline(False)
        await expect(page.locator(".message.person .file")).to_contain_text("sales.csv")
        await expect(page.locator(".sending")).to_have_count(0)
        assert [(each.text, each.attachments[0].name) for each in heard] == [("the numbers", "sales.csv")]
        await expect(page.get_by_role("alert").filter(has_text="Not sent yet")).to_have_count(0)


@pytest.mark.parametrize("place", ["paste", "drop"])
async def test_files_are_pasted_and_dropped_and_go_without_words(browser: Browser, place: str) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        await page.evaluate(TRANSFER, [place, "note.txt", "text/plain"])
        await expect(page.locator(".uploads li")).to_contain_text("note.txt")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator(".message.person .file")).to_contain_text("note.txt")
        await expect(page.locator(".sending")).to_have_count(0)
        assert [(each.text, each.attachments[0].name) for each in heard] == [("", "note.txt")]


async def test_a_file_can_be_left_out_again(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        await page.locator("#room-composer input[type=file]").set_input_files([CSV])
        await page.get_by_role("button", name="Remove sales.csv").click()
        await say(page, "without")
        await expect(page.locator(".sending")).to_have_count(0)
        assert [each.attachments for each in heard] == [()]


async def test_an_agents_file_is_saved_under_a_harmless_name(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await enter(browser, chat, "Ada")
        evil = FileData("../../<b>a</b>.html", "text/html", b"<script>alert(1)</script>")
        await chat.adapter.upload(LOBBY, evil, "Your page", speaker=GUIDE, nonce="n1")
        message = page.locator(".message.agent")
        await expect(message.locator(".body")).to_have_text("Your page")
        async with page.expect_download() as saved:
            await message.locator(".file").click()
        name = (await saved.value).suggested_filename
        assert "/" not in name
        assert "<" not in name
        assert page.url.startswith(f"{chat.url}/")


async def test_pictures_are_shown_but_drawings_with_scripts_are_not(browser: Browser) -> None:
    png = bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cfc0f01f0005000"
        "1ff89993d1d0000000049454e44ae426082"
    )
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" onload="parent.hurt=1"/>'
    async with web_chat() as chat:
        page = await enter(browser, chat, "Ada")
        await chat.adapter.upload(LOBBY, FileData("dot.png", "image/png", png), "", speaker=GUIDE, nonce="n1")
        await chat.adapter.upload(LOBBY, FileData("dot.svg", "image/svg+xml", svg), "", speaker=GUIDE, nonce="n2")
        picture = page.get_by_role("img", name="dot.png")
        await expect(picture).to_be_visible()
        assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
        await expect(page.locator(".file")).to_contain_text("dot.svg")
        await expect(page.locator(".picture")).to_have_count(1)


async def test_what_is_too_large_is_said_before_it_is_sent(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada")
        await page.evaluate(
            """() => {
                const transfer = new DataTransfer();
                transfer.items.add(new File([new Uint8Array(21 * 1024 * 1024)], "film.mp4", {type: "video/mp4"}));
                const drop = new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true});
                document.querySelector("#room-timeline").dispatchEvent(drop);
            }"""
        )
        await expect(
            page.get_by_role("alert").filter(has_text="film.mp4 is larger than the limit of 20 MiB.")
        ).to_be_visible()
        await expect(page.locator(".uploads li")).to_have_count(0)
