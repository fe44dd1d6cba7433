"""The gateway on Slack: wired, live, and going on after it was killed."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.e2e.gateway_process import ROOT, gateway, parley
from tests.fakes import slack_server
from tests.fakes.slack_platform import CHANNEL, DIRECT, SlackPlatform

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(90)]

TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
HELLO = "I am the teller."
END_OF_STORY = "told it once."
LIMIT_S = 40


def slack_settings(platform: SlackPlatform, address: str, **more: str) -> dict[str, str]:
    tokens = {"PARLEY_SLACK__BOT_TOKEN": platform.bot_token, "PARLEY_SLACK__APP_TOKEN": platform.app_token}
    return {**tokens, "PARLEY_SLACK__BASE_URL": f"{address}/api/", **more}


async def test_slack_conversation_goes_on_after_a_kill_in_a_direct_message_and_in_a_thread(tmp_path: Path) -> None:
    platform = SlackPlatform()

    def shown(channel: str) -> list[str]:
        return ["".join(b["text"]["text"] for b in message.blocks) for message in platform.messages(channel)]

    async with slack_server.serving(platform) as address:
        environment = slack_settings(platform, address, PARLEY_SLACK__ACCESS="open")
        async with gateway(tmp_path, TELLER, environment) as running:
            with anyio.fail_after(LIMIT_S):
                await running.prints("slack.*adapter.connected")
                platform.say("hi", channel=DIRECT)
                asked = platform.mention("hello", channel=CHANNEL)
                await platform.until(lambda: any(HELLO in text for text in shown(DIRECT)))
                await platform.until(lambda: any(HELLO in text for text in shown(CHANNEL)))
            assert platform.messages(CHANNEL)[0].thread_ts == asked
            running.kill()
            await running.gone()
            await running.start()
            with anyio.fail_after(LIMIT_S):
                await running.prints("slack.*adapter.connected")
                platform.say("are you there?", channel=DIRECT)
                await platform.until(lambda: any("You said: are you there?" in text for text in shown(DIRECT)))
                platform.say("story", channel=CHANNEL, thread=asked)
                await platform.until(lambda: any(END_OF_STORY in text for text in shown(CHANNEL)))
    assert sum(HELLO in text for text in shown(DIRECT)) == 1
    assert sum("Once there was" in text for text in shown(CHANNEL)) == 1


async def test_check_says_that_slack_refuses_the_token(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with slack_server.serving(platform) as address:
        environment = slack_settings(platform, address)
        good, out, _ = await parley(tmp_path, "check", **environment)
        assert good == 0, out
        environment["PARLEY_SLACK__BOT_TOKEN"] = "xoxb-wrong"
        bad, out, _ = await parley(tmp_path, "check", **environment)
    assert bad == 1
    marks = {line.split()[1]: line.split()[0] for line in out.splitlines() if line.strip()}
    assert marks["slack"] == "✗"
    assert "xoxb-wrong" not in out
