"""Strangers in whole processes: the gateway is asked before a thread is opened, or anything posted, for them."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from runtime.core.texts import english
from tests.e2e.gateway_process import ROOT, gateway
from tests.fakes.discord import wire as discord_wire
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.slack import server as slack_server
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import FRIEND
from tests.fakes.slack.platform import SlackPlatform

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
REFUSED = english()("access.refused")
LIMIT_S = 90


async def test_stranger_on_discord_opens_no_thread(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world
    async with discord_wire.serving(platform) as address:
        environment = {
            "PARLEY_DISCORD__TOKEN": discord_wire.TOKEN,
            "PARLEY_DISCORD__BASE_URL": f"{address}/api/v10",
            "PARLEY_DISCORD__ALLOW_PEOPLE": str(world.bob.id),
        }
        async with gateway(tmp_path, TELLER, environment):
            with anyio.fail_after(LIMIT_S):
                await platform.until(lambda: platform.gateway.connected)
                refused = world.people.session(world.ada, world.general, "start", topic="free beer")
                await platform.until(lambda: bool(world.receipt(refused)))
                begun = world.people.session(world.bob, world.general, "start", topic="work")
                await platform.until(lambda: bool(world.receipt(begun)))
    assert world.receipt(refused) == REFUSED
    assert list(world.people.threads().values()) == ["work"]


async def test_stranger_on_slack_posts_nothing(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with slack_server.serving(platform) as address:
        environment = {
            "PARLEY_SLACK__BOT_TOKEN": platform.bot_token,
            "PARLEY_SLACK__APP_TOKEN": platform.app_token,
            "PARLEY_SLACK__BASE_URL": f"{address}/api/",
            "PARLEY_SLACK__ALLOW_PEOPLE": f"{TEAM}:{FRIEND}",
        }
        async with gateway(tmp_path, TELLER, environment) as running:
            with anyio.fail_after(LIMIT_S):
                await running.listens_to("slack")
                refused = platform.command("hello everybody")
                await platform.until(lambda: platform.events.events[refused].words is not None)
                platform.command("hello", person=FRIEND)
                await platform.until(lambda: bool(platform.messages()))
    words = platform.events.events[refused].words or {}
    assert (words["response_type"], words["text"]) == ("ephemeral", REFUSED)
    assert not any("everybody" in message.shown for message in platform.messages())
