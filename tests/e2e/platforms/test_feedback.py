"""Thumbs under an answer, from a press on Slack to what an owner reads on the console."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from tests.e2e.gateway_process import parley
from tests.e2e.platforms.test_slack import LIMIT_S, TELLER, listened_to
from tests.fakes.slack.people import DIRECT, FRIEND
from tests.fakes.slack.platform import SlackPlatform

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


async def test_what_people_think_of_an_answer_is_counted_once_also_over_a_kill(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with listened_to(platform, tmp_path, TELLER) as running:
        with anyio.fail_after(LIMIT_S):
            root = platform.say("hi", channel=DIRECT)
            await platform.until(lambda: bool(platform.messages(DIRECT)))
            [hello] = platform.messages(DIRECT)
            await platform.until(lambda: any(block["type"] == "context_actions" for block in hello.blocks))
            platform.rate(hello, up=True, channel=DIRECT)
            platform.rate(hello, up=False, channel=DIRECT)
            platform.react("+1", hello.ts, channel=DIRECT, person=FRIEND)
            await platform.until(lambda: not platform.events.pending)
            running.kill()
            await running.gone()
            await running.start()
            await running.listens_to("slack")
            platform.say("are you there?", channel=DIRECT, thread=root)
            await platform.until(lambda: any("are you there?" in m.shown for m in platform.messages(DIRECT)))
        status, told, errors = await parley(tmp_path, "usage", "feedback", "--json")
        assert (status, errors) == (0, "")
    rows = [json.loads(line) for line in told.splitlines()]
    assert sorted((row["step"], row["rating"]) for row in rows) == [("Teller.Begin", "down"), ("Teller.Begin", "up")]
