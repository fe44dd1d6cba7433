"""Private and direct rooms in Chromium."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, WebSocketRoute, expect

from runtime.core.address import Address, Speaker
from tests.e2e.browsing import entered, say
from tests.fakes.pages.web_chat import web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


async def elsewhere(page: Page) -> None:
    """Another room comes while a dialog is open, as by the browser's way back."""
    await page.evaluate("location.hash = '#lobby'")
    await expect(page.locator("#room-name")).to_have_text("lobby")


async def test_a_private_room_is_made_shared_renamed_and_archived_by_clicks(browser: Browser) -> None:
    async with web_chat(agents=["Guide"]) as chat:
        grace = await entered(browser, chat.url, "Grace")
        await entered(browser, chat.url, "Linus")
        ada = await entered(browser, chat.url, "Ada")
        await ada.get_by_role("button", name="Write to somebody").click()
        await ada.get_by_role("textbox", name="Name of a private room").fill("Wedding")
        await ada.keyboard.press("Enter")
        await expect(ada.locator("#room-name")).to_have_text("Wedding")
        await ada.get_by_role("button", name="Invite people").click()
        await expect(ada.get_by_role("dialog", name="Invite somebody")).to_contain_text("Grace")
        await ada.keyboard.press("Escape")
        await say(ada, "It is on Sunday")
        await expect(ada.locator("#room-timeline")).to_contain_text("It is on Sunday")
        await expect(grace.locator("#rooms")).not_to_contain_text("Wedding")

        await ada.get_by_role("button", name="People and room").click()
        await ada.get_by_role("button", name="Invite somebody").click()
        await ada.get_by_role("textbox", name="Find somebody").fill("gra")
        await ada.get_by_role("button", name="Grace").click()
        invited = ada.get_by_role("dialog", name="Invite somebody")
        await expect(invited.get_by_role("button", name="Grace invited")).to_be_disabled()
        await ada.keyboard.type("lin")
        await ada.keyboard.press("Enter")
        await expect(invited.get_by_role("button", name="Linus invited")).to_be_disabled()
        await ada.keyboard.press("Escape")
        await grace.locator("#rooms button", has_text="Wedding").click()
        await expect(grace.locator("#room-timeline")).to_contain_text("It is on Sunday")
        await grace.get_by_role("button", name="People and room").click()
        members = grace.get_by_role("dialog", name="Wedding")
        await expect(members).to_contain_text("3 people, 2 here now")
        await expect(members.get_by_role("button", name="Rename")).to_have_count(0)
        await grace.keyboard.press("Escape")

        await ada.get_by_role("button", name="People and room").click()
        await ada.get_by_role("button", name="Rename").click()
        await ada.get_by_role("textbox", name="The room's name").fill("The wedding")
        await elsewhere(ada)
        await ada.keyboard.press("Enter")
        await expect(grace.locator("#room-name")).to_have_text("The wedding")
        await ada.go_back()
        await expect(ada.locator("#room-name")).to_have_text("The wedding")
        await ada.get_by_role("button", name="People and room").click()
        await ada.get_by_role("button", name="Archive").click()
        asked = ada.get_by_role("dialog", name="Archive this room?")
        await asked.get_by_role("button", name="Cancel").click()
        await expect(ada.locator("#archived")).to_be_hidden()
        await ada.get_by_role("button", name="People and room").click()
        await ada.get_by_role("button", name="Archive").click()
        await elsewhere(ada)
        await asked.get_by_role("button", name="Archive").click()
        await expect(grace.locator("#archived")).to_contain_text("This room is archived")
        await expect(grace.locator("#room-composer")).to_be_hidden()
        said = grace.locator(".message.person").first
        await said.hover()
        await expect(said.locator(".tools .icon:visible")).to_have_count(1)  # copies the text
        await grace.get_by_role("button", name="People and room").click()
        await grace.get_by_role("button", name="Leave").click()
        await expect(grace.locator("#room-name")).to_have_text("lobby")
        await expect(grace.locator("#rooms")).not_to_contain_text("wedding")


async def test_somebody_is_found_by_typing_and_the_agents_of_a_room_are_listed_with_its_people(
    browser: Browser,
) -> None:
    async with web_chat(agents=["Guide"]) as chat:
        await entered(browser, chat.url, "Grace")
        ada = await entered(browser, chat.url, "Ada")
        await chat.adapter.send(Address("web", "lobby"), "Hi", speaker=Speaker("1000", "Guide"), nonce="n", final=True)
        await expect(ada.locator(".message.agent")).to_have_count(1)
        await ada.get_by_role("button", name="People and room").click()
        await expect(ada.get_by_role("dialog", name="lobby").get_by_role("listitem")).to_contain_text(["Ada", "Guide"])
        await ada.keyboard.press("Escape")
        await ada.get_by_role("button", name="Write to somebody").click()
        await ada.keyboard.type("gra")
        await ada.keyboard.press("Enter")
        await expect(ada.locator("#room-name")).to_have_text("Grace")


