"""Tasks in the background of a chat, before a gateway that is killed meanwhile: each result comes once."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from runtime.core.texts import english
from tests.e2e.gateway_process import ROOT, SEEN_LIMIT_S, Room, gateway
from tests.e2e.platforms.test_slack import listened_to
from tests.e2e.platforms.test_telegram import settings
from tests.e2e.talks import TelegramTalk, until, until_said
from tests.fakes.slack.people import DIRECT
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.telegram.platform import PERSON, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

ERRANDS = ROOT / "tests" / "e2e" / "programs" / "errands.pb"

ASKED = "Task 4 (Runner.Choose) asks: Which way?"
IN_WORDS = "Task 5 (Runner.Whose) asks: Whose errand?\nReply to this message."
THREAD_CLOSED = english()("session.question_thread_closed")
ANSWERS = [
    "task 1: fetched",
    "it broke",
    "task 3 (Runner.Idle) was cancelled",
    "task 4: right",
    "task 5: mine",
]


async def test_five_tasks_at_once_come_to_their_ends_and_two_ask_where_the_person_is(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    async with (
        serving(platform) as address,
        gateway(tmp_path, ERRANDS, settings(address, PARLEY_TELEGRAM__ACCESS="open")),
    ):
        talk = TelegramTalk(platform)
        await talk.say("hi")
        await until(talk, "I am here.")
        await talk.say("go")
        await until_said(talk, ASKED)
        await until_said(talk, IN_WORDS)
        await until_said(talk, ANSWERS[2])
        question = next(message for message in platform.messages(PERSON) if message.text == ASKED)
        await talk.until_that(lambda: bool(question.buttons))
        platform.press(question.buttons[0][1]["callback_data"])
        await until_said(talk, ANSWERS[3])
        await talk.say("mine")
        await until_said(talk, ANSWERS[4])
        chosen = f"{ASKED}\n\n✓ right"
        assert sorted(talk.texts()) == sorted(["I am here.", "5 errands", chosen, IN_WORDS, *ANSWERS])


async def test_words_in_the_thread_below_a_question_answer_it_once_on_slack_and_on_the_web(tmp_path: Path) -> None:
    slack = SlackPlatform()

    def seen(thread: str | None = None) -> list[str]:
        return [message.shown for message in slack.messages(DIRECT) if message.thread_ts == thread]

    async with (
        listened_to(slack, tmp_path, ERRANDS, PARLEY_SLACK__DIRECT="conversation") as running,
        running.page() as page,
    ):
        room = Room(page)
        await room.join()
        await room.say("hi")
        slack.say("hi", channel=DIRECT)
        with anyio.fail_after(SEEN_LIMIT_S):
            await slack.until(lambda: "I am here." in seen())
            slack.say("which", channel=DIRECT)
            await slack.until(lambda: "Which one?" in seen())
            [asked] = [message for message in slack.messages(DIRECT) if message.shown == "Which one?"]
            slack.say("this", channel=DIRECT, thread=asked.ts)
            slack.say("or that?", channel=DIRECT, thread=asked.ts)
            await slack.until(lambda: seen(asked.ts) == [THREAD_CLOSED.replace("/new", "!new")] and "so this" in seen())
            slack.say("go", channel=DIRECT)
            await slack.until(lambda: IN_WORDS in seen() and ANSWERS[2] in seen())
            [question] = [message for message in slack.messages(DIRECT) if message.shown == IN_WORDS]
            slack.say("mine", channel=DIRECT, thread=question.ts)
            slack.say("or yours?", channel=DIRECT, thread=question.ts)
            await slack.until(lambda: seen(question.ts) == [THREAD_CLOSED.replace("/new", "!new")])
        await room.until("I am here.")
        await room.say("which")
        await room.until_some("Which one?")
        asking = next(message["id"] for message in room.messages.values() if message["text"] == "Which one?")
        await page.say("this", thread=asking)
        await room.until_some("so this")
        await room.say("go")
        await room.until_some(IN_WORDS)
        await room.until_some(ANSWERS[2])
        below = next(message["id"] for message in room.messages.values() if message["text"] == IN_WORDS)
        await page.say("yours", thread=below)
        await page.say("or mine?", thread=below)
        await room.until_some(THREAD_CLOSED)
        [told] = [message for message in room.messages.values() if message["text"] == THREAD_CLOSED]
        assert told["thread"] == below
        names = ["I am here.", "Which way?", "Whose errand?", "Which one?", "so this"]
        for shown in (seen(), room.texts()):
            assert [sum(name in text for text in shown) for name in names] == [1] * 5, "a conversation began below"


async def test_kills_lose_and_double_no_result(tmp_path: Path) -> None:
    async with gateway(tmp_path, ERRANDS) as running:
        async with running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until("I am here.")
            await room.say("go alone")
            await room.until("I am here.", "3 errands")
        for _ in range(3):
            running.kill()
            await running.gone()
            await running.start()
        async with running.page() as page:
            room = Room(page)
            await room.join()
            await room.until("I am here.", "3 errands", *ANSWERS[:3])
            await room.say("and now?")
            await room.until("I am here.", "3 errands", *ANSWERS[:3], "and now?")


async def test_a_result_nobody_waits_for_comes_after_a_kill_as_one_message(tmp_path: Path) -> None:
    told = "Task 1, Runner.Fetch, is completed. Its result: fetched"
    async with gateway(tmp_path, ERRANDS) as running:
        async with running.page() as page:
            room = Room(page)
            await room.join()
            await room.say("hi")
            await room.until("I am here.")
            await room.say("later")
            await room.say("is it there?")
            await room.until("I am here.", "is it there?")
        running.kill()
        await running.gone()
        await running.start()
        async with running.page() as page:
            room = Room(page)
            await room.join()
            await room.until("I am here.", "is it there?", told)
            await room.say("and now?")
            await room.until("I am here.", "is it there?", told, "and now?")
