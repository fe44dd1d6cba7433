"""The tour, as people take it in their browsers and on Telegram."""

from __future__ import annotations

import itertools
import re
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.browsing import appears, by, entered, grown, say, saying, watch
from tests.e2e.gateway_process import ROOT, Gateway, gateway
from tests.e2e.talks import TelegramTalk, until_said
from tests.e2e.web.test_console_keys import every_way
from tests.fakes.servers.ports import free_port
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TOUR = ROOT / "examples" / "tour.pb"
WELCOME = "I am the Guide, one of five agents"
QUESTION = "What would you like to see?"
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
    finished = by(page, "Guide").filter(has_text="A page that grows")
    await expect(finished).to_contain_text("the text is final, and it is kept.")
    await expect(finished).not_to_have_class(re.compile("live"))
    before = [state for state in await grown(page, "A page that grows") if "the text is final" not in state]
    assert len(set(before)) > 2
    await expect(finished.locator("h3, h4, h5")).to_have_text("A page that grows")
    await expect(finished.locator("pre")).to_contain_text("async def greet")
    await expect(finished.locator("tbody tr")).to_have_count(3)


async def test_what_is_said_while_the_guide_talks_is_answered_before_it_asks(browser: Browser, tour: Gateway) -> None:
    page = await entered(browser, tour.url, "Ada", "hurry")
    await say(page, "hello")
    await appears(saying(page, QUESTION))
    stories = by(page, "Guide").filter(has_text="A page that grows")
    await say(page, "streaming")
    await expect(stories).to_have_count(1)
    await say(page, "streaming")
    await expect(stories).to_have_count(2)
    await say(page, "and then?")
    await appears(saying(page, "choose one of these"))


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
    await expect(page.locator(".meeting-head:visible")).to_have_text("Meeting: a name for a boat")
    await expect(page.locator(".message.in-meeting")).to_have_count(4)
    hue = """[...document.querySelectorAll('.author')].map(
        (who) => [who.innerText, getComputedStyle(who).getPropertyValue('--hue')])"""
    hues = sorted(int(hue) for hue in dict(await page.evaluate(hue)).values())
    assert len(hues) == 4
    assert all(60 <= (other - one) % 360 <= 300 for one, other in itertools.combinations(hues, 2)), "they look alike"


async def test_a_program_in_english_is_clicked_through_and_its_steps_are_seen_to_run(
    browser: Browser, tour: Gateway
) -> None:
    page = await entered(browser, tour.url, "Ada", "bakery")
    await expect(page.get_by_role("complementary", name="Program that runs")).to_be_hidden()
    await say(page, "hello")
    await page.get_by_role("button", name="Program", exact=True).click()
    await expect(page.get_by_role("complementary", name="Program that runs")).to_be_visible()
    await page.evaluate(
        """() => {
            window.ran = [];
            const now = () => [...document.querySelectorAll(".program .now")];
            const note = () => window.ran.push(...now().map((line) => line.innerText.trim()));
            new MutationObserver(note).observe(document.querySelector(".program"), {subtree: true, attributes: true});
        }"""
    )
    await page.get_by_role("button", name="Apple pie").click()
    await page.get_by_role("button", name="No", exact=True).click()
    await appears(saying(page, "as a value: 4."))
    await expect(page.locator(".program .ran", has_text="Return $total")).to_have_count(1)
    ran = list(dict.fromkeys(await page.evaluate("window.ran")))
    steps = ['- If $cake is "Apple pie"', "- Add 4 to $total", "- Sleep for 2 seconds", "- Return $total"]
    assert [step for step in ran if step in steps] == steps
    assert "- Add 2 to $total" not in ran
    await page.get_by_role("button", name="Hide", exact=True).click()
    await page.get_by_role("button", name="Your own").last.click()
    await expect(saying(page, "parley new game --template game")).to_be_visible()


async def test_only_an_owner_makes_a_program_beside_the_tour_and_none_is_overwritten(
    browser: Browser, tmp_path: Path
) -> None:
    async with gateway(tmp_path, TOUR) as running:
        [found] = await running.prints(r"to be an owner: (\w+)")
        page = await entered(browser, running.url, "Ada", bypass_csp=True)
        own = page.get_by_role("button", name="Make your own")
        assert (await page.request.post(f"{running.url}/dev/own", data={"template": "game"})).status == 403
        await page.get_by_role("button", name="See the program").click()
        await expect(own).to_be_hidden()
        await say(page, found[1])
        await appears(page.locator(".message.notice", has_text="You are now my owner"))
        await expect(own).to_be_visible()
        await every_way(page, "the board")
        await own.click()
        await every_way(page, "Make your own")
        await page.route("**/dev/own", lambda route: route.abort())
        await page.get_by_role("button", name="guess the number").click()
        await expect(page.get_by_role("status").filter(has_text="Not connected.")).to_be_visible()
        await page.unroute("**/dev/own")
        await page.get_by_role("button", name="guess the number").click()
        await expect(page.get_by_role("status").filter(has_text="It is written.")).to_be_visible()
        await expect(page.locator(".templates code")).to_contain_text(
            f"dev {tmp_path / 'game'} --open --model scripted"
        )
        assert (tmp_path / "game" / "game.pb").read_text() == (ROOT / "examples/templates/game.pb").read_text()
        again = await page.request.post(f"{running.url}/dev/own", data={"template": "game"})
        assert (again.status, await again.json()) == (409, {"error": "The folder game cannot be written: File exists."})