async def test_what_a_hurried_person_types_before_the_list_has_come_still_finds_who_was_meant(browser: Browser) -> None:
    held: list[str] = []
    async with web_chat(agents=["Guide"]) as chat:
        await entered(browser, chat.url, "Grace")
        ada = await entered(browser, chat.url, "Ada")
        sockets: list[WebSocketRoute] = []

        def holding_the_list(socket: WebSocketRoute) -> None:
            server = socket.connect_to_server()
            sockets.append(socket)
            server.on_message(
                lambda frame: held.append(str(frame)) if '"directory"' in str(frame) else socket.send(frame)
            )

        await ada.route_web_socket("**/ws", holding_the_list)
        await ada.reload()
        await expect(ada.locator("#presence")).to_contain_text("here")
        await ada.get_by_role("button", name="Write to somebody").click()
        await ada.keyboard.type("gra")
        await ada.keyboard.press("Enter")
        await expect(ada.locator("#room-name")).to_have_text("lobby")
        while not held:
            await ada.evaluate("() => new Promise(requestAnimationFrame)")
        sockets[-1].send(held[0])
        await expect(ada.locator("#room-name")).to_have_text("Grace")


async def test_everybody_of_the_chat_can_be_mentioned_and_enter_takes_nobody_else(browser: Browser) -> None:
    async with web_chat() as chat, chat.adapter.connect():
        await chat.adapter.send(Address("web", "lobby"), "Hi", speaker=Speaker("1", "Baker"), nonce="n", final=True)
        bob = await entered(browser, chat.url, "Bob", "team")
        bobby = await entered(browser, chat.url, "Bobby", "team")
        ada = await entered(browser, chat.url, "Ada")
        text = ada.locator("#room-composer textarea")
        await text.press_sequentially("@")
        names = ["@Baker agent", "@Bob not in this room", "@Bobby not in this room"]
        await expect(ada.get_by_role("option")).to_have_text(names)
        await text.press_sequentially("Bob")  # and not Bobby
        await ada.keyboard.press("Enter")
        await expect(ada.locator(".message.person .mention")).to_have_text("@Bob")
        await bob.evaluate("location.hash = '#lobby'")
        await expect(bob.locator(".mention.mine")).to_have_text("@Bob")
        await bobby.evaluate("location.hash = '#lobby'")
        await expect(ada.locator("#presence")).to_contain_text("3 here")
        await text.press_sequentially("@bo")
        await expect(ada.get_by_role("option")).to_have_text(["@Bob person", "@Bobby person"])
        await text.press_sequentially("b")
        await ada.keyboard.press("Enter")
        await expect(text).to_have_value("@Bob ")


async def test_an_agent_of_the_program_can_be_mentioned_before_it_has_spoken(browser: Browser) -> None:
    async with web_chat(agents=["Baker"]) as chat, chat.adapter.connect():
        await entered(browser, chat.url, "Bob", "team")
        ada = await entered(browser, chat.url, "Ada")
        await ada.locator("#room-composer textarea").press_sequentially("@")
        await expect(ada.get_by_role("option")).to_have_text(["@Baker agent", "@Bob not in this room"])
        await ada.keyboard.press("Enter")
        await ada.locator("#room-composer textarea").press_sequentially("hi")
        await ada.keyboard.press("Enter")
        await expect(ada.locator(".message.person .mention")).to_have_text("@Baker")


async def test_the_names_for_a_mention_are_asked_for_once(browser: Browser) -> None:
    async with web_chat() as chat:
        await entered(browser, chat.url, "Bob", "team")
        ada = await entered(browser, chat.url, "Ada")
        asked: list[str] = []

        def counting(socket: WebSocketRoute) -> None:
            server = socket.connect_to_server()

            def passed_on(frame: str | bytes) -> None:
                asked.extend([str(frame)] * ('"people"' in str(frame)))
                server.send(frame)

            socket.on_message(passed_on)

        await ada.route_web_socket("**/ws", counting)
        await ada.reload()
        await expect(ada.locator("#presence")).to_contain_text("here")
        text = ada.locator("#room-composer textarea")
        for _ in range(3):
            await text.press_sequentially("@")
            await expect(ada.get_by_role("option")).to_have_text(["@Bob not in this room"])
            await text.press("Backspace")
            await ada.evaluate("() => new Promise(requestAnimationFrame)")
        await text.press_sequentially("@")
        await text.press_sequentially("Bob")
        await expect(ada.get_by_role("option")).to_have_text(["@Bob not in this room"])
        await ada.keyboard.press("Enter")
        assert len(asked) == 4


