"""The pictures of the documentation, taken from the pages as they are: `python -m tests.e2e.pictures docs/images`.

A gateway with the program of docs/getting-started.md and a model of the tests is talked with in a few rooms, and one
call of the model fails. What a busy day would look like is put into the console's first screen. The chat's picture has
a talk that is shown without a program. The film is tests/e2e/film.py.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from msgspec.structs import replace
from playwright.async_api import Browser, FilePayload, Page, Route, ViewportSize, async_playwright, expect

from adapters.adapter import FileData
from runtime.core.address import Address, Speaker
from runtime.core.message import Choice
from tests.e2e.browsing import entered, say, saying
from tests.e2e.example_models import script
from tests.e2e.gateway_process import Gateway, gateway
from tests.e2e.operation.test_getting_started import MODEL, programs
from tests.e2e.web.test_web_page import listening
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.pages.web_chat import web_chat

LOBBY = Address("web", "lobby")
GUIDE, ACCOUNTANT = Speaker("1000", "Guide"), Speaker("1001", "TaxAccountant")
TABLE = """Revenue grew by **29 %**, most of it in the north:

| Region | Q1 | Q2 | Change |
|---|--:|--:|--:|
| North | 6,200 | 9,400 | **+52 %** |
| South | 6,550 | 6,900 | +5 % |
"""
BUSY = (9, 6, 4, 3, 3, 5, 11, 24, 42, 61, 70, 74, 66, 63, 72, 69, 58, 49, 44, 52, 57, 46, 30, 17)
"""The messages of each hour of a day."""


class _Pictures:
    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self._folder = folder

    async def take(self, page: Page, name: str, height: int) -> None:
        """A picture of a page as it is, this high."""
        await page.mouse.move(2, height // 2)
        await page.set_viewport_size(ViewportSize(width=1280, height=height))
        await anyio.sleep(0.7)
        await page.screenshot(path=self._folder / f"{name}.png", animations="disabled", caret="hide")


async def _chat(pictures: _Pictures) -> None:
    async with web_chat(agents=["Guide", "TaxAccountant"]) as chat, listening(chat):
        page = await entered(pictures.browser, chat.url, "Ada Lovelace")
        grace = await entered(pictures.browser, chat.url, "Grace Hopper")
        sales = FilePayload(name="sales.csv", mimeType="text/csv", buffer=b"region,q1,q2\n" * 900)
        await page.locator("#room-composer input[type=file]").set_input_files(sales)
        await expect(page.locator("#room-composer").get_by_text("sales.csv")).to_be_visible()
        await say(page, "Here are the sales of this half-year. How did the regions do?")
        await expect(page.locator(".message.person:not(.pending)")).to_have_count(1)
        adapter = chat.adapter
        await adapter.send(LOBBY, TABLE, speaker=GUIDE, nonce="n1", final=True)
        await say(grace, "Can you put that on one page for the board, @TaxAccountant?")
        await expect(page.locator(".message.person")).to_have_count(2)
        file = FileData("summary.pdf", "application/pdf", b"%PDF" * 400)
        await adapter.upload(
            LOBBY, file, "Done, with the tax beside it.", speaker=ACCOUNTANT, nonce="n2", reply_to=None
        )
        choices = [Choice("y", "Send it"), Choice("n", "Not yet"), Choice("s", "Show me first")]
        text = "Shall I send it to the board?"
        await adapter.send(LOBBY, text, speaker=ACCOUNTANT, nonce="n3", final=True)
        await adapter.offer(LOBBY, "n3", text, choices, speaker=ACCOUNTANT, nonce="n3")
        growing = "One thing stands out: in `May` the south sold nothing at all for two weeks. I compare it with the "
        await adapter.send(LOBBY, growing, speaker=GUIDE, nonce="n4", final=False)
        await expect(page.get_by_text("One thing stands out")).to_be_visible()
        await pictures.take(page, "chat", 820)


async def _busy(route: Route) -> None:
    answer = await route.fetch()
    data = await answer.json()
    for hour, messages in zip(data["last_day"]["hours"], BUSY, strict=True):
        answers = messages + messages // 4
        hour |= {"messages": messages, "answers": answers, "failures": int(messages == 61), "unpriced": 0}
        hour |= {"usd": answers * 0.0016, "first_text_s": 0.7 + messages / 150, "waits": messages}
    await route.fulfill(response=answer, body=json.dumps(data))


async def _talk(browser: Browser, running: Gateway, name: str, room: str, *texts: str) -> Page:
    page = await entered(browser, running.url, name, room)
    for text in texts:
        count = await page.locator(".message.agent").count()
        await say(page, text)
        await expect(page.locator(".message.agent:not(.live)")).not_to_have_count(count)
        await anyio.sleep(0.8)
    return page


async def _console(pictures: _Pictures, running: Gateway) -> None:
    [code] = await running.prints(r"to be an owner: (\w+)")
    ada = await _talk(pictures.browser, running, "Ada", "lobby", "hello", "Hawaii", "Funghi", "yes")
    await _talk(pictures.browser, running, "Grace", "kitchen", "good evening", "a Diavola please", "break")
    await _talk(pictures.browser, running, "Linus", "office", "hello", "Margherita")
    await say(ada, code[1])
    await expect(ada.get_by_text("You are now my owner")).to_be_visible()
    await saying(ada, "I am sorry").hover()
    async with ada.context.expect_page() as opened:
        await saying(ada, "I am sorry").locator("xpath=ancestor::li").get_by_role("link", name="Why?").click()
    page = await opened.value
    await expect(page.get_by_text("The reply as it came").first).to_be_visible()
    await pictures.take(page, "console", 1010)
    await page.get_by_role("button", name="Go to now").click()
    await page.get_by_role("button", name="Fork here").click()
    await expect(page.get_by_role("heading", name="scratch:")).to_be_visible()
    await pictures.take(page, "console-scratch", 860)
    await page.get_by_role("link", name="Models").click()
    await expect(page.get_by_role("row", name="openai/gpt-4.1-mini").first).to_be_visible()
    await pictures.take(page, "console-models", 520)
    await page.route("**/bus/v1/status", _busy)
    await page.get_by_role("link", name="Now", exact=True).click()
    await expect(page.get_by_role("heading", name="Platforms")).to_be_visible()
    await pictures.take(page, "console-now", 690)
    await page.emulate_media(color_scheme="dark")
    await page.get_by_role("link", name="Sessions", exact=True).click()
    await expect(page.get_by_text("web:kitchen").first).to_be_visible()
    await pictures.take(page, "console-sessions", 480)
    await page.emulate_media(color_scheme="light")
    await page.get_by_label("Find what").select_option("words")
    await page.get_by_role("searchbox").fill("margerita")
    await expect(page.locator(".excerpt mark").first).to_be_visible()
    await pictures.take(page, "console-found", 470)


async def _dev(pictures: _Pictures, running: Gateway, file: anyio.Path) -> None:
    page = await _talk(pictures.browser, running, "Ada", "oven", "hello", "Hawaii")
    text = await file.read_text()
    await file.write_text(text.replace("- If $right is true", "### Stepz\n- If $right is true"))
    await expect(page.get_by_text("The program has an error")).to_be_visible()
    await pictures.take(page, "dev", 850)
    await file.write_text(text)


def _answer(request: Any) -> Reply:
    if any("break" in str(one.get("content")) for one in request["messages"][-2:]):
        return Reply("", status=400)
    return replace(script(MODEL)(request), chunk_chars=3, chunk_delay_s=0.05)


async def pictures(images: Path) -> None:
    """Take all of them."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        file = folder / "pizza.pb"
        file.write_text(programs()["pizza"])
        async with OpenAIServer(_answer) as model, async_playwright() as playwright:
            environment = {
                "PARLEY_MODEL": "openai/gpt-4.1-mini",
                "PARLEY_MODEL_BASE_URL": model.base_url,
                "PARLEY_MODEL_API_KEY": "key",
                "PARLEY_CONSOLE__ACTS": "true",
            }
            browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            taking = _Pictures(browser, images)
            await _chat(taking)
            async with gateway(folder, file, environment) as running:
                await _console(taking, running)
            async with gateway(folder, folder, environment, command="dev", options=["--port", "0"]) as running:
                await _dev(taking, running, anyio.Path(file))


if __name__ == "__main__":
    anyio.run(partial(pictures, Path(sys.argv[1])))