async def test_a_thumb_that_wakes_the_tour_is_no_work(browser: Browser, tmp_path: Path) -> None:
    async with gateway(tmp_path, TOUR) as running:
        page = await entered(browser, running.url, "Ada")
        await say(page, "hello")
        await page.get_by_role("button", name="Program", exact=True).click()
        await page.get_by_role("button", name="Apple pie").click()
        await appears(saying(page, "Anything else?"))
        running.kill()
        await running.gone()
        await running.start()
        page = await entered(browser, running.url, "Bob")
        await appears(saying(page, "Anything else?"))
        await page.evaluate(
            """() => {
                window.shown = [];
                const seen = () => document.querySelector("#room-composer .typing-words").innerText;
                const note = () => window.shown.push(seen(), !document.querySelector(".board").hidden);
                new MutationObserver(note).observe(document.body, {subtree: true, attributes: true, childList: true});
            }"""
        )
        answer = page.locator(".message.agent", has_text="Anything else?")
        await answer.hover()
        await answer.get_by_role("button", name="Good answer").click()
        await expect(answer.get_by_role("button", name="👍 by Bob")).to_be_visible()
        await running.prints('"feedback.given"')
        assert not any(await page.evaluate("window.shown"))
        await page.get_by_role("button", name="No", exact=True).click()
        await expect(page.get_by_role("complementary", name="Program that runs")).to_be_visible()
        await appears(saying(page, "as a value: 4."))
        assert not re.search(r"\bShow\b", str(await page.evaluate("window.shown")))


async def test_two_people_in_two_browsers_are_told_apart_and_a_reload_keeps_it_all(
    browser: Browser, tour: Gateway
) -> None:
    ada = await entered(browser, tour.url, "Adele", "people")  # other tests have an Ada there
    grace = await entered(browser, tour.url, "Grace", "people")
    await say(ada, "hello")
    await appears(saying(grace, WELCOME))
    alone, together = "So far only you have answered this, Adele.", "Hello, Grace! With you here: Adele."
    for who, greeting in ((ada, alone), (grace, together)):
        await who.get_by_role("button", name="People", exact=True).click()
        await expect(saying(who, "Who is here?").last).to_be_visible()
        await say(who, "me")
        await appears(saying(ada, greeting))
    await say(ada, "bye")
    await appears(saying(ada, "That was the tour."))
    bodies = ada.locator(".message:not(.notice) .body")
    before = await bodies.all_inner_texts()
    assert len(before) == 13
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
            await talk.until_that(lambda: talk.texts()[-1:] == [QUESTION])
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
            counted = page.locator(".message.agent .body").filter(has_not_text=re.compile(f"{WELCOME}|{QUESTION}"))
            await expect(saying(page, "I am only a guide")).to_have_count(2)
            await expect(page.get_by_role("button", name="Counting")).to_be_visible()
            texts = await counted.all_inner_texts()
            assert [text.split(",")[0] for text in texts[:11]] == COUNTED
            assert ["I am only a guide" in text for text in texts[11:]] == [True, True]
            await talk.until_that(lambda: "I am only a guide" in talk.texts()[-2] and talk.texts()[-1] == QUESTION)
            assert [text.split(",")[0] for text in talk.texts()[2:13]] == COUNTED
            assert len(talk.texts()) == 16
            assert talk.posts() == 16
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
    await expect(by(page, "Guide")).to_have_count(2)


async def test_the_way_back_closes_the_program_on_a_phone_and_leaves_the_chat_open(
    browser: Browser, tmp_path: Path
) -> None:
    async with gateway(tmp_path, TOUR) as running:
        page = await entered(browser, running.url, "Ada")
        await page.set_viewport_size({"width": 390, "height": 844})
        board = page.get_by_label("Program that runs")
        for close in (page.go_back, page.get_by_role("button", name="Hide", exact=True).click):
            await page.get_by_role("button", name="See the program").click()
            await expect(board).to_be_visible()
            await close()
            await expect(board).to_be_hidden()
            await expect(page.locator("#presence")).to_contain_text("here")
