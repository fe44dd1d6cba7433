"""A team in Chromium: in by a link, a second device, out at once, and notified by a worker."""

from __future__ import annotations

import json
import re

import anyio
import pytest
from playwright.async_api import Browser, Page, expect

from gateway.access.people import Role
from tests.e2e.browsing import LIMIT_MS
from tests.fakes.pages.page_socket import page_socket
from tests.fakes.pages.push_service import PushedBrowser
from tests.fakes.pages.pushing_chat import pushing
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


SUBSCRIBES = """{{
    const known = {{endpoint: {endpoint}, keys: {keys}}};
    const made = {{endpoint: {endpoint}, toJSON: () => known, unsubscribe: async () => true}};
    let kept = null;
    PushManager.prototype.subscribe = async (options) => {{
        if (!options.userVisibleOnly || options.applicationServerKey.length !== 87) throw new Error("bad options");
        return (kept = made);
    }};
    PushManager.prototype.getSubscription = async () => kept;
    Notification.requestPermission = async () => Notification.permission;
    Object.defineProperty(Notification, "permission", {{get: () => "granted"}});
}}"""
"""The browser subscribes at the service of the test: the real one is not on this machine. Its person allows what a
browser without a screen does not."""


KEEPS = """() => {
    self.shown = new Promise((resolve) => {
        self.registration.showNotification = async (title, {body, data}) => resolve([title, body, data.address]);
    });
}"""
"""What the worker shows is kept: a browser without a screen shows nothing."""


async def test_a_mention_is_shown_while_nobody_looks_and_a_click_turns_it_off(browser: Browser) -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        pushed = PushedBrowser()
        context = await browser.new_context()
        page = await context.new_page()
        page.set_default_timeout(LIMIT_MS)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        keys = json.dumps({"p256dh": pushed.p256dh, "auth": pushed.auth})
        await page.add_init_script(SUBSCRIBES.format(endpoint=json.dumps(stand.service.endpoint("g")), keys=keys))
        registrations: list[str] = []
        cdp = await context.new_cdp_session(page)
        cdp.on(
            "ServiceWorker.workerRegistrationUpdated",
            lambda found: registrations.extend(one["registrationId"] for one in found["registrations"]),
        )
        await cdp.send("ServiceWorker.enable")
        await page.goto(stand.chat.url)
        await page.get_by_role("textbox", name="Your name").fill("Grace")
        await page.get_by_role("button", name="Start chatting").click()
        await page.get_by_role("button", name="People and room").click()
        await page.get_by_role("button", name="Turn on in this browser").click()
        await expect(page.get_by_role("button", name="Turn off in this browser")).to_be_visible()
        await page.get_by_label("Notify me about").select_option("all")
        await page.keyboard.press("Escape")
        await page.get_by_role("textbox", name="Name of a new room").fill("elsewhere")
        await page.keyboard.press("Enter")
        await expect(page.locator("#room-name")).to_have_text("elsewhere")

        await ada.join()
        said = await ada.say("The *news*")
        await stand.service.until(1)
        (told,) = stand.service.said("g", pushed)
        (worker,) = context.service_workers
        await worker.evaluate(KEEPS)
        push = {"origin": stand.chat.url, "registrationId": registrations[-1], "data": json.dumps(told)}
        await cdp.send("ServiceWorker.deliverPushMessage", push)
        with anyio.fail_after(60):
            shown = await worker.evaluate("self.shown")
        assert shown == ["Ada in lobby", "The *news*", f"/#lobby//{said}"]

        await page.get_by_role("button", name="People and room").click()
        await page.get_by_role("button", name="Turn off in this browser").click()
        await expect(page.get_by_role("button", name="Turn on in this browser")).to_be_visible()
        assert [person for person, _ in await stand.subscriptions.all()] == []
        assert faults == []
