"""Private and direct rooms in Chromium."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.browsing import entered, say
from tests.fakes.pages.web_chat import web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


async def test_a_private_room_is_made_shared_renamed_and_archived_by_clicks(browser: Browser) -> None:
    async with web_chat(agents=["Guide"]) as chat:
        grace = await entered(browser, chat.url, "Grace")
        ada = await entered(browser, chat.url, "Ada")
        await ada.get_by_role("button", name="Write to somebody").click()
        await ada.get_by_role("textbox", name="Name of a private room").fill("Wedding")
        await ada.keyboard.press("Enter")
        await expect(ada.locator("#room-name")).to_have_text("Wedding")
        await say(ada, "It is on Sunday")
        await expect(ada.locator("#room-timeline")).to_contain_text("It is on Sunday")
        await expect(grace.locator("#rooms")).not_to_contain_text("Wedding")

        await ada.get_by_role("button", name="People and room").click()
        await ada.get_by_role("button", name="Invite somebody").click()
        await ada.get_by_role("textbox", name="Find somebody").fill("gra")
        await ada.get_by_role("button", name="Grace").click()
        await grace.locator("#rooms button", has_text="Wedding").click()
        await expect(grace.locator("#room-timeline")).to_contain_text("It is on Sunday")
        await grace.get_by_role("button", name="People and room").click()
        members = grace.get_by_role("dialog", name="Wedding")
        await expect(members).to_contain_text("2 people, 2 here now")
        await expect(members.get_by_role("button", name="Rename")).to_have_count(0)
        await grace.keyboard.press("Escape")

        await ada.get_by_role("button", name="People and room").click()
        await ada.get_by_role("button", name="Rename").click()
        await ada.get_by_role("textbox", name="The room's name").fill("The wedding")
        await ada.keyboard.press("Enter")
        await expect(grace.locator("#room-name")).to_have_text("The wedding")
        await ada.get_by_role("button", name="People and room").click()
        await ada.get_by_role("button", name="Archive").click()
        await expect(grace.locator("#archived")).to_contain_text("This room is archived")
        await grace.get_by_role("button", name="People and room").click()
        await grace.get_by_role("button", name="Leave").click()
        await expect(grace.locator("#room-name")).to_have_text("lobby")
        await expect(grace.locator("#rooms")).not_to_contain_text("wedding")
