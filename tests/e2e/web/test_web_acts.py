"""What people do on the chat page besides writing, in Chromium, with the test as its agent."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, FilePayload, Locator, Page, expect

from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.message import Choice
from tests.e2e.web.test_web_page import PHONE, enter, listening, say
from tests.fakes.pages.web_chat import web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")

HELD = """(body, name) => {
  const [timer, waits, touched] = [window.setTimeout, [], body.appendChild(document.createElement(name))];
  window.setTimeout = (_, ms) => waits.push(ms);
  touched.dispatchEvent(new PointerEvent("pointerdown", { pointerType: "touch", bubbles: true }));
  window.setTimeout = timer;
  touched.remove();
  return waits;
}"""
"""The timers, in ms, that a finger on an element of this name in a message starts."""


def tool(message: Locator, name: str) -> Locator:
    return message.get_by_role("button", name=name, exact=True)


async def own(page: Page, text: str) -> Locator:
    """A message of the person's own, once it is safe."""
    message = page.locator(".message.person", has_text=text)
    await expect(message.locator(".sending")).to_have_count(0)
    return message


async def test_a_choice_is_pressed_by_keyboard_and_goes_when_it_was_answered(browser: Browser) -> None:
    async with web_chat() as chat, chat.adapter.connect() as said:
        page = await enter(browser, chat, "Ada")
        await chat.adapter.send(LOBBY, "Shall I?", speaker=GUIDE, nonce="q", final=True)
        choices = [Choice("y", "Yes, do it"), Choice("n", "<b>No</b>")]
        await chat.adapter.offer(LOBBY, "q", "Shall I?", choices, speaker=GUIDE, nonce="q")
        group = page.get_by_role("group", name="Answers")
        await expect(group.get_by_role("button")).to_have_text(["Yes, do it", "<b>No</b>"])
        await group.get_by_role("button").first.focus()
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        pressed = await anext(said)
        assert (pressed.act, pressed.choice, pressed.text, pressed.message_id) == ("choice", "n", "<b>No</b>", "q")
        await expect(group.get_by_role("button").first).to_be_disabled()
        await expect(group.get_by_role("button", pressed=True)).to_have_text("<b>No</b>")
        await page.keyboard.type("because")
        await expect(page.locator("#room-composer textarea")).to_have_value("because")
        await chat.adapter.offer(LOBBY, "q", "Shall I?", (), speaker=GUIDE, nonce="q")
        await expect(group).to_have_count(0)


async def test_on_a_phone_a_tap_on_a_choice_counts_also_while_actions_of_another_message_are_open(
    browser: Browser,
) -> None:
    async with web_chat() as chat, chat.adapter.connect() as said:
        page = await enter(browser, chat, "Ada", **PHONE)
        for number in range(20):
            await chat.adapter.send(LOBBY, f"m{number}", speaker=GUIDE, nonce=f"n{number}", final=True)
        await chat.adapter.send(LOBBY, "Shall I?", speaker=GUIDE, nonce="q", final=True)
        choices = [Choice("y", "Yes"), Choice("n", "No")]
        await chat.adapter.offer(LOBBY, "q", "Shall I?", choices, speaker=GUIDE, nonce="q")
        await expect(page.get_by_role("button", name="No", exact=True)).to_be_in_viewport()
        await page.get_by_text("m18", exact=True).tap()
        await expect(tool(page.locator(".message", has_text="m18"), "Actions")).to_be_visible()
        await page.get_by_role("button", name="No", exact=True).tap()
        await expect(page.get_by_role("button", name="No", exact=True)).to_be_disabled()
        assert (await anext(said)).choice == "n"


