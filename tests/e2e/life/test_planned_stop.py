"""A gateway that is asked to stop and started again: what was being said is said to its end, and once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, gateway
from tests.e2e.talks import TelegramTalk, until, until_begun
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
HELLO = "I am the teller."
END_OF_STORY = "told it once."


def settings(address: str, **more: str) -> dict[str, str]:
    return {
        "PARLEY_TELEGRAM__TOKEN": TOKEN,
        "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot",
        "PARLEY_TELEGRAM__ACCESS": "open",
        **more,
    }


async def mid_story(talk: TelegramTalk) -> None:
    """Return when the teller is in the middle of its story."""
    await talk.say("hi")
    await until(talk, HELLO)
    await talk.say("long")
    await until_begun(talk, "Once")


@pytest.mark.parametrize(
    ("number", "drain_s"), [(signal.SIGINT, "20"), (signal.SIGTERM, "0.1")], ids=["ctrl-c", "time is up"]
)
async def test_an_answer_that_a_planned_stop_interrupts_is_finished_once_by_the_next_run(
    tmp_path: Path, number: signal.Signals, drain_s: str
) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    async with serving(platform) as address:
        environment = settings(address, PARLEY_NODES__DRAIN_S=drain_s)
        async with gateway(tmp_path, TELLER, environment) as running:
            talk = TelegramTalk(platform, chat=501)
            await mid_story(talk)
            assert await running.stop(number) == 0
            assert not talk.texts()[-1].endswith(END_OF_STORY)
            await talk.say("and then?")
            await running.start()
            await talk.until_that(lambda: talk.texts()[-1] == "You said: and then?")
    assert len(talk.texts()) == 3
    assert talk.texts()[1].endswith(END_OF_STORY)
    assert talk.posts() == 3


async def test_an_answer_that_is_being_given_at_a_sigterm_comes_to_its_end_first(tmp_path: Path) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    async with serving(platform) as address, gateway(tmp_path, TELLER, settings(address)) as running:
        talk = TelegramTalk(platform, chat=501)
        await mid_story(talk)
        assert await running.stop(signal.SIGTERM) == 0
        assert talk.texts()[-1].endswith(END_OF_STORY)
        await talk.say("and then?")
        await running.start()
        await until(talk, *talk.texts(), "You said: and then?")
    assert talk.posts() == 3
