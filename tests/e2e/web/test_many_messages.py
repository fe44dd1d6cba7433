"""Many messages at once: they arrive once each, in the order in which they were written."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Browser, Page, WebSocketRoute, expect

from tests.e2e.browsing import entered, say
from tests.fakes.pages.web_chat import web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


class Wire:
    """The page's WebSocket: the messages that it has sent, and what the gateway answers, held while `holds`."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.refuses = 0
        self.holds = False
        self._held: list[tuple[WebSocketRoute, str]] = []

    async def lies_before(self, page: Page) -> None:
        await page.route_web_socket("**/ws", self._route)
        await page.reload()
        await expect(page.locator("#presence")).to_contain_text("here")

    def release(self) -> None:
        self.holds = False
        for socket, frame in self._held:
            socket.send(frame)

    def _route(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def from_page(frame: str | bytes) -> None:
            data = json.loads(frame)
            if data["t"] == "say":
                self.said.append(data["text"])
                if self.refuses:
                    self.refuses -= 1
                    socket.send(json.dumps({"t": "refused", "id": data["id"], "code": "slow_down", "text": "A lot."}))
                    return
            server.send(frame)

        def from_server(frame: str | bytes) -> None:
            if self.holds and json.loads(frame)["t"] == "taken":
                self._held.append((socket, str(frame)))
            else:
                socket.send(frame)

        socket.on_message(from_page)
        server.on_message(from_server)


async def test_a_message_goes_out_when_the_one_before_it_was_taken(browser: Browser) -> None:
    async with web_chat() as chat:
        grace = await entered(browser, chat.url, "Grace")
        ada = await entered(browser, chat.url, "Ada")
        wire = Wire()
        await wire.lies_before(ada)
        wire.holds = True
        for text in ("one", "two", "three"):
            await say(ada, text)
        await expect(grace.locator(".message.person .body")).to_have_text(["one"])
        assert wire.said == ["one"]
        wire.release()
        await expect(grace.locator(".message.person .body")).to_have_text(["one", "two", "three"])
        assert wire.said == ["one", "two", "three"]


async def test_those_behind_a_message_that_must_wait_wait_with_it_and_arrive_in_order(browser: Browser) -> None:
    async with web_chat() as chat:
        grace = await entered(browser, chat.url, "Grace")
        ada = await entered(browser, chat.url, "Ada")
        wire = Wire()
        await wire.lies_before(ada)
        await ada.clock.install()
        wire.refuses = 2
        for text in ("one", "two", "three"):
            await say(ada, text)
        while len(wire.said) < 3:
            await ada.clock.run_for(1_000)
        await expect(grace.locator(".message.person .body")).to_have_text(["one", "two", "three"])
        assert wire.said == ["one", "one", "one", "two", "three"]


async def test_a_page_that_sent_too_much_comes_back_calmly_and_sends_what_waits_in_order(browser: Browser) -> None:
    async with web_chat() as chat:
        grace = await entered(browser, chat.url, "Grace")
        ada = await entered(browser, chat.url, "Ada")
        opened: list[WebSocketRoute] = []

        def closes_once(socket: WebSocketRoute) -> None:
            opened.append(socket)
            server = socket.connect_to_server()

            async def from_page(frame: str | bytes) -> None:
                if len(opened) == 1 and json.loads(frame)["t"] == "say":
                    await socket.close(code=1008, reason="too many requests")
                else:
                    server.send(frame)

            socket.on_message(from_page)

        await ada.route_web_socket("**/ws", closes_once)
        await ada.clock.install()
        await ada.reload()
        await expect(ada.locator("#presence")).to_contain_text("here")
        box = ada.locator("#room-composer textarea")
        await box.fill("one")
        await box.press("Enter")
        await expect(ada.get_by_text("Connection lost")).to_be_visible()
        await ada.clock.run_for(2_500)
        assert len(opened) == 1
        await ada.clock.run_for(5_000)
        await expect(grace.locator(".message.person .body")).to_have_text(["one"])