async def test_what_is_typed_outside_of_the_text_goes_into_it_but_for_keys_of_messages(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await enter(browser, chat, "Ada")
        await chat.adapter.send(LOBBY, "Shall I?", speaker=GUIDE, nonce="q", final=True)
        box = page.locator("#room-composer textarea")
        await page.locator("#room-name").click()
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.type("all in one word")
        await expect(box).to_have_value("all in one word")
        await page.locator(".message.agent .row").focus()
        await page.keyboard.press("r")
        await expect(page.locator("#room-composer .context")).to_contain_text("Replying to Guide")
        await expect(box).to_have_value("all in one word")


async def test_a_person_changes_what_they_said_and_the_others_see_it(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        ada, grace = await enter(browser, chat, "Ada"), await enter(browser, chat, "Grace")
        await say(ada, "Helo")
        message = await own(ada, "Helo")
        id_ = await message.get_attribute("data-id")
        await chat.adapter.send(LOBBY, "Hi", speaker=GUIDE, nonce="n1", final=True, reply_to=id_)
        await message.hover()
        await tool(message, "Edit").click()
        box = ada.locator("#room-composer textarea")
        await expect(box).to_have_value("Helo")
        await box.fill("Hello")
        await box.press("Enter")
        await expect(grace.locator(".message.person .body")).to_have_text("Hello")
        await expect(grace.locator(".quoted")).to_have_text("Ada Hello")
        await expect(grace.locator(".person .edited")).to_be_visible()
        await expect(box).to_have_value("")
        await box.press("ArrowUp")
        await expect(box).to_have_value("Hello")
        await box.press("Escape")
        await expect(box).to_have_value("")
        assert [(each.act, each.text) for each in heard] == [("message", "Helo"), ("edit", "Hello")]
        for text, last in (("Two:\n\n- one\n- two", "li:last-child"), ("> quoted", "blockquote p"), ("`end`\n", "p")):
            await box.press("ArrowUp")
            await box.fill(text)
            await box.press("Enter")
            await expect(grace.locator(f".message.person .body {last} > .edited:last-child")).to_be_visible()
        await grace.locator(".message.person").hover()
        await expect(tool(grace.locator(".message.person"), "Edit")).to_have_count(0)
        await expect(tool(grace.locator(".message.person"), "Delete")).to_have_count(0)


async def test_a_message_is_deleted_only_after_a_question(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        ada, grace = await enter(browser, chat, "Ada"), await enter(browser, chat, "Grace")
        await say(ada, "a secret")
        message = await own(ada, "a secret")
        id_ = await message.get_attribute("data-id")
        await chat.adapter.send(LOBBY, "I see", speaker=GUIDE, nonce="n1", final=True, reply_to=id_)
        await expect(grace.locator(".quoted")).to_have_text("Ada a secret")
        for button in ("Cancel", "Delete"):
            await message.hover()
            await tool(message, "Delete").click()
            await expect(ada.get_by_role("dialog", name="Delete this message?")).to_be_visible()
            await ada.get_by_role("dialog").get_by_role("button", name=button).click()
            await expect(ada.get_by_role("dialog")).to_have_count(0)
        for page in (ada, grace):
            await expect(page.locator(".message.person .body")).to_have_text("This message was deleted.")
            await expect(page.locator(".quoted")).to_have_text("Ada This message was deleted.")
        assert [each.act for each in heard] == ["message", "deletion"]
        await ada.reload()
        await expect(ada.locator(".message.person .body")).to_have_text("This message was deleted.")
        await expect(ada.locator(".quoted")).to_have_text("Ada This message was deleted.")


async def test_an_agents_message_can_be_taken_away(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await enter(browser, chat, "Ada")
        await chat.adapter.send(LOBBY, "wrong place", speaker=GUIDE, nonce="n1", final=True)
        await expect(page.locator(".message", has_text="wrong place")).to_be_visible()
        await chat.adapter.delete(LOBBY, "n1", speaker=GUIDE)
        await expect(page.locator(".message", has_text="wrong place")).to_have_count(0)
        await expect(page.locator(".message.agent .row")).to_be_hidden()


async def test_people_react_with_the_keyboard_and_take_it_back(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        ada, grace = await enter(browser, chat, "Ada"), await enter(browser, chat, "Grace")
        await chat.adapter.send(LOBBY, "Good news", speaker=GUIDE, nonce="n1", final=True)
        message = ada.locator(".message.agent")
        await message.hover()
        await tool(message, "React").focus()
        await ada.keyboard.press("Enter")
        await expect(ada.get_by_role("button", name="React with 👍")).to_be_focused()
        await ada.keyboard.press("ArrowRight")
        await ada.keyboard.press("Enter")
        chip = grace.locator(".reaction")
        await expect(chip).to_have_text("❤️ 1")
        await expect(chip).to_have_attribute("aria-pressed", "false")
        await chip.click()
        await expect(ada.locator(".reaction")).to_have_text("❤️ 2")
        await expect(ada.locator(".reaction")).to_have_attribute("title", "Ada, Grace")
        await chip.click()
        await expect(ada.locator(".reaction")).to_have_text("❤️ 1")
        assert [(each.act, each.text, each.message_id) for each in heard] == [
            ("reaction", "❤️", "n1"),
            ("reaction", "❤️", "n1"),
            ("reaction", "", "n1"),
        ]


async def test_messages_are_one_tab_stop_and_keys_act_on_the_one_that_has_the_focus(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        for number in range(3):
            await chat.adapter.send(LOBBY, f"m{number}", speaker=GUIDE, nonce=f"n{number}", final=True)
        page = await enter(browser, chat, "Ada")
        stops = page.locator("#room-timeline [tabindex='0'], #room-timeline button:visible")
        await expect(stops).to_have_count(1)
        await stops.focus()
        await page.keyboard.press("ArrowUp")
        await expect(page.locator(".row:focus")).to_contain_text("m1")
        await page.keyboard.press("r")
        await expect(page.locator("#room-composer textarea")).to_be_focused()
        await page.keyboard.type("to m1")
        await page.keyboard.press("Enter")
        await own(page, "to m1")
        assert [(each.text, each.quote and each.quote.text) for each in heard] == [("to m1", "m1")]
        await page.locator("#room-timeline .row[tabindex='0']").focus()
        for key, text in (("Home", "m0"), ("ArrowUp", "m0"), ("ArrowDown", "m1"), ("End", "to m1")):
            await page.keyboard.press(key)
            await expect(page.locator(".row:focus")).to_contain_text(text)
        await page.keyboard.press("e")
        await expect(page.locator("#room-composer textarea")).to_have_value("to m1")
        await page.keyboard.press("Escape")
        await page.locator("#room-timeline .row[tabindex='0']").focus()
        await page.keyboard.press("ArrowUp")
        await page.keyboard.press("e")  # it is another's: nothing happens
        await expect(page.locator(".row:focus")).to_contain_text("m2")
        await page.keyboard.press("t")
        await expect(page.locator("#thread-composer textarea")).to_be_focused()


async def test_tab_goes_through_one_message_and_arrows_through_the_rooms(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        for number in range(3):
            link = f"m{number} [there](https://example.org/{number})"
            await chat.adapter.send(LOBBY, link, speaker=GUIDE, nonce=f"n{number}", final=True)
        page = await enter(browser, chat, "Ada")
        box = page.locator("#room-composer textarea")
        await box.focus()
        await page.keyboard.press("Shift+Tab")
        await page.keyboard.press("Shift+Tab")  # past the button for files
        await expect(page.locator(".row:focus")).to_contain_text("m2")
        await page.keyboard.press("ArrowUp")
        await page.keyboard.press("Tab")
        await expect(page.locator("a:focus")).to_have_attribute("href", "https://example.org/1")
        for tool_ in ("React", "Reply", "Copy the text", "Good answer", "Bad answer", "Reply in thread"):
            await page.keyboard.press("Tab")
            await expect(page.locator(":focus")).to_have_attribute("aria-label", tool_)
        await page.keyboard.press("Tab")
        await expect(page.locator("#room-composer :focus")).to_have_count(1)
        await page.keyboard.press("Shift+Tab")
        await page.keyboard.press("Shift+Tab")
        await expect(page.locator("#search-room")).to_be_focused()

        await page.locator("#new-room-name").fill("Ideas")
        await page.keyboard.press("Enter")
        await expect(page.locator("#rooms [tabindex='0']")).to_have_text("ideas")
        await page.locator("#rooms [tabindex='0']").focus()
        await page.keyboard.press("ArrowUp")
        await chat.adapter.send(LOBBY, "news", speaker=GUIDE, nonce="n9", final=True)
        await expect(page.locator("#rooms .badge")).to_have_text("1")  # the list was drawn anew, and the focus stays
        await page.keyboard.press("Enter")
        await expect(page.locator("#room-name")).to_have_text("lobby")


async def test_a_question_mark_shows_the_keys_but_not_in_a_text(browser: Browser) -> None:
    async with web_chat() as chat:
        await chat.adapter.send(LOBBY, "m0", speaker=GUIDE, nonce="n0", final=True)
        page = await enter(browser, chat, "Ada")
        keys = page.get_by_role("dialog", name="Keys")
        await page.locator("#room-composer textarea").press("?")
        await expect(keys).to_be_hidden()
        await page.locator("#room-timeline .row").focus()
        await page.keyboard.press("?")
        await expect(keys).to_contain_text("edit your message")
        await page.keyboard.press("Escape")
        await expect(keys).to_be_hidden()


async def test_our_mark_shows_that_a_message_waits_and_is_nobodys_reaction(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada")
        await say(page, "one more thing")
        await own(page, "one more thing")
        (kept,) = await chat.store.history("lobby", limit=1)
        await chat.adapter.react(LOBBY, kept.id, "queued")
        await expect(page.get_by_role("img", name="Waits until the agent has time")).to_have_text("⏳")
        await expect(page.locator(".reaction")).to_have_count(0)
        await chat.adapter.react(LOBBY, kept.id, "seen")  # its answer will say so
        await expect(page.locator(".reactions > *")).to_have_count(0)


async def test_a_reply_shows_what_it_answers_and_leads_there(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        await chat.adapter.send(LOBBY, "The <i>first</i> question", speaker=GUIDE, nonce="n1", final=True)
        message = page.locator(".message.agent")
        await message.hover()
        await tool(message, "Reply").click()
        await expect(page.locator("#room-composer .context")).to_contain_text("Replying to Guide")
        await say(page, "my answer")
        answer = await own(page, "my answer")
        await expect(answer.locator(".quoted")).to_have_text("Guide The first question")
        await answer.locator(".quoted").click()
        await expect(message.locator(".row")).to_be_focused()
        quote = heard[0].quote
        assert quote is not None
        assert (quote.message_id, quote.author, quote.text) == ("n1", "Guide", "The <i>first</i> question")
        await chat.adapter.send(
            LOBBY, "thanks", speaker=GUIDE, nonce="n2", final=True, reply_to=str(heard[0].message_id)
        )
        quoted = page.locator(".message.agent .quoted")
        await expect(quoted).to_have_text("Ada my answer")
        await expect(quoted).to_be_hidden()  # it stands right above


async def test_a_reply_and_its_files_wait_in_their_room(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        await chat.adapter.send(LOBBY, "Tea or coffee?", speaker=GUIDE, nonce="n1", final=True)
        await chat.adapter.send(Address("web", "garden"), "Rain", speaker=GUIDE, nonce="n2", final=True)
        message = page.locator(".message.agent")
        await message.hover()
        await tool(message, "Reply").click()
        await page.locator("#room-composer textarea").fill("tea")
        note = FilePayload(name="note.txt", mimeType="text/plain", buffer=b"with milk")
        await page.locator("#room-composer input[type=file]").set_input_files(note)
        context, files = page.locator("#room-composer .context"), page.locator("#room-composer .uploads li")
        await expect(files).to_contain_text("note.txt")

        await page.evaluate("location.hash = 'garden'")
        await expect(page.locator("#room-timeline .body")).to_have_text(["Rain"])
        await expect(context).to_be_hidden()
        await expect(files).to_have_count(0)
        await say(page, "at last")
        await own(page, "at last")

        await page.evaluate("location.hash = 'lobby'")
        await expect(context).to_contain_text("Replying to Guide")
        await expect(files).to_contain_text("note.txt")
        await page.get_by_role("button", name="Send", exact=True).first.click()
        await expect((await own(page, "tea")).locator(".quoted")).to_have_text("Guide Tea or coffee?")
        said = [(item.address.conversation, item.quote is not None, len(item.attachments)) for item in heard]
        assert said == [("garden", False, 0), ("lobby", True, 1)]


async def test_what_a_person_wrote_is_never_unread(browser: Browser) -> None:
    away = "document.hasFocus = () => false"
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada", scripts=[away])
        await chat.adapter.send(LOBBY, "Hi", speaker=GUIDE, nonce="n1", final=True)
        await expect(page).to_have_title("(1) lobby · Parley")
        await say(page, "one")
        await own(page, "one")
        await expect(page).to_have_title("lobby · Parley")
        phone = await (await browser.new_context(storage_state=await page.context.storage_state())).new_page()
        await page.context.set_offline(True)
        await expect(page.locator("#connection")).to_contain_text("You are offline")
        await phone.goto(chat.url)
        await say(phone, "two")
        await own(phone, "two")
        await page.context.set_offline(False)
        await expect(page.locator(".message.person", has_text="two")).to_be_visible()
        await expect(page).to_have_title("lobby · Parley")


async def test_who_edits_and_goes_elsewhere_writes_something_new_there(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        await chat.adapter.send(Address("web", "garden"), "Rain", speaker=GUIDE, nonce="n2", final=True)
        await say(page, "tea")
        await own(page, "tea")
        await page.keyboard.press("ArrowUp")
        context = page.locator("#room-composer .context")
        await expect(context).to_contain_text("Editing your message")
        await page.evaluate("location.hash = 'garden'")
        await expect(page.locator("#room-timeline .body")).to_have_text(["Rain"])
        await expect(context).to_be_hidden()
        await say(page, "at last")
        await own(page, "at last")
        said = [(item.address.conversation, item.act) for item in heard]
        assert said == [("lobby", "message"), ("garden", "message")]


async def test_who_repeats_themselves_folds_what_came_of_it_but_never_the_words_of_somebody_else(
    browser: Browser,
) -> None:
    async with web_chat() as chat, listening(chat):
        ada = await enter(browser, chat, "Ada")
        for text, somebody_else in (("tea, please", False), ("coffee, please", True)):
            await say(ada, text)
            await chat.adapter.send(LOBBY, f"No {text} today", speaker=GUIDE, nonce=text, final=True)
            if somebody_else:
                await say(await enter(browser, chat, "Bob"), "wait for me")
                await expect(ada.locator(".message", has_text="wait for me")).to_be_visible()
            message = await own(ada, text)
            await message.hover()
            await tool(message, "Reply").click()
            await say(ada, text)
            await expect(ada.locator(".message.agent", has_text=text)).to_have_count(1 if somebody_else else 0)
        await expect(ada.locator(".message", has_text="coffee, please")).to_have_count(3)
        await ada.get_by_role("button", name="Show the earlier answer").click()
        await expect(ada.locator(".message", has_text="tea, please")).to_have_count(3)


async def test_what_an_agent_answers_is_repeated_where_something_stands_between(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        await say(page, "first question")
        await own(page, "first question")
        await say(page, "second question")
        await own(page, "second question")
        question = str(heard[0].message_id)
        await chat.adapter.send(LOBBY, "an answer", speaker=GUIDE, nonce="n1", final=True, reply_to=question)
        await expect(page.locator(".message.agent .quoted")).to_be_visible()
        await expect(page.locator(".message.agent .quoted")).to_have_text("Ada first question")


async def test_the_stop_button_is_there_while_an_agent_works(browser: Browser) -> None:
    async with web_chat() as chat, chat.adapter.connect() as said:
        page = await enter(browser, chat, "Ada")
        stop = page.locator("#room-composer").get_by_role("button", name="Stop")
        await expect(stop).to_be_hidden()
        await chat.adapter.typing(LOBBY, Speaker("1", "Accountant"), doing="looking up tax codes")
        status = page.locator("#room-composer .typing-words")
        await expect(status).to_have_text("Accountant: looking up tax codes")
        await expect(stop).to_be_visible()
        await chat.adapter.send(LOBBY, "It", speaker=Speaker("1", "Accountant"), nonce="n1", final=False)
        await expect(status).to_have_text("")
        await stop.click()
        pressed = await anext(said)
        assert (pressed.command, pressed.text, pressed.address) == ("stop", "", LOBBY)
        await chat.adapter.edit(LOBBY, "n1", "It ⏹", speaker=Speaker("1", "Accountant"), nonce="n1", final=True)
        await expect(stop).to_be_hidden()
        await expect(page.locator("#room-composer textarea")).to_be_focused()


async def test_nobody_seems_to_work_who_has_ended_or_was_stopped(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await enter(browser, chat, "Ada")
        await chat.adapter.typing(LOBBY, Speaker("1", "Accountant"))
        await chat.adapter.typing(LOBBY, Speaker("2", "Clerk"))
        status = page.locator("#room-composer .typing-words")
        await expect(status).to_have_text("Accountant, Clerk are thinking")
        await chat.adapter.end_typing(LOBBY, Speaker("2", "Clerk"))
        await expect(status).to_have_text("Accountant is thinking")
        await chat.adapter.send(LOBBY, "⏹ Stopped.", speaker=GATEWAY, nonce="n1", final=True)
        await expect(status).to_have_text("")


async def test_mentions_are_completed_and_highlighted(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        ada, grace = await enter(browser, chat, "Ada"), await enter(browser, chat, "Grace Hopper")
        await chat.adapter.send(LOBBY, "I am here", speaker=GUIDE, nonce="n1", final=True)
        await expect(ada.locator("#presence .count")).to_have_text("2 here")
        box = ada.locator("#room-composer textarea")
        await box.press_sequentially("ask @hop")
        await expect(ada.get_by_role("option")).to_have_text(["@Grace Hopper person"])
        await box.press("Enter")
        await expect(box).to_have_value("ask @Grace Hopper ")
        await box.press_sequentially("or `@Guide`, @Guide")
        await box.press("Enter")
        await expect(grace.locator(".message.person .mention")).to_have_text(["@Grace Hopper", "@Guide"])
        await expect(grace.locator(".mention.mine")).to_have_text("@Grace Hopper")
        assert heard[0].text == "ask @Grace Hopper or `@Guide`, @Guide"
        who = await grace.evaluate("fetch('/session').then(answer => answer.json()).then(data => data.person.id)")
        link = f"[@Grace](person:{who})"
        await chat.adapter.send(LOBBY, f"{link} and [@Bob](person:web:bob)", speaker=GUIDE, nonce="n2", final=True)
        last = grace.locator(".message.agent").last
        await expect(last.locator(".mention")).to_have_text(["@Grace", "@Bob"])
        await expect(last.locator(".mention.mine")).to_have_text("@Grace")
        await expect(last.locator(".body a")).to_have_count(0)


async def test_a_name_full_of_html_is_only_a_name(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        evil = "<img src=x onerror=hurt=1>"
        eve, ada = await enter(browser, chat, evil), await enter(browser, chat, "Ada")
        await say(eve, f"hello @{evil}")
        message = ada.locator(".message.person")
        await expect(message.locator(".author")).to_have_text(evil)
        await message.hover()
        await tool(message, "Reply").click()
        await expect(ada.locator("#room-composer .context")).to_contain_text(f"Replying to {evil}")
        assert await ada.locator("#app img[src=x]").count() == 0
        assert await ada.evaluate("window.hurt") is None


async def test_on_a_phone_everything_is_reached_by_touch(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada", **PHONE)
        await say(page, "hello")
        await page.get_by_role("button", name="Send").tap()
        message = await own(page, "hello")
        await tool(message, "Actions").tap()
        sheet = page.get_by_role("dialog", name="Actions on the message from Ada")
        await expect(sheet.get_by_role("button")).to_contain_text(["👍"])
        await sheet.get_by_role("button", name="React with 🎉").tap()
        await expect(page.locator(".reaction")).to_have_text("🎉 1")
        assert [each.act for each in heard] == ["message", "reaction"]
        assert await page.evaluate("document.documentElement.scrollWidth") == 360
        await expect(sheet).to_have_count(0)
        await expect(tool(message, "Actions")).to_be_focused()
        await message.locator(".body").dispatch_event("pointerdown", {"pointerType": "touch"})  # and held
        await expect(sheet).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(sheet).to_have_count(0)
        await expect(tool(message, "Actions")).to_be_focused()
        body = message.locator(".body")
        for name in ("span", "button", "a", "audio", "video", "input", "textarea", "summary"):
            assert await body.evaluate(HELD, name) == ([450] if name == "span" else []), name
        selectable = "(body) => [getComputedStyle(body).userSelect !== 'none', String(getSelection()).trim()]"
        assert await body.evaluate(selectable) == [False, ""]
        await tool(message, "Actions").tap()
        await sheet.get_by_role("button", name="Select text").tap()
        assert await body.evaluate(selectable) == [True, "hello"]
        await body.tap()
        asks = "(body) => body.dispatchEvent(new Event('contextmenu', { bubbles: true, cancelable: true }))"
        assert (await body.evaluate(selectable))[0]
        assert await body.evaluate(asks)
        await page.locator("#room-composer textarea").tap()
        assert await body.evaluate(selectable) == [False, ""]
        assert not await body.evaluate(asks)
        await tool(message, "Actions").tap()
        await sheet.get_by_role("button", name="Edit").tap()
        await expect(page.locator("#room-composer textarea")).to_be_focused()
        await expect(page.locator("#room-composer textarea")).to_have_value("hello")


async def test_only_the_last_exchange_is_answered_again_also_when_others_speak_meanwhile(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page, other = await enter(browser, chat, "Ada"), await enter(browser, chat, "Grace")
        await say(page, "How many?")
        await own(page, "How many?")
        await chat.adapter.send(LOBBY, "Four.", speaker=GUIDE, nonce="a1", final=True)
        answer = page.locator(".message.agent")
        await answer.hover()
        again = tool(answer, "Answer again")
        await expect(again).to_be_visible()
        await say(other, "Or five?")
        await expect(page.locator(".message.person")).to_have_count(2)
        await again.evaluate("(button) => button.click()")
        await expect(page.get_by_role("alert").filter(has_text="It cannot be answered again.")).to_be_visible()
        await expect(page.locator(".message.person .body")).to_have_text(["How many?", "Or five?"])


async def test_on_a_phone_every_message_has_its_actions_a_tap_moves_nothing_and_a_finger_may_tremble(
    browser: Browser,
) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada", **PHONE)
        for number in range(4):
            text = f"m{number} " + "with so many words that they need more than a line of the phone " * (number % 2)
            await chat.adapter.send(LOBBY, text, speaker=GUIDE, nonce=str(number), final=True)
        await expect(page.locator(".message.continued")).to_have_count(3)
        for number in range(4):
            message = page.locator(".message", has_text=f"m{number}")
            await expect(tool(message, "Actions")).to_be_visible()
            words = "(body) => { const range = document.createRange(); range.selectNodeContents(body);"
            right = await message.locator(".body").evaluate(f"{words} return range.getBoundingClientRect().right; }}")
            box = await tool(message, "Actions").bounding_box()
            assert box is not None
            assert number == 0 or right <= box["x"], "it stands on the words"
        heights = "(rows) => rows.map((row) => row.getBoundingClientRect().top)"
        before = await page.locator(".message .row").evaluate_all(heights)
        await page.locator(".message", has_text="m2").locator(".body").tap()
        assert await page.locator(".message .row").evaluate_all(heights) == before
        finger = await page.context.new_cdp_session(page)
        box = await page.locator(".message", has_text="m3").locator(".body").bounding_box()
        assert box is not None
        touch = {"x": box["x"] + 9, "y": box["y"] + box["height"] / 2}
        await finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [touch]})
        await finger.send(
            "Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{**touch, "x": touch["x"] + 4}]}
        )
        await expect(page.get_by_role("dialog", name="Actions on the message from Guide")).to_be_visible()
        await finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


async def test_a_finger_that_opened_the_sheet_presses_nothing_when_it_lets_go(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada", **PHONE)
        for number in range(12):
            await chat.adapter.send(LOBBY, f"m{number}", speaker=GUIDE, nonce=str(number), final=True)
        finger = await page.context.new_cdp_session(page)
        await expect(page.locator(".message", has_text="m11")).to_be_visible()
        sheet = page.get_by_role("dialog", name="Actions on the message from Guide")
        for number in (8, 9, 10, 11):  # wherever the sheet opens, it does below one of them
            box = await page.locator(".message", has_text=f"m{number}").locator(".body").bounding_box()
            assert box is not None
            touch = {"x": box["x"] + 5, "y": box["y"] + box["height"] / 2}
            await finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [touch]})
            await expect(sheet).to_be_visible()
            await finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
            await sheet.get_by_role("button", name="React with 🎉").tap()
            await expect(page.locator(".message", has_text=f"m{number}").locator(".reaction")).to_have_text("🎉 1")
