"""The tour, as people take it in their browsers and on Telegram."""

from __future__ import annotations

import re
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.browsing import appears, by, entered, grown, say, saying, watch
from tests.e2e.gateway_process import ROOT, Gateway, gateway
from tests.e2e.talks import TelegramTalk, until_said
from tests.fakes.servers.ports import free_port
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TOUR = ROOT / "examples" / "tour.pb"
WELCOME = "I am the Guide, one of four agents"
COUNTED = [*(f"{number} …" for number in range(1, 11)), "Ten. If I was killed on the way"]


@pytest.fixture(scope="module")
async def tour(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Gateway]:
    """A gateway that gives the tour; every test takes it in a room of its own."""
    async with gateway(tmp_path_factory.mktemp("tour"), TOUR, fresh=True) as running:
        yield running


async def test_an_answer_is_watched_while_it_grows(browser: Browser, tour: Gateway) -> None:
    page = await entered(browser, tour.url, "Ada", "streams")
    await watch(page)
    await say(page, "hello")
    await appears(saying(page, WELCOME))
    await expect(saying(page, WELCOME)).to_contain_text("the tour ends")
    await expect(page.locator(".message.agent.live")).to_have_count(0)
    assert any("the tour ends" not in state for state in await grown(page, "Hello!"))
    await say(page, "streaming")
    finished = by(page, "Guide").last
    await expect(finished).to_contain_text("the text is final, and it is on the agent's tape.")
    await expect(finished).not_to_have_class(re.compile("live"))
    before = [state for state in await grown(page, "A page that grows") if "the text is final" not in state]
    assert len(set(before)) > 2
    await expect(finished.locator("h3, h4, h5")).to_have_text("A page that grows")
    await expect(finished.locator("pre")).to_contain_text("async def greet")
    await expect(finished.locator("tbody tr")).to_have_count(3)


async def test_two_agents_answer_under_their_own_names(browser: Browser, tour: Gateway) -> None:
    page = await entered(browser, tour.url, "Ada", "channels")
    await say(page, "hello")
    await appears(saying(page, WELCOME))
    await say(page, "channels")
    await appears(by(page, "Librarian").filter(has_text="About the sea there are 42 books"))
    await appears(by(page, "Guide").filter(has_text="I got the number as a value: 42."))


async def test_a_meeting_is_followed_by_the_people(browser: Browser, tour: Gateway) -> None:
    page = await entered(browser, tour.url, "Ada", "meetings")
    await say(page, "hello")
    await appears(saying(page, WELCOME))
    await say(page, "meeting")
    await appears(by(page, "Painter").filter(has_text="Ultramarine"))
    await appears(by(page, "Poet").filter(has_text="Gull"))
    await appears(by(page, "Guide").filter(has_text="Thank you both. It shall be Gull."))
    await appears(by(page, "Guide").filter(has_text="The meeting is over. They chose Gull."))


async def test_two_people_in_two_browsers_are_told_apart_and_a_reload_keeps_it_all(
    browser: Browser, tour: Gateway
) -> None:
    ada = await entered(browser, tour.url, "Ada", "people")
    grace = await entered(browser, tour.url, "Grace", "people")
    await say(ada, "hello")
    await appears(saying(grace, WELCOME))
    await say(ada, "people")
    await appears(saying(grace, "So far I know only you, Ada."))
    await say(grace, "people")
    await appears(saying(ada, "Hello, Grace! With you here: Ada."))
    await say(ada, "bye")
    await appears(saying(ada, "That was the tour."))
    bodies = ada.locator(".message:not(.notice) .body")
    before = await bodies.all_inner_texts()
    assert len(before) == 8
    await ada.reload()
    await expect(bodies).to_have_text(before, use_inner_text=True)


async def on_tape(running: Gateway, page: Page, talk: TelegramTalk, already: int) -> int:
    """Return when what can be seen, but for what was before this run, is on a tape, with how much that is.

    A kill before that would have it said twice on a platform without nonces, as Telegram is.
    """
    while True:
        on_web = await page.locator(".message.agent").count()
        seen = on_web + len(talk.texts())
        await running.prints('"page.sent"', times=seen - already)
        if seen == on_web + len(talk.texts()):
            return seen


async def test_counting_goes_on_through_two_kills_in_an_open_browser_and_on_telegram(
    browser: Browser, tmp_path: Path
) -> None:
    platform = TelegramPlatform()
    async with serving(platform) as address:
        environment = {
            "PARLEY_WEB__PORT": str(free_port()),
            "PARLEY_LOGS__LEVEL": "debug",
            "PARLEY_TELEGRAM__TOKEN": TOKEN,
            "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
            "PARLEY_TELEGRAM__ACCESS": "open",
        }
        async with gateway(tmp_path, TOUR, environment) as running:
            page, talk = await entered(browser, running.url, "Ada"), TelegramTalk(platform)
            await say(page, "hello")
            await talk.say("hello")
            await appears(saying(page, WELCOME))
            await talk.until_that(lambda: talk.texts()[-1:] != [] and talk.texts()[-1].endswith("the tour ends"))
            await say(page, "counting")
            await talk.say("counting")
            already = 0
            for number in (3, 6):
                await appears(saying(page, f"{number} …"))
                await until_said(talk, f"{number} …")
                already = await on_tape(running, page, talk, already)
                running.kill()
                await running.gone()
                await expect(page.locator("#connection")).to_contain_text("Connection lost")
                await say(page, f"killed at {number}")
                await talk.say(f"killed at {number}")
                await running.start()
            counted = page.locator(".message.agent .body").filter(has_not_text=WELCOME)
            await appears(saying(page, "I heard “killed at 6”, Ada"))
            texts = await counted.all_inner_texts()
            assert [text.split(",")[0] for text in texts[:11]] == COUNTED
            assert ["killed at" in text for text in texts[11:]] == [True, True]
            await talk.until_that(lambda: "killed at 6" in talk.texts()[-1])
            assert [text.split(",")[0] for text in talk.texts()[1:12]] == COUNTED
            assert len(talk.texts()) == 14
            assert talk.posts() == 14
            assert await running.stop(signal.SIGINT) == 0


async def test_whom_one_can_write_to_alone_is_who_answers_there(browser: Browser, tour: Gateway) -> None:
    page = await entered(browser, tour.url, "Ada", "alone")
    await page.get_by_role("button", name="Write to somebody").click()
    found = page.get_by_role("dialog").locator("button", has_text="agent")
    await expect(found).to_have_text(["GGuideagent"])
    await found.click()
    await expect(page.locator("#room-name")).to_have_text("Guide")
    await say(page, "hello")
    await appears(saying(page, WELCOME))
    await expect(by(page, "Guide")).to_have_count(1)
