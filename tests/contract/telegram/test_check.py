"""`parley check` says what is missing; the menu shows the commands in people's languages."""

from __future__ import annotations

from contextlib import aclosing

import pytest
from msgspec.structs import replace

from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.options import TelegramOptions
from tests.contract.telegram.speaking import new_adapter
from tests.fakes.telegram.platform import BOT_ID, GROUP, TelegramPlatform

pytestmark = pytest.mark.anyio

HOOK = "https://chat.example.org/hooks/telegram"


async def checked(options: TelegramOptions) -> str:
    async with aclosing(new_adapter(options)) as adapter:
        return await adapter.check()


async def test_privacy_mode_is_explained(options: TelegramOptions, platform: TelegramPlatform) -> None:
    assert "rivacy" not in await checked(options)
    platform.main.hears_all = False
    assert "/setprivacy" in await checked(options)


async def test_webhook_elsewhere_is_told(options: TelegramOptions, platform: TelegramPlatform) -> None:
    platform.updates.webhook_url = "https://elsewhere.example/hook"
    assert "https://elsewhere.example/hook now" in await checked(options)
    assert f"will have them sent to {HOOK}" in await checked(replace(options, webhook_url=HOOK))
    assert platform.updates.webhook_url == "https://elsewhere.example/hook"


async def test_webhook_that_fails_is_told(options: TelegramOptions, platform: TelegramPlatform) -> None:
    platform.updates.webhook_url, platform.updates.last_error = HOOK, "Connection refused"
    assert "failed: Connection refused" in await checked(replace(options, webhook_url=HOOK))


async def test_groups_of_the_settings_are_looked_into(options: TelegramOptions, platform: TelegramPlatform) -> None:
    here = replace(options, chats=(str(GROUP), "42"))
    assert f"In chat {GROUP} it sees reactions only as an administrator" in await checked(here)
    platform.chats.keep_out(BOT_ID, GROUP)
    assert f"not in chat {GROUP}" in await checked(here)


async def test_it_is_said_what_is_kept_of_groups_and_why_nothing_else(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    here = replace(options, chats=(str(GROUP),))
    assert "keeps nothing of what it hears in groups: context.keep_hours is 0" in await checked(here)
    keeps = replace(here, keep_hours=24)
    assert "in all its groups for 24 hours (context.keep_hours): privacy mode is off" in await checked(keeps)
    platform.main.hears_all = False
    assert "say where it is an administrator, for 24 hours" in await checked(keeps)
    platform.chats.administered.add(GROUP)
    told = await checked(keeps)
    assert f"say in chat {GROUP}, where it is an administrator, for 24 hours (context.keep_hours)" in told
    assert "in other groups it hears only what is for it" in told


async def test_every_bot_is_checked(options: TelegramOptions, platform: TelegramPlatform) -> None:
    platform.add_bot("777:guide", "GuideBot", "Guide")
    text = await checked(replace(options, agents={"Guide": "777:guide"}))
    assert "@ParleyBot (Parley)" in text
    assert "for Guide as @GuideBot" in text


async def test_server_without_these_questions_is_checked_all_the_same(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    platform.unknown.add("getWebhookInfo")
    assert "Parley cannot tell whether a webhook is set" in await checked(options)


async def test_commands_stand_in_the_menu_in_every_language(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    commands = {"start": "begin", "stop": "interrupt"}
    german = {"start": "anfangen", "stop": "unterbrechen"}
    spoken = replace(options, commands=commands, translations={"de-AT": german, "gsw": german})
    async with aclosing(new_adapter(spoken)) as adapter:
        await _connected(adapter)
    shown = {
        language: {one["command"]: one["description"] for one in menu}
        for language, menu in platform.main.commands.items()
    }
    assert shown == {"": commands, "de": german}


async def _connected(adapter: TelegramAdapter) -> None:
    async with adapter.connect():
        return
