"""People whom a program names, and meetings in places of their own, over a kill."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from playwright.async_api import Browser, expect

from tests.e2e.browsing import appears, entered, say, saying
from tests.e2e.gateway_process import ROOT, Room, gateway
from tests.e2e.platforms.test_telegram import settings as telegram_settings
from tests.e2e.web.test_web_whole import noticed
from tests.fakes.telegram.platform import GROUP, USERNAME, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PROGRAM = Path(__file__).parents[1] / "programs" / "panel.pb"


async def test_people_are_bound_told_and_asked_by_name_over_a_kill(tmp_path: Path) -> None:
    async with gateway(tmp_path, PROGRAM, {}) as made:
        async with made.page("Alice") as alices, made.page("Zoe") as zoes:
            alice, zoe = Room(alices), Room(zoes)
            await alice.join()
            await zoe.join()
            await alice.say("hello")
            await alice.until_some("Who is who?")
            await zoe.say("/iam Bob")
            await zoe.until_some("Zoe is Bob here.")
            await zoe.say("here I am")
            await zoe.until_some("welcome, Bob")
            await zoe.until_some("Shall we?")
            await zoe.say("2")
            await zoe.until_some("Bob has answered (1 of 2).")
            made.kill()
            await made.gone()
        await made.start()
        async with made.page("Alice") as alices:
            alice = Room(alices)
            await alice.join()
            await alice.say("yes")
            await alice.until_some("Bob said No")
            assert alice.texts()[0] == "Who is who?"
            assert [text.partition("@Zoe")[1] for text in alice.texts()[1:3]] == ["@Zoe", "@Zoe"]
            [last] = [text for text in alice.texts() if "you said Yes" in text]
            assert "Bob said No" in last, "what is held is shown together"


COUNCIL = ROOT / "tests" / "e2e" / "programs" / "council.pb"
LIMIT_S = 90


async def test_a_meeting_is_held_in_a_topic_of_its_own_and_at_home_when_that_is_closed(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    platform.chats.open(GROUP, forum=True)
    platform.chats.open_topic(GROUP, 9)

    def at(topic: int) -> list[str]:
        return [message.text for message in platform.messages(GROUP) if message.thread == topic]

    async def seen(topic: int, text: str) -> None:
        await platform.until(lambda: any(text in shown for shown in at(topic)))

    def says(text: str, topic: int) -> None:
        platform.say(text, chat=GROUP, thread=topic, name="Ada")

    async with (
        serving(platform) as address,
        gateway(tmp_path, COUNCIL, telegram_settings(address, PARLEY_TELEGRAM__ACCESS="open")),
    ):
        with anyio.fail_after(LIMIT_S):
            says(f"@{USERNAME} hi", 9)
            await seen(9, "I call meetings.")
            says("meet", 9)
            await seen(9, "invites Ada to a meeting")
            [(_, topic)] = platform.chats.topic_names
            await seen(topic, "Do you want to join?")
            says("a red one", topic)
            await seen(topic, "Ada says a red one.")
            assert not any("says" in text for text in at(9))
            platform.chats.close_topic(GROUP, topic)
            says("a blue one", topic)
            await seen(9, "I can no longer write where the meeting")
            await seen(9, "Ada says a blue one.")
    assert platform.chats.topic_names == {(GROUP, topic): "The boat"}
    [question] = [message for message in platform.messages(GROUP) if "Do you want to join?" in message.text]
    assert [entity["type"] for entity in question.entities if entity["type"] == "text_mention"]


async def test_a_meeting_is_held_in_a_room_beside_through_a_kill_with_links_both_ways(
    tmp_path: Path, browser: Browser
) -> None:
    async with gateway(tmp_path, COUNCIL) as running:
        page = await entered(browser, running.url, "Ada")
        await say(page, "hello")
        await appears(saying(page, "I call meetings."))
        await say(page, "meet")
        link = noticed(page, "Host invites Ada to a meeting").get_by_role("link", name="The boat")
        await expect(link).to_be_visible()
        await link.click()
        await expect(page.locator("#room-name")).to_contain_text("the-boat")
        await page.get_by_role("group", name="Answers").get_by_role("button", name="Join").click()
        await say(page, "a red one")
        await appears(saying(page, "Ada says a red one."))
        room = await page.locator("#room-name").inner_text()
        running.kill()
        await running.gone()
        await running.start()
        page = await entered(browser, running.url, "Bob", room)
        await say(page, "a blue one")
        await appears(saying(page, "Bob says a blue one."))
        await say(page, "done")
        await appears(noticed(page, "From now on, nobody hears what you write here."))
        await say(page, "too late")
        await appears(noticed(page, "nobody heard that"))
        await page.get_by_role("link", name="The conversation it belongs to").first.click()
        await expect(page.locator("#room-name")).to_have_text("lobby")
        await appears(saying(page, "It came to a red one and a blue one."))
        await say(page, "well?")
        await appears(saying(page, "At home: well?"))
