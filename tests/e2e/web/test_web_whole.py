"""The whole gateway behind the chat page, in Chromium: approval, files, a stop, a restart, undoing and forking."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, FilePayload, Locator, Page, expect

from tests.e2e.browsing import appears, entered, say, saying
from tests.e2e.gateway_process import ROOT, gateway, key_in
from tests.fakes.models.openai_server import OpenAIServer, Reply

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
        thread, refusal = page.locator("#thread"), "Please choose one of these: Yes, No."
        await expect(thread.locator(".thread-note")).to_have_text("What you write here answers the question above.")
        await thread.locator("textarea").fill("what does that mean?")
        await page.keyboard.press("Enter")
        await expect(thread.get_by_text(refusal)).to_be_visible()
        await expect(page.locator("#room-timeline").get_by_text(refusal)).to_have_count(0)
        await thread.locator("textarea").fill("Yes")
        await page.keyboard.press("Enter")
        await expect(saying(page, "Shipped.")).to_have_count(2)
        await expect(thread.get_by_text("✓ Yes")).to_be_visible()


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


PROGRAMS = ROOT / "tests" / "e2e" / "programs"
LIKES = ("apples", "pears", "plums")


def noticed(page: Page, text: str) -> Locator:
    """What the gateway says itself."""
    return page.locator(".message.notice", has_text=text)


def what_is_liked(request: Mapping[str, Any]) -> Reply:
    """A model that says what it finds in what it is told."""
    said = json.dumps(request["messages"])
    found = [like for like in LIKES if f"I like {like}" in said]
    return Reply(
        f'```python\nawait Say("user", "You like {" and ".join(found) or "nothing"}.")\nawait Yld("user")\n```'
    )


async def test_undo_and_fork_with_a_model(tmp_path: Path, browser: Browser) -> None:
    async with OpenAIServer(what_is_liked) as model:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            **key_in(tmp_path),
        }
        async with gateway(tmp_path, PROGRAMS / "friend.pb", environment) as running:
            page = await entered(browser, running.url, "Ada")
            await say(page, "hello")
            await appears(saying(page, "You like nothing."))
            await say(page, "I like apples")
            await appears(saying(page, "You like apples."))
            await say(page, "I like pears")
            await appears(saying(page, "You like apples and pears."))
            answer = page.locator(".message.agent", has_text="You like apples and pears.")
            await answer.hover()
            await answer.get_by_role("button", name="Good answer").click()
            await expect(answer.get_by_role("button", name="👍 by Ada")).to_be_visible()
            await expect(page.locator(".message.agent").first.get_by_role("button", name="Answer again")).to_be_hidden()
            await answer.hover()
            await answer.get_by_role("button", name="Answer again").click()
            fold = page.get_by_role("button", name="Show the earlier answer")
            await appears(fold)
            await appears(saying(page, "You like apples and pears."))
            await expect(noticed(page, "We are back")).to_have_count(0)
            await expect(page.locator(".message", has_text="/undo")).to_have_count(0)
            await page.reload()
            await fold.click()
            await expect(saying(page, "You like apples and pears.")).to_have_count(2)
            await appears(noticed(page, "We are back to before Ada said “I like pears”"))
            await page.get_by_role("button", name="Hide the earlier answer").click()
            await appears(saying(page, "You like apples and pears."))
            await say(page, "/undo")
            await appears(noticed(page, "We are back to before Ada said “I like pears”"))
            await say(page, "/fork Only plums")
            link = noticed(page, "continues in a second place").get_by_role("link", name="Only plums")
            await expect(link).to_be_visible()
            await say(page, "what do I like?")
            await expect(saying(page, "You like apples.")).to_have_count(2)
            await link.click()
            await expect(page.locator("#room-name")).to_contain_text("only-plums")
            await appears(noticed(page, "This continues another conversation, from after Ada said “I like apples”"))
            await say(page, "I like plums")
            await appears(saying(page, "You like apples and plums."))
            await page.get_by_role("link", name="Where it began").click()
            await expect(page.locator("#room-name")).to_have_text("lobby")
            await say(page, "and now?")
            await expect(saying(page, "You like apples.")).to_have_count(3)


async def test_a_press_is_undone_and_the_question_is_asked_again(tmp_path: Path, browser: Browser) -> None:
    async with gateway(tmp_path, PROGRAMS / "tally.pb") as running:
        page = await entered(browser, running.url, "Ada")
        await say(page, "hello")
        await appears(saying(page, "I count."))
        await say(page, "one")
        await appears(saying(page, "1: one"))
        await say(page, "reset")
        answers = page.get_by_role("group", name="Answers")
        await answers.get_by_role("button", name="Yes").click()
        await appears(saying(page, "Now at 0."))
        await say(page, "/undo")
        await appears(noticed(page, "We are back to before Ada said “Yes”"))
        await expect(answers).to_have_count(1)
        running.kill()
        await running.gone()
        await running.start()
        page = await entered(browser, running.url, "Ada")
        await page.get_by_role("group", name="Answers").get_by_role("button", name="No").click()
        await appears(saying(page, "Now at 1."))


async def test_the_menu_and_help_name_both_commands(tmp_path: Path, browser: Browser) -> None:
    async with gateway(tmp_path, PROGRAMS / "tally.pb") as running:
        page = await entered(browser, running.url, "Ada")
        await say(page, "/help")
        told = noticed(page, "/undo [number]: undo the last exchange")
        await appears(told)
        await expect(told).to_contain_text("/fork [title]: continue in a separate thread")
        await say(page, "/undo")
        await appears(noticed(page, "There is nothing to undo."))
