"""Three agents meet before two people in a topic on Telegram: who says what, in which order, under which name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.gateway_process import ROOT, gateway
from tests.e2e.platforms.test_telegram import settings
from tests.e2e.talks import TelegramTalk
from tests.fakes.telegram.chats import Posted
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import BOT_ID, GROUP, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TOUR = ROOT / "examples" / "tour.pb"
TOPIC = 9
BOB: dict[str, Any] = {"person": 43, "name": "Bob"}
MEETING = [
    ("Guide", "Welcome! We need a name for a boat. Painter, Poet: what do you suggest?"),
    ("Painter", "Poet, Guide: I see a deep colour, Ultramarine."),
    ("Poet", "And I hear the wind, dear Guide: Gull."),
    ("Guide", "Thank you both. It shall be Gull."),
    ("Guide", "The meeting is over. They chose Gull."),
]


def forum() -> TelegramPlatform:
    platform = TelegramPlatform(limits=FloodLimits())
    platform.chats.open(GROUP, forum=True)
    platform.chats.open_topic(GROUP, TOPIC)
    return platform


async def met(platform: TelegramPlatform) -> list[Posted]:
    """Ada and Bob make themselves known, Bob asks for the meeting: the messages of the agents in it."""
    talk = TelegramTalk(platform, chat=GROUP)

    async def until(text: str) -> None:
        await talk.until_that(lambda: any(text in shown for shown in talk.texts()))

    async def ends_with(text: str) -> None:
        await talk.until_that(lambda: text in (talk.texts() or [""])[-1])

    platform.say("@ParleyBot hello", chat=GROUP, thread=TOPIC)
    for who, greeting in (
        ({}, "only you have answered this, Ada Lovelace"),
        (BOB, "Hello, Bob! With you here: Ada Lovelace."),
    ):
        for words, before in (("people", "What would you like to see?"), ("me", "Who is here?")):
            await ends_with(before)
            platform.say(words, chat=GROUP, thread=TOPIC, **who)
        await until(greeting)
    await ends_with("What would you like to see?")
    said = len(talk.texts())
    platform.say("meeting", chat=GROUP, thread=TOPIC, **BOB)
    await until("They chose Gull.")
    assert {message.thread for message in platform.messages(GROUP)} == {TOPIC}
    assert [call for call in platform.calls if call.status == 429] == []
    return [message for message in platform.messages(GROUP)[said:] if "would you like" not in message.text]


async def test_three_agents_meet_in_a_topic_under_their_names(tmp_path: Path) -> None:
    platform = forum()
    async with serving(platform) as address:
        environment = settings(address, PARLEY_TELEGRAM__ACCESS="open")
        async with gateway(tmp_path, TOUR, environment) as running:
            await running.listens_to("telegram")
            messages = await met(platform)
    assert [tuple(message.text.split("\n", 1)) for message in messages] == MEETING
    assert {message.by for message in messages} == {BOT_ID}


async def test_three_agents_meet_in_a_topic_by_bots_of_their_own(tmp_path: Path) -> None:
    platform, names = forum(), {701: "Guide", 702: "Painter", 703: "Poet"}
    lines = ["[telegram.agents]"]
    for number, name in names.items():
        token = f"{number}:TEST-token_of_the_{name}s_own_bot_0000000"
        platform.add_bot(token, f"{name}Bot", name)
        (tmp_path / name).write_text(token)
        lines.append(f'{name} = "{tmp_path / name}"')
    (tmp_path / "parley.toml").write_text("\n".join(lines))
    async with serving(platform) as address:
        environment = settings(address, PARLEY_TELEGRAM__ACCESS="open")
        async with gateway(tmp_path, TOUR, environment) as running:
            await running.listens_to("telegram")
            messages = await met(platform)
        assert not any(name.read_text() in running.output for name in map(tmp_path.__truediv__, names.values()))
    assert [(names[message.by], message.text) for message in messages] == MEETING
