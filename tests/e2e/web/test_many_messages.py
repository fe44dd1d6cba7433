"""Many messages at once: they arrive once each, in the order in which they were written."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import Browser, FilePayload, Page, Route, WebSocketRoute, expect

from tests.e2e.browsing import entered, say
from tests.e2e.web.test_web_page import listening
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
            if self.holds and json.loads(frame)["t"] in ("taken", "message"):
                self._held.append((socket, str(frame)))
            else:
                socket.send(frame)

        socket.on_message(from_page)
        server.on_message(from_server)


async def test_a_message_goes_out_when_the_one_before_it_stands(browser: Browser) -> None:
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


async def test_two_pages_of_a_person_send_their_own_messages_once_each(browser: Browser) -> None:
    async with web_chat() as chat:
        ada = await entered(browser, chat.url, "Ada")
        other = await ada.context.new_page()
        await other.goto(chat.url)
        await expect(other.locator("#presence")).to_contain_text("here")
        wire, second = Wire(), Wire()
        await wire.lies_before(ada)
        await second.lies_before(other)
        wire.holds = True
        await say(ada, "one")
        await expect(other.locator(".message.person .body")).to_have_text(["one"])
        await say(other, "two")
        await expect(other.locator(".message.person .body")).to_have_text(["one", "two"])
        assert (wire.said, second.said) == (["one"], ["two"])


async def test_a_message_that_is_refused_late_is_sent_again(browser: Browser) -> None:
    async with web_chat() as chat:
        grace = await entered(browser, chat.url, "Grace")
        ada = await entered(browser, chat.url, "Ada")
        said: list[dict[str, str]] = []
        pages: list[WebSocketRoute] = []

        def never_answers_the_first(socket: WebSocketRoute) -> None:
            pages.append(socket)
            server = socket.connect_to_server()

            def from_page(frame: str | bytes) -> None:
                data = json.loads(frame)
                if data["t"] == "say":
                    said.append(data)
                if data["t"] != "say" or len(said) > 1:
                    server.send(frame)

            socket.on_message(from_page)

        await ada.route_web_socket("**/ws", never_answers_the_first)
        await ada.clock.install()
        await ada.reload()
        await expect(ada.locator("#presence")).to_contain_text("here")
        await say(ada, "one")
        await say(ada, "two")
        while len(said) < 2:
            await ada.clock.run_for(1_000)
        await expect(grace.locator(".message.person .body")).to_have_text(["two"])
        pages[-1].send(json.dumps({"t": "refused", "id": said[0]["id"], "code": "slow_down", "text": "A lot."}))
        while len(said) < 3:
            await ada.clock.run_for(1_000)
        await expect(grace.locator(".message.person .body")).to_have_text(["two", "one"])


async def test_what_waits_for_its_file_in_a_thread_is_not_sent_elsewhere(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        ada = await entered(browser, chat.url, "Ada")
        held: list[Route] = []
        await ada.route("**/files*", lambda route: held.append(route))
        await say(ada, "root")
        root = ada.locator("#room-timeline .message.person", has_text="root")
        await root.hover()
        await root.get_by_role("button", name="Reply in thread").click()
        note = FilePayload(name="note.txt", mimeType="text/plain", buffer=b"secret")
        await ada.locator("#thread-composer input[type=file]").set_input_files(note)
        await ada.locator("#thread-composer textarea").fill("for the thread only")
        await ada.locator("#thread-composer textarea").press("Enter")
        await ada.keyboard.press("Escape")
        await expect(ada.locator("#thread")).to_be_hidden()
        while not held:
            await ada.evaluate("() => new Promise(requestAnimationFrame)")
        async with ada.expect_response("**/files*"):
            await held[0].continue_()
        await say(ada, "next")
        await expect(ada.locator("#room-timeline .message.person .body")).to_have_text(["root", "next"])
        await root.hover()
        await root.get_by_role("button", name="Reply in thread").click()
        await expect(ada.locator("#thread-composer .uploads li")).to_contain_text("note.txt")
        await expect(ada.locator("#thread-composer textarea")).to_have_value("for the thread only")
