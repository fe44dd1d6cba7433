"""Notifications in Chromium: turned on by a click, shown by the worker, which leads to the message."""

from __future__ import annotations

import json

import anyio
import pytest
from playwright.async_api import Browser, expect

from tests.e2e.browsing import LIMIT_MS
from tests.fakes.pages.page_socket import page_socket
from tests.fakes.pages.push_service import PushedBrowser
from tests.fakes.pages.pushing_chat import pushing

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

SUBSCRIBES = """{{
    const known = {{endpoint: {endpoint}, keys: {keys}}};
    const made = {{endpoint: {endpoint}, toJSON: () => known, unsubscribe: async () => true}};
    let kept = null;
    PushManager.prototype.subscribe = async (options) => {{
        if (!options.userVisibleOnly || options.applicationServerKey.length !== 87) throw new Error("bad options");
        return (kept = made);
    }};
    PushManager.prototype.getSubscription = async () => kept;
}}"""
"""The browser subscribes at the service of the test: the real one is not on this machine."""


KEEPS = """() => {
    self.shown = new Promise((resolve) => {
        self.registration.showNotification = async (title, {body, data}) => resolve([title, body, data.address]);
    });
}"""
"""What the worker shows is kept: a browser without a screen shows nothing."""


async def test_a_mention_is_shown_while_nobody_looks_and_a_click_turns_it_off(browser: Browser) -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        pushed = PushedBrowser()
        context = await browser.new_context(permissions=["notifications"])
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
