"""Three people in three places with memories, before a gateway that is killed meanwhile."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, gateway
from tests.e2e.platforms.test_telegram import settings
from tests.e2e.talks import TelegramTalk, WebTalk, until_begun, until_said
from tests.fakes.telegram.platform import GROUP, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

DIARY = ROOT / "tests" / "e2e" / "programs" / "diary.pb"
ADA, BOB = 801, 802
HERE = "I am here."
KEPT = "remembered"
NOTHING = "I know nothing."


async def test_three_people_in_three_places_are_known_where_they_spoke_and_nowhere_else(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    ada, bob = TelegramTalk(platform, chat=ADA), TelegramTalk(platform, chat=BOB)
    group, carol = TelegramTalk(platform, chat=GROUP, person=BOB), WebTalk("kitchen", "Carol")
    async with (
        serving(platform) as address,
        gateway(tmp_path, DIARY, settings(address, PARLEY_TELEGRAM__ACCESS="open")) as running,
    ):
        async with AsyncExitStack() as stack:
            await carol.look(running, stack)
            for talk in (ada, carol):
                await talk.say("hi")
                await until_begun(talk, HERE)
            await ada.say("remember The user is vegetarian")
            await until_begun(ada, KEPT)
            await carol.say("remember The user plays chess")
            await until_begun(carol, KEPT)
            await group.say("@ParleyBot hi")
            await until_begun(group, f"Diary\n{HERE}")
            await group.say("@ParleyBot remember The user has a dog")
            await until_begun(group, f"Diary\n{KEPT}")
        await ada.say("remember The user lives in Oslo")
        running.kill()
        await running.gone()
        await running.start()
        await until_said(ada, KEPT)
        await ada.until_that(lambda: ada.texts().count(KEPT) == 2)
        await ada.say("/new")
        await until_begun(ada, HERE)
        await ada.say("diet home dog chess")
        await until_begun(ada, "The user")
        assert sorted(ada.texts()[-1].split("; ")) == ["The user is vegetarian", "The user lives in Oslo"]
        await bob.say("hi")
        await until_begun(bob, HERE)
        await bob.say("dog vegetarian chess Oslo")
        await until_begun(bob, NOTHING)
        await group.say("@ParleyBot dog vegetarian chess Oslo")
        await until_begun(group, "Diary\nThe user has a dog")
        platform.say("@ParleyBot dog vegetarian chess Oslo", chat=GROUP, person=ADA)
        await until_begun(group, f"Diary\n{NOTHING}")
        async with AsyncExitStack() as stack:
            await carol.look(running, stack)
            await carol.say("dog vegetarian chess Oslo")
            await until_begun(carol, "The user plays chess")
        await ada.say("/memory")
        await until_begun(ada, "What I remember about you, only for our private chats (2 of at most 200):")
        await ada.say("/memory forget 1")
        await until_begun(ada, "I have forgotten memory 1 and the ones that it had replaced.")
        await ada.say("vegetarian diet")
        await until_begun(ada, NOTHING)
