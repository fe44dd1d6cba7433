"""The console in a real browser, over a gateway of its own."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.e2e.browsing import LIMIT_MS, entered, say, saying
from tests.e2e.gateway_process import ROOT, Gateway, gateway, key_in, parley
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.unit.gateway.observability.debugger.stand import ASKS, GUIDE, LETTERS, NAMED, PICKS

pytestmark = pytest.mark.anyio

BAKER = ROOT / "tests" / "e2e" / "programs" / "baker.pb"
DESK = ROOT / "tests" / "e2e" / "programs" / "desk.pb"
TALLY = ROOT / "tests" / "e2e" / "programs" / "tally.pb"
ERRANDS = ROOT / "tests" / "e2e" / "programs" / "errands.pb"
PASSWORD = "a-password-for-the-console"
PYTHON = """\
# Baker
Shares cakes.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    await Say("user", "I share.")
    return shared(12)


def shared(people):
    return people / 0
```
"""

POET = """# Poet
You write poems.

```python
@playbook(triggers=["When program starts"])
async def Begin():
    await Say("user", "I am a poet.")
    await Write()


@playbook
async def Write():
    for message in await WaitForMessage("user"):
        await Poem(about=message["text"])
    return Again()
```

## Poem($about:str)
### Steps
- Write the user $about
"""

HINTS = """# Guesser
## Main
### Triggers
- When program starts
### Steps
- Say "It is higher."
- Ask "Your guess?" and save the answer in $guess
- Say "Thank you."
"""


@asynccontextmanager
async def with_console(data_dir: Path, program: Path | None = None, **more: str) -> AsyncIterator[Gateway]:
    environment = {"PARLEY_CONSOLE__PASSWORD": PASSWORD, **more}
    async with gateway(data_dir, program, environment) as running:
        yield running


async def opened(browser: Browser, running: Gateway, place: str = "") -> Page:
    """The console in a new browser profile, logged in."""
    page = await (await browser.new_context()).new_page()
    page.set_default_timeout(LIMIT_MS)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    await page.goto(f"{running.url}/console{place}")
    await page.get_by_label("Your name").fill("Olga")
    await page.get_by_label("Password of the console").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Log out", exact=True)).to_be_visible()
    assert troubles == []
    return page


async def test_owners_see_a_conversation_come_and_are_out_when_they_log_out(tmp_path: Path, browser: Browser) -> None:
    async with with_console(tmp_path) as running:
        await running.prints(rf"console    {re.escape(running.url)}/console")
        page = await opened(browser, running)
        await expect(page.get_by_role("row", name="web")).to_contain_text("ago")
        await page.keyboard.press("2")
        await expect(page.get_by_text("There are no sessions yet.")).to_be_visible()
        chat = await entered(browser, running.url, "Ada")
        await say(chat, "approve")
        row = page.get_by_role("option", name="web:lobby")
        await expect(row).to_contain_text("tour")
        await say(chat, "<ul>\n<li>Tea</li>\n<li>Milk</li>\n</ul>")
        await row.click()
        await expect(page.locator(".chat .heard .body ul li")).to_have_text(["Tea", "Milk"])
        await expect(page.get_by_role("heading", name="approve web:lobby")).to_be_visible()
        spoken = page.locator(".strip .mark.said span", has_text="only a guide")
        assert await spoken.last.evaluate("(words) => words.parentElement.offsetWidth") >= 60, "its words are cut off"
        await page.get_by_role("button", name="Log out", exact=True).click()
        await expect(page.get_by_label("Password of the console")).to_be_visible()
        await expect(page.get_by_role("option")).to_have_count(0)
        assert "comes in once" not in running.output, "a role has a password, so no link lets in without one"


async def test_an_old_answer_is_explained_by_the_program_as_it_was(tmp_path: Path, browser: Browser) -> None:
    program = tmp_path / "hints.pb"
    program.write_text(HINTS)
    async with with_console(tmp_path, program, PARLEY_PROGRAMS__RELOAD="true") as running:
        chat = await entered(browser, running.url, "Ada")
        await say(chat, "hi")
        await expect(saying(chat, "It is higher.")).to_be_visible()
        page = await opened(browser, running, "#/sessions")
        await page.get_by_role("option", name="web:lobby").click()
        why = page.get_by_role("listitem").filter(has_text="It is higher.").get_by_role("button", name="Why?")
        step = page.get_by_role("region", name="At this moment").get_by_text("Step", exact=False).first
        await why.click()
        await expect(step).to_have_text('Step Say "It is higher." hints.pb, line 6')
        program.write_text(HINTS.replace("It is higher.", "Try higher, dear!"))
        await running.prints('"event": "program.reloaded"')
        await page.reload()
        await expect(page.get_by_text("has changed since")).to_be_visible()
        await expect(step).to_have_text('Step Say(user, Say "It is higher.") in an earlier version of the program')
        await expect(page.locator(".step-here")).to_have_count(0)


async def test_an_owner_of_the_chat_enters_with_one_click_and_before_there_is_one_a_link_lets_in_once(
    tmp_path: Path, browser: Browser
) -> None:
    async with gateway(tmp_path, BAKER) as running:
        link = (await running.prints(r"its owner comes in once, within an hour: (http\S+/console#link=\S+)"))[0][1]
        first = await (await browser.new_context()).new_page()
        await first.goto(link)
        await expect(first.get_by_text("owner, read-only")).to_be_visible()
        assert first.url == f"{running.url}/console#/now"
        second = await (await browser.new_context()).new_page()
        await second.goto(link)
        await expect(second.get_by_role("alert")).to_contain_text("This link is not known, or it was used")
        await expect(second.get_by_label("Password of the console")).to_have_count(0)  # there is none
        await expect(second.get_by_text("This console has no password.")).to_be_visible()
        assert link.partition("#link=")[2] not in running.output.replace(link, "")

        ada, bob = await entered(browser, running.url, "Ada"), await entered(browser, running.url, "Bob")
        code = (await running.prints(r"say this code in a room to be an owner: (\w+)"))[0][1]
        await say(ada, "hi")
        await expect(ada.locator(".message.agent").last).to_be_visible()
        await ada.locator(".message.agent").last.hover()
        await expect(ada.get_by_role("button", name="Copy the text").last).to_be_visible()
        await expect(ada.get_by_role("link", name="Console")).to_be_hidden()
        await say(ada, code)
        await expect(ada.get_by_text("You are now my owner")).to_be_visible()
        await expect(bob.get_by_text("This message was deleted.")).to_be_visible()
        assert code not in await bob.locator("#room-timeline").inner_text()
        await expect(bob.get_by_text("You are now my owner")).to_have_count(0)
        await ada.locator(".message.agent").last.hover()
        async with ada.context.expect_page() as why:
            await ada.get_by_role("link", name="Why?").last.click()
        await expect((await why.value).get_by_text("Ada, owner, read-only")).to_be_visible()
        async with ada.context.expect_page() as console:
            await ada.get_by_role("link", name="Console").click()
        await expect((await console.value).get_by_role("heading", name="Now")).to_be_visible()
        await bob.reload()
        await expect(bob.locator("#presence")).to_contain_text("here")
        await expect(bob.get_by_role("link", name="Console")).to_be_hidden()
        assert (await bob.request.get(f"{running.url}/bus/v1/status")).status == 401

        await say(ada, "/access list")
        listed = ada.locator(".alone", has_text="owner: Ada")
        await expect(listed).to_be_visible()
        person = (await listed.inner_text()).rpartition("(")[2].partition(")")[0]
        await expect(bob.get_by_text("/access list")).to_have_count(0)
        await ada.reload()
        await expect(ada.get_by_role("link", name="Console")).to_be_visible()
        await expect(ada.get_by_text("/access list")).to_have_count(0)
        guest = (await (await bob.request.get(f"{running.url}/session")).json())["person"]["id"]
        await parley(tmp_path, "access", "role", guest, "guest")
        await bob.reload()
        await bob.locator("#room-composer textarea").fill("/")
        await expect(bob.get_by_role("option", name="/help")).to_be_visible()
        await expect(bob.get_by_role("option", name="/undo")).to_have_count(0)
        await say(bob, "4")
        await expect(saying(bob, "Each gets 3")).to_be_visible()
        await bob.locator(".message.agent").last.hover()
        await expect(bob.get_by_role("button", name="Good answer").last).to_be_visible()
        await expect(bob.get_by_role("button", name="Answer again").last).to_be_hidden()
        await say(bob, "0")
        await expect(bob.get_by_text("Something went wrong").last).to_be_visible()
        await expect(bob.get_by_text("Divide failed")).to_have_count(0)  # which is for members

        await parley(tmp_path, "access", "revoke", person)
        assert (await ada.request.get(f"{running.url}/bus/v1/status")).status == 401


async def test_why_something_was_said_is_found_by_clicking(tmp_path: Path, browser: Browser) -> None:
    (tmp_path / "letters.txt").write_text(LETTERS)
    program = tmp_path / "guide.pb"
    program.write_text(GUIDE)
    async with OpenAIServer([Reply(one.text) for one in (ASKS, NAMED, PICKS)]) as model:
        settings = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            **key_in(tmp_path),
            "PARLEY_COMPILER": "rules",
        }
        async with with_console(tmp_path, program, **settings) as running:
            chat = await entered(browser, running.url, "Ada")
            await say(chat, "hi")
            await expect(saying(chat, "Who are you?")).to_be_visible()
            await say(chat, "I am Ada")
            await expect(saying(chat, "Oslo, 3")).to_be_visible()

            page = await opened(browser, running, "#/sessions")
            await expect(page.get_by_role("option", name="web:lobby")).to_contain_text("price unknown")
            await page.get_by_role("option", name="web:lobby").click()
            await expect(page.get_by_text("Models: 3 answers, 300 tokens in, 60 out, price unknown.")).to_be_visible()
            said = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="Why?"))
            await said.filter(has_text="Oslo, 3").get_by_role("button").click()
            answer = page.get_by_role("region", name="This answer")
            await expect(answer.locator("pre").last).to_have_text(PICKS.text)
            await expect(answer.locator(".model-call").last).to_contain_text("of Scout")
            await expect(answer).to_contain_text('Letters(name="Ada") → 3')
            credit = answer.get_by_text("These are the exact words of")
            exact = GUIDE.splitlines().index('- Say "{place}, {letters}"') + 1
            await expect(credit).to_have_text(f"These are the exact words of guide.pb, line {exact}.")
            await expect(answer.get_by_role("heading", name="asked before it")).to_be_visible()
            await said.filter(has_text="Who are you?").get_by_role("button").click()
            await expect(answer.locator(".model-call")).to_have_count(1)
            await expect(answer.locator("q")).to_have_text("Ask the user for their $name, in the words of the house")
            figures = answer.locator("dl")
            await expect(figures).to_contain_text(
                re.compile(r"Tokens in\D*100\D*of them cached\D*80\D*Tokens out\D*20.*price unknown")
            )
            await expect(answer.locator("pre").last).to_have_text("Who are you?")
            await expect(credit).to_have_count(0)
            await answer.get_by_text("The prompt as it was sent").click()
            await expect(answer.locator("pre").first).to_have_text(model.requests[0]["messages"][0]["content"])
            await said.filter(has_text="Oslo, 3").get_by_role("button").click()
            step = page.locator(".program [aria-current=step]")
            await expect(step).to_contain_text('Say "{place}, {letters}"')
            causes = page.locator(".causes li")
            await expect(causes.last).to_contain_text("Ada said: I am Ada")  # and nothing from before it
            await expect(causes.filter(has_text="Oslo, 3")).to_have_count(0)  # what came with it is no cause of it
            await expect(page.locator("dl[aria-label=Variables]").first).to_contain_text("Oslo")
            there = await page.context.new_page()  # the same browser: an owner who talks
            await there.goto(running.url)
            await there.get_by_label("Your name").fill("Grace")
            await there.get_by_role("button", name="Start chatting").click()
            answer = there.locator(".message.agent .row").filter(has_text="Oslo, 3")
            await answer.focus()
            why = answer.get_by_role("link", name="Why?")
            await there.goto(f"{running.url}{await why.get_attribute('href')}")
            await expect(there.locator(".program [aria-current=step]")).to_contain_text('Say "{place}, {letters}"')
            await there.close()
            await chat.locator(".message.agent .row").last.focus()
            await expect(chat.get_by_role("link", name="Why?")).to_have_count(0)  # who is no owner

            editor = page.get_by_role("link", name="Open in the editor")
            line = GUIDE.splitlines().index('- Say "{place}, {letters}"') + 1
            assert await editor.get_attribute("href") == f"vscode://file{program}:{line}"

            await page.get_by_role("slider", name="Moment").focus()
            await page.keyboard.press("Home")
            await expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "entry 4: Host began as Host")
            await page.get_by_role("button", name="Go to now").click()
            await expect(page.get_by_text("As it is now, after")).to_be_visible()

            await page.keyboard.press("2")
            await page.get_by_label("Find what").select_option("words in them")
            await page.keyboard.press("/")
            await page.keyboard.type("Osol")
            hit = page.get_by_role("option").filter(has_text="Host said")
            await expect(hit.locator("mark")).to_have_text("Oslo")
            await page.get_by_role("listbox", name="What was found").focus()
            await page.keyboard.press("Enter")
            await expect(page.locator(".program [aria-current=step]")).to_contain_text('Say "{place}, {letters}"')
            await expect(page.locator(".chat [aria-current]")).to_contain_text("Oslo, 3")
            await page.get_by_label("Find in this session").fill('"who are"')
            await page.get_by_role("option").filter(has_text="Host said").click()
            await expect(page.locator(".chat [aria-current]")).to_contain_text("Who are you?")


async def test_a_fault_is_found_and_dealt_with_by_clicking_alone(tmp_path: Path, browser: Browser) -> None:
    async with with_console(tmp_path, BAKER, PARLEY_CONSOLE__ACTS="true") as running:
        chat = await entered(browser, running.url, "Ada")
        await say(chat, "hi")
        await expect(saying(chat, "I share a cake.")).to_be_visible()
        await say(chat, "0")
        await expect(chat.locator(".message").get_by_text("Divide failed")).to_be_visible()

        page = await opened(browser, running)
        await expect(page.get_by_role("link", name="failures")).to_contain_text("1")
        await expect(page.get_by_role("img", name="messages by hour")).to_have_accessible_name(re.compile(": 2$"))
        await expect(page.get_by_role("img", name="time to first character")).to_have_accessible_name(re.compile(r"\d"))
        measures = page.get_by_role("region", name="The last 24 hours").get_by_role("listitem")
        await expect(measures.filter(has_text="messages")).to_contain_text(re.compile(r"now ?up to \d+ in an hour"))
        await expect(measures.filter(has_text="failures")).to_contain_text(re.compile(r"none|up to \d+ in an hour"))
        await expect(page.get_by_text("Opening the console")).to_have_count(0)
        await expect(page.get_by_role("heading", name="Platforms")).to_be_visible()
        await expect(page.get_by_role("heading", name="Nodes")).to_have_count(0)  # there is one alone
        await page.get_by_role("link", name="to decide").click()
        report = page.get_by_role("row").filter(has_text="1: A step could not be executed")
        await expect(report).to_contain_text("Set $share to 12 / $people")
        await expect(report).to_contain_text(re.compile(r"baker\.pb, line \d+"))
        await expect(report).not_to_contain_text(re.compile("PlaybookError|YLD|:QUE|:EXE"))
        await report.get_by_role("link").click()
        await expect(page.locator(".program [aria-current=step]")).to_contain_text("Set $share to 12 / $people")
        await expect(page.locator(".causes .bad").first).to_contain_text("division by zero")
        await expect(page.locator(".causes .bad")).to_have_count(2)  # the failure once, and the playbook that it ended
        await expect(page.locator("dl[aria-label=Variables]")).to_contain_text("people")
        await page.get_by_role("link", name="Decisions").click()
        await page.get_by_role("button", name="Leave it report 1").click()
        await expect(page.get_by_text("Nothing has failed that waits for a decision.")).to_be_visible()
        await expect(page.get_by_role("status").filter(has_text="Leave it: done.")).to_be_visible()

        await page.get_by_role("link", name="Sessions").click()
        await page.get_by_role("option", name="web:lobby").click()
        await page.get_by_role("button", name="Delete").click()
        await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        await page.get_by_role("button", name="Delete").click()
        await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(page.get_by_text("There are no sessions yet.")).to_be_visible()
        await running.prints('"action": "DELETE"')


async def test_what_no_model_answered_is_counted_apart_from_failures_and_found(
    tmp_path: Path, browser: Browser
) -> None:
    program = tmp_path / "helper.pb"
    program.write_text("# Helper\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- Tell the user a joke\n")
    async with with_console(tmp_path, program) as running:
        chat = await entered(browser, running.url, "Ada")
        await say(chat, "hi")
        await expect(chat.locator(".message").get_by_text("I cannot continue")).to_be_visible()
        page = await opened(browser, running)
        measures = page.get_by_role("region", name="The last 24 hours").get_by_role("listitem")
        await expect(measures.filter(has_text="failures").locator("strong")).to_have_text("0")
        unanswered = measures.filter(has_text="no model answered")
        await expect(unanswered.locator("strong")).to_have_text("1")
        await unanswered.get_by_role("link").click()
        await expect(page.locator(".hit-row")).to_contain_text(["Helper said"])
        await expect(page.locator(".hit-row")).to_contain_text(["no language model is set up"])
        await page.keyboard.press("1")
        await measures.filter(has_text="failures").get_by_role("link").click()
        await expect(page.get_by_label("also reports that were decided")).to_be_checked()


async def test_the_line_of_python_that_failed_is_marked_and_said(tmp_path: Path, browser: Browser) -> None:
    program = tmp_path / "python.pb"
    program.write_text(PYTHON)
    async with with_console(tmp_path, program) as running:
        chat = await entered(browser, running.url, "Ada")
        await say(chat, "hi")
        await expect(saying(chat, "I share.")).to_be_visible()
        page = await opened(browser, running, "#/decisions")
        link = page.get_by_role("link", name="1: A number was divided by zero")
        await expect(page.get_by_role("row").filter(has=link)).to_contain_text("python.pb, line 12")
        await expect(page.get_by_role("row").filter(has=link)).to_contain_text("division by zero")
        await link.click()
        failed = page.locator(".card .bad").filter(has_text="It failed in Baker, Begin")
        await expect(failed.locator("code").last).to_contain_text("python.pb:12 in shared")
        await expect(page.locator(".program .line-failed")).to_contain_text("return people / 0")


async def test_owners_answer_questions_and_see_who_was_first(tmp_path: Path, browser: Browser) -> None:
    async with with_console(tmp_path, DESK, PARLEY_CONSOLE__ACTS="true") as running:
        chat = await entered(browser, running.url, "Ada")
        await say(chat, "hello")
        await expect(saying(chat, "The desk is open.")).to_be_visible()
        await say(chat, "ship")
        page = await opened(browser, running, "#/decisions")
        asked = page.get_by_role("row", name="Ship the order?")
        await expect(asked).to_contain_text("Desk asks")
        await expect(chat.get_by_role("button", name="Yes")).to_be_visible()
        await asked.get_by_role("button", name="Yes").click()
        await expect(page.get_by_role("status").filter(has_text="Answered: Yes.")).to_be_visible()
        await expect(saying(chat, "Shipped.")).to_be_visible()
        await expect(chat.locator(".message").get_by_text("✓ Yes, by Olga")).to_be_visible()
        await expect(page.get_by_text("No agent and no tool waits for an answer.")).to_be_visible()

        await say(chat, "ship")
        held: asyncio.Queue[Route] = asyncio.Queue()
        await page.route("**/answer", held.put_nowait)  # an owner who is slower than Ada
        await asked.get_by_role("button", name="Yes").click()
        await chat.get_by_role("button", name="No", exact=True).click()
        await expect(saying(chat, "Not shipped.")).to_be_visible()
        await (await held.get()).continue_()
        await expect(page.get_by_role("status").filter(has_text="answered already: No, by Ada")).to_be_visible()
        assert await saying(chat, "no longer open").count() == 0
        await running.prints('"who": "Olga"')


async def test_a_copy_from_the_past_is_tried_with_other_values_and_nothing_of_it_reaches_people(
    tmp_path: Path, browser: Browser
) -> None:
    async with with_console(tmp_path, TALLY, PARLEY_CONSOLE__ACTS="true") as running:
        chat = await entered(browser, running.url, "Ada")
        for words, answer in (("hi", "I count."), ("one", "1: one"), ("two", "2: two")):
            await say(chat, words)
            await expect(saying(chat, answer)).to_be_visible()
        shown = await chat.locator(".message").count()

        page = await opened(browser, running, "#/sessions")
        await page.get_by_role("option", name="web:lobby").click()
        await page.get_by_role("button", name="Save as test").click()
        await page.get_by_role("dialog").get_by_role("button", name="Save as test").click()
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download tally.test.md").click()
        talk = tmp_path / "tally.test.md"
        await (await download.value).save_as(talk)
        shutil.copy(TALLY, tmp_path / "tally.pb")
        assert "- Counter: 2: two" in talk.read_text()
        code, output, _ = await parley(tmp_path, "test", str(talk))
        assert code == 0, output
        await page.get_by_role("button", name="Close").click()
        said = page.get_by_role("listitem").filter(has=page.get_by_role("button", name="Why?"))
        await said.filter(has_text="2: two").get_by_role("button").click()
        await page.get_by_role("button", name="Fork here").click()
        await expect(page.get_by_role("heading", name="scratch:")).to_be_visible()
        composer = page.get_by_role("textbox", name="Message to the copy")
        await expect(composer).to_have_value("two")  # what was said next then
        await page.get_by_role("button", name="Change count").click()
        await page.get_by_label("New value of count").fill("41")
        await page.get_by_role("button", name="Set count").click()
        await expect(page.get_by_text("$count is now 41.").first).to_be_visible()
        await page.get_by_role("combobox", name="As").select_option("Ada")
        await composer.press("Enter")
        await expect(page.get_by_text("42: two").first).to_be_visible()
        await expect(composer).to_have_value("")
        await composer.fill("reset")
        await composer.press("Enter")
        await page.get_by_role("group", name="Answers").get_by_role("button", name="Yes").click()
        await expect(page.get_by_text("Now at 0.").first).to_be_visible()
        await expect(page.get_by_text("✓ Yes, by Ada").first).to_be_visible()
        await expect(page.get_by_role("group", name="Answers")).to_have_count(0)
        await expect(page.get_by_role("region", name="Scratch room").get_by_role("listitem").last).to_contain_text(
            "Now at 0."
        )

        await say(chat, "three")
        await expect(saying(chat, "3: three")).to_be_visible()  # the conversation itself goes on as it was
        assert await chat.locator(".message").count() == shown + 2
        assert await chat.get_by_text("42").count() == 0


async def test_a_scratch_room_shows_text_while_it_grows(tmp_path: Path, browser: Browser) -> None:
    program = tmp_path / "poet.pb"
    program.write_text(POET)
    async with OpenAIServer([Reply("**Roses** are red, and more", hold_after_chars=17)]) as model:
        settings = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            **key_in(tmp_path),
            "PARLEY_COMPILER": "rules",
            "PARLEY_CONSOLE__ACTS": "true",
        }
        async with with_console(tmp_path, program, **settings) as running:
            chat = await entered(browser, running.url, "Ada")
            await say(chat, "hi")
            await expect(saying(chat, "I am a poet.")).to_be_visible()
            page = await opened(browser, running, "#/sessions")
            await page.get_by_role("option", name="web:lobby").click()
            await page.get_by_role("button", name="Fork here").click()
            room = page.get_by_role("region", name="Scratch room")
            await page.get_by_role("textbox", name="Message to the copy").fill("a poem")
            await page.get_by_role("button", name="Send").click()
            growing = room.locator("li[aria-busy=true]")
            await expect(growing.locator("strong")).to_have_text("Roses")  # as the chat draws it
            await expect(growing).not_to_contain_text("and more")
            model.release()
            await expect(room.get_by_role("listitem").last).to_contain_text("Roses are red, and more")
            await expect(growing).to_have_count(0)
            await page.get_by_text("The entries around it").click()
            entries = page.get_by_role("region", name="Entries").get_by_role("row")
            await expect(entries.filter(has_text="and more").first).to_be_visible()
            assert await entries.filter(has_text="grew").count() <= 1
            await page.get_by_role("button", name="Delete").click()  # a copy that rests can be deleted
            await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
            await expect(page.get_by_role("option", name="scratch:")).to_have_count(0)
            await expect(page.get_by_role("option", name="web:lobby")).to_be_visible()


async def test_a_table_is_sorted_by_its_heads_and_what_is_not_known_stays_last(
    tmp_path: Path, browser: Browser
) -> None:
    async with with_console(tmp_path, ERRANDS) as running:
        page = await opened(browser, running)
        asked = [_asked_model("quick", 3, 0.4), _asked_model("unasked", 0, None), _asked_model("slow", 12, 9.5)]
        await page.route(
            "**/bus/v1/models", lambda route: route.fulfill(json={"here": True, "models": [], "asked": asked})
        )
        await page.keyboard.press("7")
        names = page.get_by_role("table").locator("tbody").get_by_role("rowheader")
        await expect(names).to_have_text(["quick", "unasked", "slow"])
        by_time = page.get_by_role("columnheader", name="p95")
        for order, sort in (
            (["slow", "quick", "unasked"], "descending"),
            (["quick", "slow", "unasked"], "ascending"),
            (["quick", "unasked", "slow"], None),
        ):
            await by_time.get_by_role("button").press("Enter")
            await expect(names).to_have_text(order)
            assert await by_time.get_attribute("aria-sort") == sort
        await page.get_by_role("button", name="Model").click()
        await expect(names).to_have_text(["quick", "slow", "unasked"])


def _asked_model(model: str, answers: int, took_s: float | None) -> dict[str, object]:
    times = dict.fromkeys(("median_s", "p95_s", "slowest_s", "first_s"), took_s)
    counts = {"usd": 0, "unpriced": 0, "charged": answers, "tokens_in": 0, "tokens_out": 0, "failures": 0}
    return {"model": model, "answers": answers, **times, **counts, "last_at": None, "error_at": None, "error": None}


async def test_work_and_people_are_dealt_with_until_the_log_in_is_revoked(tmp_path: Path, browser: Browser) -> None:
    async with with_console(tmp_path, ERRANDS, PARLEY_CONSOLE__ACTS="true") as running:
        chat = await entered(browser, running.url, "Ada")
        await say(chat, "hi")
        await expect(saying(chat, "I am here.")).to_be_visible()
        await say(chat, "idle")
        await say(chat, "/schedule every day at 9 good morning")
        await expect(chat.get_by_text("good morning").first).to_be_visible()

        page = await opened(browser, running, "#/work")
        told = page.locator(".told")
        task = page.get_by_role("row", name="Runner")
        await task.get_by_role("button", name="Cancel").click()
        await page.get_by_role("dialog").get_by_role("button", name="Cancel").first.click()
        await expect(task).to_contain_text("canceled")
        await task.get_by_role("button", name="Retry").click()
        await expect(page.get_by_role("row", name="Runner")).to_have_count(2)

        planned = page.get_by_role("row", name="good morning")
        await planned.get_by_role("button", name="Pause").click()
        await expect(planned).to_contain_text("paused")
        await planned.get_by_role("button", name="Resume").click()
        await expect(planned).not_to_contain_text("paused")
        await planned.get_by_role("button", name="Run now").click()
        await expect(saying(chat, "good morning")).to_be_visible()

        await page.keyboard.press("2")
        await page.get_by_role("option", name="web:lobby").click()
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Export").click()
        assert "I am here." in (await (await download.value).path()).read_text()
        await page.get_by_role("button", name="Stop").click()
        await page.get_by_role("dialog").get_by_role("button", name="Stop").click()
        await expect(chat.get_by_text("Stopped")).to_be_visible()

        await page.keyboard.press("5")
        somebody = page.get_by_role("region", name="Somebody else")
        await somebody.get_by_label("A person").fill("web:somebody")
        await somebody.get_by_role("button", name="Limits").click()
        await somebody.get_by_label("Dollars a day").fill("2.5")
        await somebody.get_by_role("button", name="Set limits").click()
        row = page.get_by_role("row", name="web:somebody")
        await expect(row).to_contain_text("Dollars a day: $2.50")
        await row.get_by_role("button", name="blocked").click()
        await page.get_by_role("dialog").get_by_role("button", name="blocked").click()
        await expect(told).to_have_text("web:somebody is now blocked.")
        await row.get_by_role("button", name="Forget").click()
        await page.get_by_role("dialog").get_by_role("button", name="Forget").click()
        await expect(told).to_contain_text("web:somebody is forgotten: 0 sessions")

        elsewhere = await opened(browser, running)
        await elsewhere.get_by_role("button", name="Log out everywhere").click()
        await expect(page.get_by_label("Password of the console")).to_be_visible()  # at its next look
        assert (await page.request.get(f"{running.url}/bus/v1/status")).status == 401
