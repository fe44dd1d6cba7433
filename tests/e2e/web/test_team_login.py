"""A team in Chromium: in by a link, a second device, out at once."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Page, expect

from gateway.access.people import Role
from tests.e2e.browsing import LIMIT_MS
from tests.fakes.pages.team_chat import team_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


async def profile(browser: Browser, url: str) -> Page:
    page = await (await browser.new_context()).new_page()
    page.set_default_timeout(LIMIT_MS)
    await page.goto(url)
    return page


async def follow(browser: Browser, link: str, name: str) -> Page:
    page = await profile(browser, link)
    await page.get_by_role("textbox", name="Your name").fill(name)
    await page.get_by_role("button", name="Join").click()
    await expect(page.locator("#presence")).to_contain_text("here")
    return page


async def test_people_come_by_links_add_devices_and_are_out_at_once(browser: Browser) -> None:
    async with team_chat() as stand:
        stranger = await profile(browser, stand.chat.url)
        await expect(stranger.get_by_role("dialog")).to_contain_text("Ask an owner for a link")

        owner = await follow(
            browser, f"{stand.chat.url}/#invite={await stand.team.invite(Role.OWNER, 'Parley')}", "Ada"
        )
        assert "invite" not in owner.url
        await owner.get_by_role("button", name="Invite people").click()
        await owner.get_by_role("button", name="Make a link").click()
        made = owner.get_by_label("The link", exact=True)
        await expect(made).to_have_value(re.compile(re.escape(f"{stand.chat.url}/#invite=")))
        link = await made.input_value()

        member = await follow(browser, link, "Dan")
        await expect(member.get_by_role("button", name="Invite people")).to_be_hidden()
        used = await profile(browser, link)
        await expect(used.get_by_role("dialog")).to_contain_text("used already")

        await member.locator("#me").click()
        await member.get_by_role("button", name="Log in on another device").click()
        await member.get_by_role("button", name="Make a link").click()
        await expect(member.get_by_label("The link", exact=True)).not_to_have_value("")
        second = await profile(browser, await member.get_by_label("The link", exact=True).input_value())
        await second.get_by_role("button", name="Log in").click()
        await expect(second.locator("#me .name")).to_have_text("Dan")

        (person,) = [each.id for each in await stand.people.all() if each.name == "Dan"]
        await stand.people.set(person, Role.BLOCKED)
        for page in (member, second):
            await expect(page.get_by_role("dialog").last).to_contain_text("Ask an owner for a link")
            await expect(page.locator("#room-timeline")).to_be_hidden()
        await expect(owner.locator("#presence")).to_contain_text("1 here")
