"""The gateway on Slack comes back after two hours: it answers what is young, sums up the rest, and repeats nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import anyio
import pytest

from runtime.core.clock import SystemClock
from tests.e2e.platforms.test_slack import HELLO, LIMIT_S, TELLER, listened_to
from tests.fakes.slack.people import CHANNEL, DIRECT, FRIEND, PERSON
from tests.fakes.slack.platform import SlackPlatform

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


class ShiftedClock(SystemClock):
    """The machine's clock, so many hours ago."""

    hours = 0.0

    def now(self) -> datetime:
        return super().now() - timedelta(hours=self.hours)


def _shown(platform: SlackPlatform, channel: str) -> list[str]:
    return [message.shown for message in platform.messages(channel)]


async def test_two_hours_away_with_thirty_messages(tmp_path: Path) -> None:
    clock = ShiftedClock()
    platform = SlackPlatform(clock=clock)
    platform.names["U0EVE"] = "Eve"
    clock.hours = 2
    async with listened_to(platform, tmp_path, TELLER, PARLEY_SLACK__MAX_AGE_MINUTES="150") as running:
        with anyio.fail_after(LIMIT_S):
            root = platform.say("hi", channel=DIRECT)
            await platform.until(lambda: any(HELLO in text for text in _shown(platform, DIRECT)))
            await platform.until(lambda: not platform.events.pending)
        running.kill()
        await running.gone()
    platform.events.drops = True
    clock.hours = 1.5
    for number in range(20):
        platform.mention(f"question {number}", person=(PERSON, FRIEND, "U0EVE")[number % 3])
    clock.hours = 0
    for number in range(10):
        platform.say(f"word {number}", channel=DIRECT, thread=root)
    platform.events.drops = False
    async with listened_to(platform, tmp_path, TELLER) as running:
        with anyio.fail_after(LIMIT_S):
            await platform.until(lambda: len(_answers(platform)) >= 10 and bool(platform.messages(CHANNEL)))
            running.kill()  # and once more, to see that nothing is said again
            await running.gone()
            await running.start()
            await running.listens_to("slack")
            platform.say("the end", channel=DIRECT, thread=root)
            await platform.until(lambda: any("the end" in text for text in _shown(platform, DIRECT)))
    assert _answers(platform) == [f"You said: word {number}" for number in range(10)]
    [summary] = _shown(platform, CHANNEL)
    assert summary.startswith("While I was away: 20 messages from 3 people.")


def _answers(platform: SlackPlatform) -> list[str]:
    return [text for text in _shown(platform, DIRECT) if "You said: word" in text]
