"""Tasks in the background of a chat, before a gateway that is killed meanwhile: each result comes once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, Room, gateway
from tests.e2e.platforms.test_telegram import settings
from tests.e2e.talks import TelegramTalk, until, until_said
from tests.fakes.telegram.platform import PERSON, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

ERRANDS = ROOT / "tests" / "e2e" / "programs" / "errands.pb"

ASKED = "Task 4 (Runner.Choose) asks: Which way?"
IN_WORDS = "Task 5 (Runner.Whose) asks: Whose errand?\nReply to this message."
ANSWERS = [
    "task 1: fetched",
    "task 2 (Runner.Break) failed: it broke",
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
