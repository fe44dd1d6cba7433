"""Undoing and forking on Telegram, Slack and Discord, each before a gateway of its own."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.e2e.gateway_process import ROOT, gateway
from tests.e2e.platforms.test_discord import discord_settings, seen
from tests.e2e.platforms.test_slack import slack_settings
from tests.e2e.platforms.test_telegram import settings as telegram_settings
from tests.e2e.talks import TelegramTalk, until, until_said
from tests.fakes.discord import wire as discord_wire
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.slack import server as slack_server
from tests.fakes.slack.people import CHANNEL
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.telegram.platform import GROUP, PERSON, USERNAME, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TALLY = ROOT / "tests" / "e2e" / "programs" / "tally.pb"
LIMIT_S = 90


def undone(name: str, text: str) -> str:
    return f"↩️ Undone. We are back to before {name} said “{text}”. Everything since then is forgotten."


async def test_telegram_undoes_presses_and_says_where_no_topic_can_be_had(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    async with (
        serving(platform) as address,
        gateway(tmp_path, TALLY, telegram_settings(address, PARLEY_TELEGRAM__ACCESS="open")) as running,
    ):
        talk = TelegramTalk(platform)
        await talk.say("hi")
        await until(talk, "I count.")
        await talk.say("one")
        await until_said(talk, "1: one")
        await talk.say("reset")
        await talk.until_that(lambda: bool(platform.messages(PERSON)[-1].buttons))
        question = platform.messages(PERSON)[-1]
        platform.press(question.buttons[0][0]["callback_data"])
        await until_said(talk, "Now at 0.")
        await talk.say("/undo")
        await until_said(talk, undone("Ada Lovelace", "Yes"))
        await talk.until_that(lambda: bool(platform.messages(PERSON)[-1].buttons))
        assert question.buttons == []
        await talk.say("/fork")
        await talk.until_that(lambda: any(text.startswith("I cannot open a thread") for text in talk.texts()))
        running.kill()
        await running.gone()
        await running.start()
        platform.press(platform.messages(PERSON)[-2].buttons[0][1]["callback_data"])
        await until_said(talk, "Now at 1.")


async def test_telegram_opens_a_topic_for_a_fork(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    platform.chats.open(GROUP, forum=True)
    platform.chats.open_topic(GROUP, 9)

    def at(topic: int) -> list[str]:
        return [message.text for message in platform.messages(GROUP) if message.thread == topic]

    def say(text: str, topic: int, person: int = PERSON) -> None:
        platform.say(text, chat=GROUP, thread=topic, person=person, name="Ada" if person == PERSON else "Bob")

    async with (
        serving(platform) as address,
        gateway(tmp_path, TALLY, telegram_settings(address, PARLEY_TELEGRAM__ACCESS="open")),
    ):
        with anyio.fail_after(LIMIT_S):
            say(f"@{USERNAME} hi", 9)
            await platform.until(lambda: any("I count." in text for text in at(9)))
            say("one", 9)
            await platform.until(lambda: any("1: one" in text for text in at(9)))
            say("/fork Another way", 9)
            await platform.until(lambda: any("continues in a second place" in text for text in at(9)))
            [(_, topic)] = platform.chats.topic_names
            await platform.until(lambda: any("from after Ada said “one”" in text for text in at(topic)))
            say("two", topic)
            await platform.until(lambda: any("2: two" in text for text in at(topic)))
            say("/undo", topic, person=43)
            await platform.until(lambda: any("Only Ada, who wrote that" in text for text in at(topic)))
            say("/undo", topic)
            await platform.until(lambda: undone("Ada", "two") in at(topic))
            say("other", 9)
            await platform.until(lambda: any("2: other" in text for text in at(9)))
    assert platform.chats.topic_names == {(GROUP, topic): "Another way"}


async def test_slack_opens_a_thread_for_a_fork(tmp_path: Path) -> None:
    platform = SlackPlatform()

    def at(root: str) -> list[str]:
        return [message.shown for message in platform.messages(CHANNEL) if message.thread_ts == root]

    async with slack_server.serving(platform) as address:
        environment = slack_settings(platform, address, PARLEY_SLACK__ACCESS="open")
        async with gateway(tmp_path, TALLY, environment) as running:
            with anyio.fail_after(LIMIT_S):
                await running.listens_to("slack")
                root = platform.mention("hi")
                await platform.until(lambda: any("I count." in text for text in at(root)))
                platform.say("one", thread=root)
                await platform.until(lambda: any("1: one" in text for text in at(root)))
                platform.say("two", thread=root)
                await platform.until(lambda: any("2: two" in text for text in at(root)))
                platform.say("!undo", thread=root)
                await platform.until(lambda: any("before Ada Lovelace said “two”" in text for text in at(root)))
                platform.say("!fork Another way", thread=root)
                await platform.until(lambda: any("continues in a second place" in text for text in at(root)))
                [fork] = [message.ts for message in platform.messages(CHANNEL) if message.thread_ts is None]
                await platform.until(lambda: any("from after Ada Lovelace said “one”" in t for t in at(fork)))
                platform.say("three", thread=fork)
                await platform.until(lambda: any("2: three" in text for text in at(fork)))
                platform.say("four", thread=root)
                await platform.until(lambda: any("2: four" in text for text in at(root)))
        told = next(text for text in at(root) if "second place" in text)
        assert f"https://engines.slack.example/archives/{CHANNEL}/p{fork.replace('.', '')}" in told


async def test_discord_opens_a_thread_for_a_fork(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world
    async with (
        discord_wire.serving(platform) as address,
        gateway(tmp_path, TALLY, discord_settings(address)),
    ):
        with anyio.fail_after(LIMIT_S):
            await platform.until(lambda: platform.gateway.connected)
        asked = world.say(f"<@{world.bot}> hi")
        await seen(platform, lambda: asked, "I count.")
        world.say("one", asked)
        await seen(platform, lambda: asked, "1: one")
        world.say("two", asked)
        await seen(platform, lambda: asked, "2: two")
        world.choose("undo", asked)
        await seen(platform, lambda: asked, "before Ada Lovelace said “two”")
        world.choose("fork", asked, "Another way")
        told = await seen(platform, lambda: asked, "continues in a second place")
        [fork] = [thread for thread, name in world.people.threads().items() if name == "Another way"]
        await seen(platform, lambda: fork, "from after Ada Lovelace said “one”")
        world.say("three", fork)
        await seen(platform, lambda: fork, "2: three")
        world.say("four", asked)
        await seen(platform, lambda: asked, "2: four")
    assert any(f"https://discord.com/channels/{world.guild.id}/{fork}" in posted.text for posted in told)


async def test_a_kill_in_the_middle_undoes_once_and_forks_once(tmp_path: Path) -> None:
    platform = SlackPlatform()

    def at(root: str) -> list[str]:
        return [message.shown for message in platform.messages(CHANNEL) if message.thread_ts == root]

    def forks() -> list[str]:
        return [message.ts for message in platform.messages(CHANNEL) if message.thread_ts is None]

    async with slack_server.serving(platform) as address:
        environment = slack_settings(platform, address, PARLEY_SLACK__ACCESS="open")
        async with gateway(tmp_path, TALLY, environment) as running:
            with anyio.fail_after(2 * LIMIT_S):
                await running.listens_to("slack")
                root = platform.mention("hi")
                await platform.until(lambda: any("I count." in text for text in at(root)))
                for number, text in enumerate(("one", "two"), start=1):
                    platform.say(text, thread=root)
                    await platform.until(lambda said=f"{number}: {text}": any(said in t for t in at(root)))  # type: ignore[misc]
                for command, call in (("!undo", "reactions.add"), ("!fork Another way", "chat.postMessage")):
                    before = len(platform.calls_of(call))
                    platform.say(command, thread=root)
                    await platform.until(lambda before=before, call=call: len(platform.calls_of(call)) > before)  # type: ignore[misc]
                    running.kill()
                    await running.gone()
                    await running.start()
                    await running.listens_to("slack")
                await platform.until(lambda: any("continues in a second place" in text for text in at(root)))
                await platform.until(lambda: any("from after" in text for text in at(forks()[0])))
                platform.say("three", thread=forks()[0])
                await platform.until(lambda: any("2: three" in text for text in at(forks()[0])))
    assert sum("We are back to before" in text for text in at(root)) == 1
    assert sum("continues in a second place" in text for text in at(root)) == 1
    assert len(forks()) == 1