async def test_a_room_of_two_says_who_hears_and_whether_the_other_is_there_and_the_list_keeps_its_order(
    browser: Browser,
) -> None:
    async with web_chat() as chat, chat.adapter.connect():
        bob = await entered(browser, chat.url, "Bob")
        ada = await entered(browser, chat.url, "Ada", "team")
        await ada.get_by_role("button", name="Write to somebody").click()
        await ada.get_by_role("button", name="Bob").click()
        await expect(ada.locator("#room-name")).to_have_text("Bob")
        await expect(ada.locator(".empty p:visible")).to_contain_text("What you write here is between you two.")
        await expect(ada.locator("#presence")).to_contain_text("Bob is online")
        order = ["lobby", "alpha", "team", "Direct messages", "Bob"]
        await chat.adapter.send(Address("web", "alpha"), "Hi", speaker=Speaker("1", "Baker"), nonce="n", final=True)
        await expect(ada.locator("#rooms li .name, #rooms h2")).to_have_text(order)
        await expect(ada.get_by_role("img", name="online")).to_be_visible()
        await ada.reload()
        await expect(ada.locator("#rooms li .name, #rooms h2")).to_have_text(order)
        await expect(ada.get_by_role("img", name="online")).to_be_visible()
        await bob.context.close()
        await expect(ada.get_by_role("img", name="online")).to_have_count(0)
        await expect(ada.locator("#presence")).to_contain_text("Bob is not online")


async def test_who_names_a_new_room_reads_what_it_will_be_called_and_an_address_may_have_any_letters(
    browser: Browser,
) -> None:
    async with web_chat() as chat:
        ada = await entered(browser, chat.url, "Ada")
        await ada.keyboard.press("Control+k")
        await ada.get_by_role("combobox").fill("Team & <i>")
        await expect(ada.get_by_role("option")).to_have_text("Make a new room, # team-i, that everybody sees")
        await ada.keyboard.press("Enter")
        await expect(ada.locator("#room-name")).to_have_text("team-i")
        await ada.keyboard.press("Control+k")
        await ada.get_by_role("combobox").fill("Team & <i>")
        await expect(ada.get_by_role("option")).to_have_text("team-i", use_inner_text=True)
        await ada.keyboard.press("Escape")
        await ada.goto(f"{chat.url}/#Team I")
        await ada.reload()
        await expect(ada.locator("#room-name")).to_have_text("team-i")
        await ada.evaluate("location.hash = '#Bob'")
        await expect(ada.locator("#toast")).to_have_text("There is no room 'bob'. Open it first.")


async def test_of_two_people_of_one_name_the_second_has_a_number_wherever_they_are_named(browser: Browser) -> None:
    async with web_chat() as chat, chat.adapter.connect() as said:
        one = await entered(browser, chat.url, "Ada")
        await expect(one.locator("#me .name")).to_have_text("Ada")
        await say(one, "I am one of them")
        other = await entered(browser, chat.url, "Ada")
        await expect(other.locator("#toast")).to_have_text("Somebody else here is called Ada. Here you are Ada 2.")
        await expect(other.locator("#me .name")).to_have_text("Ada 2")
        await say(other, "I am the other")
        assert [(await anext(said)).person_name for _ in range(2)] == ["Ada", "Ada 2"]
        grace = await entered(browser, chat.url, "Grace")
        await expect(grace.locator(".message.person .author")).to_have_text(["Ada", "Ada 2"])
        await grace.locator("#room-composer textarea").press_sequentially("@ad")
        await expect(grace.get_by_role("option")).to_contain_text(["@Ada", "@Ada 2"], use_inner_text=True)
        await grace.get_by_role("option", name="@Ada 2").click()
        await grace.keyboard.type("lunch?")
        await grace.keyboard.press("Enter")
        await expect(other.locator(".mention.mine")).to_have_text("@Ada 2")
        await expect(one.locator(".mention")).to_have_text("@Ada 2")
        await expect(one.locator(".mention.mine")).to_have_count(0)
        await grace.get_by_role("button", name="Write to somebody").click()
        await grace.locator("dialog .members button").filter(has_text="Ada 2").click()
        await expect(grace.locator("#room-name")).to_have_text("Ada 2")
        await expect(grace.locator(".notice")).to_contain_text("Only Grace and Ada 2 see this room.")
        await other.reload()
        await expect(other.locator("#presence")).to_contain_text("here")
        await expect(other.locator("#toast")).to_be_hidden()
        await expect(other.locator("#me .name")).to_have_text("Ada 2")
