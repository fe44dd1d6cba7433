"""A meeting in a thread of Slack shows what its agents do for long in one plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.e2e.gateway_process import ROOT
from tests.e2e.platforms.test_slack import LIMIT_S, listened_to
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.slack.platform import SlackPlatform

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

DIGGERS = ROOT / "tests" / "e2e" / "programs" / "diggers.pb"
FOUND = {"North": "coal", "South": "gold"}


def _plans(platform: SlackPlatform) -> list[dict[str, str]]:
    """The plans that can be seen: who is in them, and the state of their work."""
    blocks = [block for message in platform.messages() for block in message.blocks if block["type"] == "plan"]
    assert all(block["title"] == "The boat" for block in blocks)
    return [{task["title"].partition(":")[0]: task["status"] for task in block["tasks"]} for block in blocks]


def _posted_plans(platform: SlackPlatform) -> int:
    """How often a message with a plan was posted, not changed."""
    return sum(call.params["blocks"][0]["type"] == "plan" for call in platform.calls_of("chat.postMessage"))


async def test_a_plan_shows_what_agents_of_a_meeting_do_until_all_is_done(tmp_path: Path) -> None:
    platform, asked = SlackPlatform(), list[str]()

    def guess(request: Mapping[str, Any]) -> Reply:
        asked.append("North" if "You are North" in request["messages"][0]["content"] else "South")
        return Reply(FOUND[asked[-1]], hold_before=True)

    async def shows(text: str) -> None:
        await platform.until(lambda: any(text in message.shown for message in platform.messages()))

    async with OpenAIServer(guess) as model:
        asks = {"PARLEY_COMPILER": "rules", "PARLEY_MODEL": "openai/test", "PARLEY_MODEL_BASE_URL": model.base_url}
        async with listened_to(platform, tmp_path, DIGGERS, **asks):
            with anyio.fail_after(LIMIT_S):
                root = platform.mention("hello")
                await shows("I call meetings.")
                platform.say("meet", thread=root)
                await shows("Do you want to join?")
                [meeting] = [message for message in platform.messages() if message.thread_ts is None]
                platform.say("I join", thread=meeting.ts)
                platform.say("dig", thread=meeting.ts)
                await platform.until(lambda: _plans(platform) == [dict.fromkeys(FOUND, "in_progress")])
                first, second = asked
                model.release()
                await shows(f"{first} has found {FOUND[first]}.")
                await platform.until(lambda: _plans(platform) == [{first: "complete", second: "in_progress"}])
                model.release()
                await shows(f"{second} has found {FOUND[second]}.")
                await platform.until(lambda: _plans(platform) == [])
            assert (len(asked), _posted_plans(platform)) == (2, 1)
            said = [message.shown for message in platform.messages() if "has found" in message.shown]
    assert said == [f"{agent} has found {FOUND[agent]}." for agent in asked]
