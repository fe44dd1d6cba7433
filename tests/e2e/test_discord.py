"""The gateway on Discord: wired, live, and going on after it was killed."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.e2e.gateway_process import ROOT, gateway, parley
from tests.fakes import discord_wire
from tests.fakes.discord_wire import DiscordPlatform

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
HELLO = "I am the teller."
END_OF_STORY = "told it once."
LIMIT_S = 40


def discord_settings(address: str, **more: str) -> dict[str, str]:
    return {
        "PARLEY_DISCORD__TOKEN": discord_wire.TOKEN,
        "PARLEY_DISCORD__BASE_URL": f"{address}/api/v10",
        **more,
    }


async def test_discord_conversation_goes_on_after_a_kill(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    private = platform.world.private()

    def shown() -> list[str]:
        return [message.text for message in platform.world.messages(private)]

    async with discord_wire.serving(platform) as address:
        environment = discord_settings(address, PARLEY_DISCORD__ACCESS="open")
        async with gateway(tmp_path, TELLER, environment) as running:
            with anyio.fail_after(LIMIT_S):
                await platform.until(lambda: platform.gateway.connected)
                platform.world.say("hi", private)
                await platform.until(lambda: HELLO in shown())
            running.kill()
            await running.gone()
            platform.world.say("are you there?", private)
            await running.start()
            with anyio.fail_after(LIMIT_S):
                await platform.until(lambda: "You said: are you there?" in shown())
                platform.world.say("story", private)
                await platform.until(lambda: any(text.endswith(END_OF_STORY) for text in shown()))
    assert shown().count(HELLO) == 1
    assert sum(text.startswith("Once there was") for text in shown()) == 1


async def test_check_says_that_discord_refuses_the_token(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    async with discord_wire.serving(platform) as address:
        environment = discord_settings(address)
        good, out, _ = await parley(tmp_path, "check", **environment)
        assert good == 0, out
        environment["PARLEY_DISCORD__TOKEN"] = "wrong.token"
        bad, out, _ = await parley(tmp_path, "check", **environment)
    assert bad == 1
    marks = {line.split()[1]: line.split()[0] for line in out.splitlines() if line.strip()}
    assert marks["discord"] == "✗"
    assert "wrong.token" not in out
