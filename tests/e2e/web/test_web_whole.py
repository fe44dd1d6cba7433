"""The whole gateway behind the chat page, in Chromium: approval by button, a file in and out, a stop, a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from tests.e2e.browsing import appears, entered, say, saying
from tests.e2e.gateway_process import ROOT, gateway

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

DESK = ROOT / "tests" / "e2e" / "programs" / "desk.pb"
WORDS = FilePayload(name="words.txt", mimeType="text/plain", buffer=b"one two three")


async def count(page: Page, into: Path) -> None:
    """Send a file, have its words counted, and save the answer."""
    await page.locator("#room-composer input[type=file]").set_input_files([WORDS])
    await say(page, "count")
    link = page.locator(".message.agent .file")
    await expect(link).to_contain_text("count.txt")
    async with page.expect_download() as saved:
        await link.click()
    await (await saved.value).save_as(into)


async def test_a_question_is_answered_by_a_button_or_in_its_thread_and_is_over_then(
    tmp_path: Path, browser: Browser
) -> None:
    async with gateway(tmp_path, DESK) as running:
        page = await entered(browser, running.url, "Ada")
        await say(page, "hello")
        await appears(saying(page, "The desk is open."))
        await say(page, "ship")
        answers = page.get_by_role("group", name="Answers")
        await expect(answers.get_by_role("button")).to_have_text(["Yes", "No"])
        await answers.get_by_role("button", name="Yes").click()
        await appears(saying(page, "Shipped."))
        await expect(answers).to_have_count(0)
        await appears(saying(page, "✓ Yes"))

        await say(page, "ship")
        await expect(answers.get_by_role("button")).to_have_text(["Yes", "No"])
        await page.locator(".row:has(.choice)").focus()
        await page.keyboard.press("t")
        await page.locator("#thread-composer textarea").fill("Yes")
        await page.keyboard.press("Enter")
        await expect(saying(page, "Shipped.")).to_have_count(2)


async def test_a_file_is_read_and_another_is_sent_back_and_both_outlive_a_restart(
    tmp_path: Path, browser: Browser
) -> None:
    async with gateway(tmp_path, DESK) as running:
        page = await entered(browser, running.url, "Ada")
        await say(page, "hello")
        await appears(saying(page, "The desk is open."))
        await count(page, tmp_path / "before")
        assert (tmp_path / "before").read_bytes() == b"3 words"
        await appears(saying(page, "Here is the count."))
        running.kill()
        await running.gone()
        await running.start()
        page = await entered(browser, running.url, "Grace")
        await appears(saying(page, "Here is the count."))
        await expect(page.locator(".message .file")).to_contain_text(["words.txt", "count.txt"])
        async with page.expect_download() as saved:
            await page.locator(".message.person .file").click()
        await (await saved.value).save_as(tmp_path / "after")
        assert (tmp_path / "after").read_bytes() == WORDS["buffer"]
