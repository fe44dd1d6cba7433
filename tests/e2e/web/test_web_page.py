"""The chat page in Chromium, with the test as its agent."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, Page, WebSocketRoute, expect

from adapters.adapter import Inbound
from adapters.web import hub
from adapters.web.codec import Presence, WebVisitor
from runtime.core.address import GATEWAY, Address, Speaker
from tests.e2e.browsing import LIMIT_MS
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")
TYPES_ON = """{
    const really = window.setTimeout;
    window.setTimeout = (action, after, ...more) => really(action, after === 6000 ? 1e9 : after, ...more);
}"""
"""Who writes is not forgotten after six seconds: when the line goes, something was said, however slow the machine."""

PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


@asynccontextmanager
async def listening(chat: WebChat) -> AsyncGenerator[list[Inbound]]:
    """Somebody takes in whatever people say; yields what there was so far."""
    heard: list[Inbound] = []

    async def listen() -> None:
        async with chat.adapter.connect() as said:
            async for item in said:
                heard.append(item)  # noqa: PERF401 - the test looks at it while it grows

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen)
        yield heard
        tasks.cancel_scope.cancel()


def _waits(*, really_ms: int) -> str:
    """A script that keeps how long the page would wait before it connects again, and lets it wait for another time."""
    return f"""{{
        const really = window.setTimeout;
        window.waits = [];
        window.setTimeout = (action, after, ...more) => {{
            if (!String(action).includes("this.now()")) return really(action, after, ...more);
            window.waits.push(after);
            document.documentElement.dataset.waits = window.waits.length;
            document.documentElement.dataset.seconds = Math.floor(after / 1000);
            return really(action, Math.min({really_ms}, 2 ** 31 - 1), ...more);
        }};
    }}"""


async def enter(browser: Browser, chat: WebChat, name: str, *, scripts: Sequence[str] = (), **context: Any) -> Page:
    """A new browser profile in which somebody has chosen a name."""
    page = await (await browser.new_context(**context)).new_page()
    page.set_default_timeout(LIMIT_MS)
    for script in (TYPES_ON, *scripts):
        await page.add_init_script(script)
    await page.goto(chat.url)
    await page.get_by_label("Your name").fill(name)
    await page.get_by_role("button", name="Start chatting").click()
    await expect(page.locator("#presence")).to_contain_text("here")
    return page


async def say(page: Page, text: str, box: str = "#room-composer") -> None:
    await page.locator(f"{box} textarea").fill(text)
    await page.locator(f"{box} textarea").press("Enter")


async def shown(page: Page) -> list[str]:
    """What the room shows, from top to bottom."""
    return await page.locator("#room-timeline .message:not(.notice) .body").all_inner_texts()


async def test_an_answer_grows_on_the_page_and_ends_as_markdown(browser: Browser) -> None:
    async with web_chat() as chat, chat.adapter.connect() as said:
        page = await enter(browser, chat, "Ada")
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        await page.get_by_role("button", name="Say hello").click()
        assert (await anext(said)).text == "Hello!"
        await expect(page.get_by_text("Nothing has been said here yet")).to_be_hidden()

        answer = page.locator(".message.agent")
        await chat.adapter.send(LOBBY, "Here", speaker=GUIDE, nonce="n1", final=False)
        await expect(answer.locator(".body")).to_have_text("Here")
        await expect(answer).to_have_class("message agent live")
        for text in (
            "Here is **co",
            "Here is **code**:\n\n```python\nprint(1",
            "Here is **code**:\n\n```python\nprint(12)\n",
        ):
            await chat.adapter.edit(LOBBY, "n1", text, speaker=GUIDE, nonce="n1", final=False)
        await expect(answer.locator("pre")).to_have_text("print(12)")
        evil = (
            "<script>window.hurt=1</script> [x](javascript:hurt=1) <img src=x onerror=hurt=1> ![p](http://a.example/p)"
        )
        table = "| a | b |\n|---|--:|\n| 1 | 2 |\n\n3. third"
        final = f"Here is **code**:\n\n```python\nprint(12)\n```\n\n{table}\n\nand {evil}"
        await chat.adapter.edit(LOBBY, "n1", final, speaker=GUIDE, nonce="n1", final=True)
        await expect(answer).to_have_class("message agent")
        await expect(answer.locator(".code-head")).to_have_text("python")
        await expect(answer.get_by_role("button", name="Copy the code")).to_be_visible()
        await expect(answer.locator("strong")).to_have_text("code")
        await expect(answer.locator("td").nth(1)).to_have_css("text-align", "right")
        await expect(answer.locator("ol")).to_have_attribute("start", "3")
        assert await answer.locator("script, .body img, a[href^=javascript]").count() == 0
        assert await page.evaluate("window.hurt") is None
        assert errors == []


async def test_a_reload_shows_the_history_to_the_same_person(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada")
        await say(page, "first")
        await say(page, "second")
        await expect(page.locator(".sending")).to_have_count(0)
        await page.reload()
        await expect(page.locator("#me")).to_contain_text("Ada")
        await expect(page.locator(".message .body")).to_have_text(["first", "second"])


async def test_two_people_see_each_other_and_not_what_a_command_answers_the_other(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        ada = await enter(browser, chat, "Ada")
        grace = await enter(browser, chat, "Grace")
        await expect(ada.locator("#presence")).to_contain_text("2 here")
        await ada.locator("#room-composer textarea").press_sequentially("Hi")
        await expect(grace.locator("#room-composer .typing-words")).to_have_text("Ada is typing")
        await ada.locator("#room-composer textarea").press("Enter")
        await expect(grace.locator(".message .author")).to_have_text("Ada")
        await expect(grace.locator("#room-composer .typing-words")).to_have_text("")
        await say(grace, "Hi Ada")
        await expect(ada.locator(".message .body")).to_have_text(["Hi", "Hi Ada"])
        await chat.adapter.answer_alone(LOBBY, heard[0].person_id, "You used **2** models.")
        await expect(ada.locator(".message.alone .body")).to_have_text("You used 2 models.")
        await expect(ada.locator(".message.alone")).to_contain_text("Only you see this")
        await say(ada, "Well")
        await expect(grace.locator(".message .body")).to_have_text(["Hi", "Hi Ada", "Well"])
        await expect(ada.locator(".message .body")).to_have_text(["Hi", "Hi Ada", "You used 2 models.", "Well"])
        await grace.context.close()
        await expect(ada.locator("#presence")).to_contain_text("1 here")


async def test_everybody_sees_the_same_colours_and_on_a_phone_how_many_more_are_here(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        ada = await enter(browser, chat, "Ada")
        await say(ada, "Hi")
        for number in range(9):
            host = Speaker(str(number), f"Host {number}")
            await chat.adapter.send(LOBBY, "Hello", speaker=host, nonce=f"n{number}", final=True, reply_to=None)
        grace = await enter(browser, chat, "Grace")
        hues = """() => {
            const authors = [...document.querySelectorAll(".message .author")];
            return authors.map((one) => getComputedStyle(one).getPropertyValue("--hue"));
        }"""
        for page in (ada, grace):
            await expect(page.locator(".message")).to_have_count(10)
        seen = await ada.evaluate(hues)
        assert await grace.evaluate(hues) == seen
        await chat.adapter.send(Address("web", "team"), "Hi", speaker=GUIDE, nonce="t", final=True, reply_to=None)
        for room, count in (("team", 1), ("lobby", 10)):
            await grace.locator(f'[data-room="{room}"]').click()
            await expect(grace.locator(".message")).to_have_count(count)
        assert await grace.evaluate(hues) == seen, "in another room meanwhile"
        assert len(set(seen)) > 5
        await grace.set_viewport_size({"width": 390, "height": 844})
        await grace.reload()
        await expect(grace.locator(".faces .avatar")).to_have_count(2)
        await expect(grace.locator(".faces .more")).to_have_text("+9")
        for number in range(120):  # the page loads the newest ones alone
            other = Speaker("9", "Host 9")
            await chat.adapter.send(LOBBY, "Hm", speaker=other, nonce=f"m{number}", final=True, reply_to=None)
        await chat.adapter.send(LOBBY, "Bye", speaker=Speaker("3", "Host 3"), nonce="bye", final=True, reply_to=None)
        await grace.reload()
        last = grace.locator(".message .author", has_text="Host 3").last
        assert await last.evaluate("(one) => getComputedStyle(one).getPropertyValue('--hue')") == seen[4]


HIDES_ONE_LINE_ABOVE = """message => {
    const above = message.previousElementSibling?.querySelector(".body p");
    if (!above) return true;
    const words = document.createRange();
    words.selectNodeContents(above.firstChild);
    const lines = [...words.getClientRects()];
    const tools = message.querySelector(".tools").getBoundingClientRect();
    const hidden = lines.filter((line) => line.right > tools.left && line.bottom > tools.top + 2);
    return hidden.length <= 1 && above.getBoundingClientRect().bottom - lines.at(-1).bottom < 8;
}"""


async def test_the_tools_of_a_message_hide_none_of_its_words_and_of_those_above_a_line_while_it_is_pointed_at(
    browser: Browser,
) -> None:
    async with web_chat() as chat, listening(chat):
        ada = await enter(browser, chat, "Ada")
        for count in range(40, 46):
            await say(ada, "many words " * count)
        await expect(ada.locator(".sending")).to_have_count(0)
        for message in await ada.locator(".message").all():
            await message.hover()
            tools, body = [await message.locator(part).bounding_box() for part in (".tools", ".body")]
            assert tools is not None
            assert body is not None
            assert tools["y"] + tools["height"] <= body["y"] + 2
            assert await message.evaluate(HIDES_ONE_LINE_ABOVE), "more is hidden, or a line is empty"
        await ada.locator("#room-composer").hover()
        for each in await ada.locator(".tools").all():
            await expect(each).to_have_css("opacity", "0")


async def test_the_tools_of_a_short_message_stand_beside_its_words_and_not_on_those_above(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        ada = await enter(browser, chat, "Ada")
        await chat.adapter.send(LOBBY, "many words " * 40, speaker=GUIDE, nonce="n1", final=True)
        await chat.adapter.send(LOBBY, "What would you like?", speaker=GUIDE, nonce="n2", final=True)
        above, short = ada.locator('[data-id="n1"] .body'), ada.locator('[data-id="n2"]')
        await short.hover()
        await expect(short.locator(".tools")).to_have_css("opacity", "1")
        said, words, tools = [
            await each.bounding_box() for each in (above, short.locator("p"), short.locator(".tools"))
        ]
        assert said is not None
        assert words is not None
        assert tools is not None
        assert said["y"] + said["height"] <= tools["y"] + 2
        assert tools["y"] < words["y"] + words["height"]


async def test_what_is_written_offline_is_sent_once_and_what_was_missed_is_shown_once(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        await say(page, "one")
        await expect(page.locator(".sending")).to_have_count(0)
        await page.context.set_offline(True)
        await expect(page.locator("#connection")).to_contain_text("You are offline")
        await say(page, "three")
        await expect(page.locator(".pending .sending")).to_have_text("Not sent yet")
        await chat.adapter.send(LOBBY, "two", speaker=GUIDE, nonce="n1", final=True)
        await page.context.set_offline(False)
        await expect(page.locator("#connection")).to_be_hidden()
        await expect(page.locator(".pending")).to_have_count(0)
        assert await shown(page) == ["one", "two", "three"]
        assert [item.text for item in heard] == ["one", "three"]


async def test_a_restarted_gateway_is_found_again_and_nothing_is_lost_or_doubled(browser: Browser) -> None:
    async with web_chat() as first:
        page = await enter(browser, first, "Ada")
        await say(page, "before")
        await expect(page.locator(".message .body")).to_have_text(["before"])
        await first.adapter.send(LOBBY, "I was say", speaker=GUIDE, nonce="n1", final=False)
        await expect(page.locator(".live .body")).to_have_text("I was say")
    await expect(page.locator("#connection")).to_contain_text("Connection lost")
    await say(page, "while you were away")
    async with web_chat(first.store, port=first.port) as second, listening(second) as heard:
        await expect(page.locator(".pending")).to_have_count(0)
        await expect(page.locator(".live")).to_have_count(0)
        await second.adapter.edit(LOBBY, "n1", "I was saying this.", speaker=GUIDE, nonce="n1", final=True)
        await expect(page.locator(".message.agent .body")).to_have_text("I was saying this.")
        assert await shown(page) == ["before", "I was saying this.", "while you were away"]
        assert [item.text for item in heard] == ["before", "while you were away"]
        await page.reload()
        await expect(page.locator(".message .body")).to_have_count(3)


async def test_a_gateway_is_looked_for_every_2_seconds_at_first_and_later_less_often(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await enter(browser, chat, "Ada", scripts=[_waits(really_ms=20)])
    await expect(page.locator("html")).to_have_attribute("data-waits", re.compile("[7-9]|.."))
    first = await page.evaluate("window.waits.slice()")
    assert max(first) <= 2_000
    assert first[0] < 600
    await page.evaluate("{ const now = Date.now; Date.now = () => now() + 6 * 60_000; }")
    await expect(page.locator("html")).to_have_attribute("data-seconds", re.compile("1."))
    assert await page.evaluate("Math.max(...window.waits)") < 20_000


async def test_a_key_finds_the_gateway_again_at_once(browser: Browser) -> None:
    async with web_chat() as first:
        page = await enter(browser, first, "Ada", scripts=[_waits(really_ms=1_000_000_000)])
    await expect(page.locator("#connection")).to_contain_text("Connection lost")
    async with web_chat(first.store, port=first.port), listening(first):
        await page.evaluate("{ const now = Date.now; Date.now = () => now() + 5_000; }")
        await page.locator("#room-composer textarea").press("h")
        await expect(page.locator("#connection")).to_be_hidden()


async def test_a_page_too_many_says_why_and_comes_in_when_another_is_closed(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MAX_PAGES_A_PERSON", 1)
    async with web_chat() as chat, listening(chat):
        first = await enter(browser, chat, "Ada")
        second = await first.context.new_page()
        second.set_default_timeout(LIMIT_MS)
        await second.goto(chat.url)
        bar = second.locator("#connection")
        await expect(bar).to_contain_text("You have this chat open in 1 pages already. Close one of them.")
        await first.close()
        await bar.get_by_role("button").click()
        await expect(bar).to_be_hidden(timeout=LIMIT_MS)
        await expect(second.locator("#presence")).to_contain_text("1 here")


async def test_the_way_back_leads_out_of_a_thread_to_its_room(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada")
        await say(page, "a root")
        root = page.locator("#room-timeline .message")
        await root.hover()
        await root.get_by_role("button", name="Reply in thread").click()
        await expect(page.locator("#thread")).to_be_visible()
        await page.go_back()
        await expect(page.locator("#thread")).to_be_hidden()
        await expect(root).to_be_visible()


async def test_a_thread_opens_beside_the_room_and_shows_on_its_message(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat) as heard:
        page = await enter(browser, chat, "Ada")
        await say(page, "root")
        root = page.locator("#room-timeline .message")
        await root.hover()
        await root.get_by_role("button", name="Reply in thread").click()
        await expect(page.locator("#thread .thread-note")).to_contain_text("nothing else of the room")
        await say(page, "in the thread", "#thread-composer")
        await expect(page.locator("#thread .message .body")).to_have_text(["root", "in the thread"])
        await expect(root.locator(".replies")).to_contain_text("1 reply")
        await expect(page.locator("#thread .sending")).to_have_count(0)
        assert heard[1].address == Address("web", "lobby", heard[0].event_id)
        await chat.adapter.send(heard[1].address, "and I answer", speaker=GUIDE, nonce="n1", final=True)
        await expect(page.locator("#thread .message.agent .body")).to_have_text("and I answer")
        assert await shown(page) == ["root"]
        await page.keyboard.press("Escape")
        await expect(page.locator("#thread")).to_be_hidden()
        await page.reload()
        await root.locator(".replies").click()
        await expect(page.locator("#thread .message .body")).to_have_text(["root", "in the thread", "and I answer"])


async def test_a_reload_and_a_link_keep_the_thread_open(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada")
        await chat.adapter.send(LOBBY, "the root", speaker=GUIDE, nonce="n0", final=True)
        await page.locator(".message.agent").hover()
        await page.get_by_role("button", name="Reply in thread").click()
        await say(page, "a reply", "#thread-composer")
        await expect(page.locator("#thread-timeline .message:not(.pending) .body")).to_have_text(
            ["the root", "a reply"]
        )
        await page.reload()
        await expect(page.locator("#thread-timeline .body")).to_have_text(["the root", "a reply"])
        link = page.url
        await page.get_by_role("button", name="Close the thread").click()
        await page.reload()
        await expect(page.locator("#room-timeline .replies")).to_contain_text("1 reply")
        await expect(page.locator("#thread")).to_be_hidden()
        await page.goto(link)
        await expect(page.locator("#thread-timeline .body")).to_have_text(["the root", "a reply"])


async def test_a_message_that_is_too_long_stays_in_its_box(browser: Browser) -> None:
    async with web_chat() as chat:
        page = await enter(browser, chat, "Ada")
        await say(page, "x" * 300_000)
        await expect(page.locator("#room-composer .form-error")).to_contain_text(
            "300,000 characters; the limit is 100,000"
        )
        assert len(await page.locator("#room-composer textarea").input_value()) == 300_000
        await expect(page.locator(".message")).to_have_count(0)


async def test_a_message_that_no_agent_may_be_given_stays_in_its_box_too(browser: Browser) -> None:
    async with web_chat(max_text=20) as chat, listening(chat):
        page = await enter(browser, chat, "Ada")
        await say(page, "x" * 21)
        error = page.locator("#room-composer .form-error")
        await expect(error).to_have_text("This message has 21 characters; the limit is 20. Shorten or split it.")
        await expect(page.locator("#room-composer textarea")).to_have_value("x" * 21)
        await expect(page.locator(".message")).to_have_count(0)
        await say(page, "x" * 20)
        await expect(page.locator(".message .body")).to_have_text(["x" * 20])


async def test_on_a_phone_the_way_back_closes_what_is_open_and_then_leaves(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada", **PHONE)
        await say(page, "hello")
        await page.get_by_role("button", name="Send").tap()
        await expect(page.locator(".message:not(.pending)")).to_have_count(1)
        body, start = page.locator("body"), page.url
        menu = page.get_by_role("button", name="Rooms", exact=True)
        await menu.tap()
        await expect(body).to_have_class("drawer")
        await page.go_back()
        await expect(body).not_to_have_class("drawer")
        await page.get_by_role("button", name="Actions").tap()
        await page.go_back()
        await expect(page.locator("dialog[open]")).to_have_count(0)
        await page.get_by_role("button", name="People and room").tap()
        await expect(page.locator("dialog[open]")).to_have_count(1)
        await page.go_back()
        await expect(page.locator("dialog[open]")).to_have_count(0)
        assert page.url == start
        await menu.tap()
        await page.get_by_placeholder("New room").fill("kitchen")
        await page.keyboard.press("Enter")
        await expect(page.locator("#room-name")).to_have_text("kitchen")
        await page.go_back()
        await expect(page.locator("#room-name")).to_have_text("lobby")
        await menu.tap()
        await page.keyboard.press("Escape")
        await expect(body).not_to_have_class("drawer")
        await page.go_back()
        await expect(page).to_have_url("about:blank")


async def test_the_reading_position_is_left_alone(browser: Browser) -> None:
    async with web_chat() as chat:
        for number in range(130):
            await chat.adapter.send(LOBBY, f"m{number}", speaker=GUIDE, nonce=f"n{number}", final=True)
        page = await enter(browser, chat, "Ada")
        await expect(page.locator(".message").last).to_have_attribute("aria-posinset", "60")
        await expect(page.get_by_text("m129", exact=True)).to_be_in_viewport()
        scroller = page.locator("#room-timeline .scroller")
        await scroller.hover()
        await page.mouse.wheel(0, -9000)
        await expect(page.get_by_text("m70", exact=True)).to_be_in_viewport()
        await page.mouse.wheel(0, -9000)
        await expect(page.locator(".message").first).to_have_attribute("aria-setsize", "130")
        await expect(page.get_by_text("m10", exact=True)).to_be_in_viewport()
        before = await scroller.evaluate("box => box.scrollTop")
        await chat.adapter.send(LOBBY, "news", speaker=GUIDE, nonce="news", final=True)
        pill = page.get_by_role("button", name="1 new message")
        await expect(pill).to_be_visible()
        assert await scroller.evaluate("box => box.scrollTop") == before
        await pill.click()
        await expect(page.get_by_text("news", exact=True)).to_be_in_viewport()
        await expect(pill).to_be_hidden()


async def test_the_end_is_followed_when_a_scroll_is_heard_of_after_something_has_grown(browser: Browser) -> None:
    async with web_chat() as chat:
        for number in range(40):
            await chat.adapter.send(LOBBY, f"m{number}", speaker=GUIDE, nonce=f"n{number}", final=True)
        page = await enter(browser, chat, "Ada", **PHONE)
        await expect(page.get_by_text("m39", exact=True)).to_be_in_viewport()
        await page.locator("#room-timeline .scroller").evaluate(
            "box => { box.firstElementChild.style.paddingBottom = '400px'; box.dispatchEvent(new Event('scroll')); }"
        )
        await page.locator("#room-composer textarea").fill("one\ntwo\nthree\nfour\nfive")
        await chat.adapter.send(LOBBY, "the newest", speaker=GUIDE, nonce="newest", final=True)
        await expect(page.get_by_text("the newest", exact=True)).to_be_in_viewport()
        await expect(page.locator("#room-timeline .pill")).to_be_hidden()


async def test_rooms_are_reached_by_keyboard_and_count_what_is_unread(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        ada = await enter(browser, chat, "Ada")
        grace = await enter(browser, chat, "Grace")
        await ada.keyboard.press("Control+k")
        await ada.get_by_role("combobox").fill("Ideas")
        await ada.keyboard.press("Enter")
        await expect(ada.locator("#room-name")).to_have_text("ideas")
        await expect(ada.locator(".message", has_text="Ada opened this room.")).to_be_visible()
        ideas = grace.locator("#rooms button", has_text="ideas")
        await expect(ideas).to_be_visible()
        await say(ada, "a first idea")
        await say(ada, "a second idea")
        await expect(ideas.locator(".badge")).to_have_text("2")
        await expect(grace).to_have_title("(2) lobby · Parley")
        await ideas.click()
        await expect(grace.locator(".message.person .body")).to_have_text(["a first idea", "a second idea"])
        await expect(grace).to_have_title("ideas · Parley")


async def test_a_link_to_a_room_works_before_the_page_has_heard_of_it(browser: Browser) -> None:
    def without_activity(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda frame: None if '"t":"activity"' in str(frame).replace(" ", "") else socket.send(frame))

    async with web_chat() as chat:
        ada, bob = await enter(browser, chat, "Ada"), await enter(browser, chat, "Bob")
        await bob.route_web_socket("**/ws", without_activity)
        await bob.reload()
        await expect(bob.locator("#presence")).to_contain_text("here")
        await ada.evaluate("location.hash = 'garden'")
        await expect(ada.locator("#room-name")).to_have_text("lobby")
        await expect(ada.get_by_text("There is no room 'garden'.")).to_be_visible()
        await ada.get_by_label("New room").fill("Garden")
        await ada.get_by_label("New room").press("Enter")
        await expect(ada.locator("#room-name")).to_have_text("garden")
        await bob.evaluate("location.hash = 'garden'")
        await expect(bob.locator("#room-timeline")).to_contain_text("Ada opened this room.")
        await expect(bob.locator("#room-name")).to_have_text("garden")
        await expect(bob.locator("#rooms button", has_text="garden")).to_be_visible()


async def test_commands_are_suggested_while_they_are_typed(browser: Browser) -> None:
    async with web_chat() as chat, chat.adapter.connect() as said:
        page = await enter(browser, chat, "Ada")
        box = page.locator("#room-composer textarea")
        await box.press_sequentially("/")
        await expect(page.get_by_role("option")).to_have_count(4)
        await box.press_sequentially("ne")
        await box.press("Enter")
        await expect(box).to_have_value("/new")
        await box.press("Enter")
        assert (await anext(said)).command == "new"


async def test_enter_sends_and_shift_enter_makes_a_line(browser: Browser) -> None:
    async with web_chat() as chat, chat.adapter.connect() as said:
        page = await enter(browser, chat, "Ada")
        box = page.locator("#room-composer textarea")
        await box.press_sequentially("one")
        await box.press("Shift+Enter")
        await box.press_sequentially("two")
        await box.press("Enter")
        assert (await anext(said)).text == "one\ntwo"
        await expect(box).to_have_value("")


async def test_a_phone_has_room_for_everything(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada", **PHONE)
        wide = f"{'x' * 400}\n\n```\n{'y' * 400}\n```\n\n|{'head|' * 20}\n|{'---|' * 20}\n|{'cell|' * 20}"
        await chat.adapter.send(LOBBY, wide, speaker=GUIDE, nonce="n1", final=True)
        await expect(page.locator(".message.agent table")).to_be_visible()
        many = Presence(tuple(WebVisitor(f"web:{number}", f"Guest {number}") for number in range(300)), 300)
        chat.adapter.board.people_elsewhere("another", "lobby", many)
        await expect(page.locator("#presence")).to_contain_text("301 here")
        assert await page.evaluate("document.documentElement.scrollWidth") == 360
        await expect(page.get_by_role("button", name="Search this room")).to_be_in_viewport(ratio=1)
        assert await page.locator("#room-name").evaluate("name => name.clientWidth") > 40
        await page.locator("#room-composer textarea").fill("from a phone")
        await page.get_by_role("button", name="Send").tap()
        await expect(page.locator(".message.person .body")).to_have_text("from a phone")
        await expect(page.locator("#sidebar")).to_be_hidden()
        await page.locator("#menu").tap()
        await page.get_by_label("Name of a new room").fill("Pocket")
        await page.get_by_role("button", name="Open the room").tap()
        await expect(page.locator("#room-name")).to_have_text("pocket")
        await expect(page.locator("#sidebar")).to_be_hidden()
        await page.locator("#menu").tap()
        await page.locator("#rooms button", has_text="lobby").tap()
        await page.locator(".message.person").get_by_role("button", name="Actions").tap()
        await page.get_by_role("dialog").get_by_role("button", name="Reply in thread").tap()
        await expect(page.locator("#thread")).to_be_visible()
        assert await page.locator("#thread").evaluate("thread => thread.getBoundingClientRect().width") == 360
        await page.get_by_role("button", name="Close the thread").tap()
        await expect(page.locator("#room-composer textarea")).to_be_visible()


async def test_the_password_is_asked_at_the_door(browser: Browser) -> None:
    async with web_chat(password="sesame") as chat:
        page = await (await browser.new_context()).new_page()
        await page.goto(chat.url)
        await page.get_by_label("Your name").fill("Ada")
        await page.get_by_label("Password of this chat").fill("guess")
        await page.get_by_role("button", name="Start chatting").click()
        await expect(page.get_by_role("alert").filter(has_text="That is not the password.")).to_be_visible()
        await page.get_by_label("Password of this chat").fill("sesame")
        await page.get_by_role("button", name="Start chatting").click()
        await expect(page.locator("#room-name")).to_have_text("lobby")


async def test_what_happens_in_a_meeting_stands_in_quiet_lines_between_what_is_said(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada")
        who = "**Meeting 100: Plan**\n- Guide, host\n- Ada"
        view = f"{who}\n\nShared values:\n- budget = `1200`\n\nMessages so far: 1"
        said = [(GATEWAY, "Meeting started"), (GUIDE, "Welcome, all."), (GATEWAY, "Ada has joined the meeting")]
        for number, (speaker, text) in enumerate([*said, (GATEWAY, view)]):
            await chat.adapter.send(LOBBY, text, speaker=speaker, nonce=f"n{number}", final=True)
        notices = page.locator("#room-timeline .message.notice .body")
        await expect(notices).to_have_count(3)
        await expect(notices.nth(0)).to_have_text("Meeting started")
        assert await page.locator(".message.notice .author").count() == 0
        await expect(notices.nth(1)).to_have_css("text-align", "center")
        shown = notices.nth(2)
        await expect(shown).to_have_css("text-align", "start")
        await expect(shown.locator("li")).to_have_text(["Guide, host", "Ada", "budget = 1200"])
        await expect(shown.locator("p")).to_have_text(["Meeting 100: Plan", "Shared values:", "Messages so far: 1"])


async def test_a_long_list_of_commands_stays_on_the_screen_and_is_gone_through_by_keys(browser: Browser) -> None:
    commands = {f"do{number:02}": f"something of kind {number}" for number in range(20)}
    async with web_chat(commands=commands) as chat, listening(chat):
        page = await enter(browser, chat, "Ada", viewport={"width": 900, "height": 420})
        field, options = page.locator("#room-composer textarea"), page.get_by_role("option")
        await field.press_sequentially("/")
        await expect(options).to_have_count(20)
        await expect(options.first).to_be_in_viewport()
        await expect(options.last).not_to_be_in_viewport()
        await field.press("ArrowUp")
        await expect(options.last).to_be_in_viewport()
        await field.press("Tab")
        await expect(field).to_have_value("/do19")


async def test_what_an_agent_says_to_one_person_says_so_above_it(browser: Browser) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Bo")
        for number, (to, text) in enumerate([("", "Welcome, all."), ("Ada", "Your turn."), ("Ada", "Take your time.")]):
            await chat.adapter.send(LOBBY, text, speaker=replace(GUIDE, to=to), nonce=f"n{number}", final=True)
        heads = page.locator(".message.agent .by-line:visible")
        await expect(heads).to_have_count(2)
        await expect(heads.nth(0)).not_to_contain_text("to Ada")
        await expect(heads.nth(1)).to_contain_text("to Ada")


HOSTILE = {
    "code": "`a``" * 25_000,
    "lists": "- " * 50_000,
    "quotations": ">" * 2_000 + "a",
    "emphasis": "_a*" * 33_000,
    "pictures": "![" * 50_000,
    "short lists": "- a\n" * 25_000,
    "rows": "| a | b |\n" * 10_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_text_that_is_made_to_freeze_the_page_is_shown_in_pieces_or_as_it_is_written(
    browser: Browser, kind: str
) -> None:
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada")
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        letters, longest, plain = await page.evaluate(
            """async (text) => {
                const { pieces, render } = await import("/assets/messages/markdown.js");
                const parts = pieces(text);
                const shown = parts.map((part) => render(part).textContent).join("");
                return [shown.replace(/[^a]/g, "").length, Math.max(...parts.map((part) => part.length)), parts.length];
            }""",
            HOSTILE[kind],
        )
        assert letters == HOSTILE[kind].count("a")
        assert longest <= 16_000 or plain == 1
        await chat.adapter.send(LOBBY, HOSTILE[kind][:50_000], speaker=GUIDE, nonce="n1", final=True)
        await chat.adapter.send(LOBBY, "And on it goes.", speaker=GUIDE, nonce="n2", final=True)
        await expect(page.locator(".message").get_by_text("And on it goes.")).to_be_visible()
        assert errors == []


async def test_a_long_answer_is_drawn_over_several_frames_and_is_whole(browser: Browser) -> None:
    code = "```python\n" + "x_y = a[i]\n" * 2_000 + "```\n\n"
    text = "".join(f"Paragraph {n} with **bold** and `code`.\n\n" for n in range(400)) + code + "The **end**.\n"
    async with web_chat() as chat, listening(chat):
        page = await enter(browser, chat, "Ada")
        await chat.adapter.send(LOBBY, text[:9_000], speaker=GUIDE, nonce="n1", final=False)
        body = page.locator(".message.agent .body")
        await expect(body.locator("strong").nth(150)).to_be_attached()
        await chat.adapter.edit(LOBBY, "n1", text, speaker=GUIDE, nonce="n1", final=True)
        await expect(body.locator("strong")).to_have_count(401)
        await expect(body.locator("pre")).to_have_count(1)
        await expect(body.locator(".as-written")).to_have_count(0)
        assert (await body.inner_text()).count("Paragraph") == 400
