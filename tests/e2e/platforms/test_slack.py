"""The gateway on Slack: wired, live, and going on after it was killed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import anyio
import pytest

from tests.e2e.gateway_process import ROOT, Gateway, gateway, parley
from tests.fakes.slack import http as slack_http
from tests.fakes.slack import server as slack_server
from tests.fakes.slack.conversations import Posted
from tests.fakes.slack.people import CHANNEL, DIRECT, FRIEND
from tests.fakes.slack.platform import SIGNING_SECRET, SlackPlatform

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

DESK = ROOT / "tests" / "e2e" / "programs" / "desk.pb"
TOUR = ROOT / "examples" / "tour.pb"
TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
HELLO = "I am the teller."
END_OF_STORY = "told it once."
LIMIT_S = 90


def slack_settings(platform: SlackPlatform, address: str, **more: str) -> dict[str, str]:
    tokens = {"PARLEY_SLACK__BOT_TOKEN": platform.bot_token, "PARLEY_SLACK__APP_TOKEN": platform.app_token}
    return {**tokens, "PARLEY_SLACK__BASE_URL": f"{address}/api/", **more}


@asynccontextmanager
async def listened_to(platform: SlackPlatform, directory: Path, program: Path, **more: str) -> AsyncIterator[Gateway]:
    """A gateway that hears what is said on Slack, as anybody may; `more` are further settings."""
    async with slack_server.serving(platform) as address:
        environment = slack_settings(platform, address, PARLEY_SLACK__ACCESS="open", **more)
        async with gateway(directory, program, environment) as running:
            with anyio.fail_after(LIMIT_S):
                await running.listens_to("slack")
            yield running


async def test_slack_conversation_goes_on_after_a_kill_in_a_direct_message_and_in_a_thread(tmp_path: Path) -> None:
    platform = SlackPlatform()

    def shown(channel: str) -> list[str]:
        return [message.shown for message in platform.messages(channel)]

    async with listened_to(platform, tmp_path, TELLER) as running:
        with anyio.fail_after(LIMIT_S):
            root = platform.say("hi", channel=DIRECT)
            asked = platform.mention("hello", channel=CHANNEL)
            await platform.until(lambda: any(HELLO in text for text in shown(DIRECT)))
            await platform.until(lambda: any(HELLO in text for text in shown(CHANNEL)))
        assert platform.messages(CHANNEL)[0].thread_ts == asked
        running.kill()
        await running.gone()
        await running.start()
        with anyio.fail_after(LIMIT_S):
            await running.listens_to("slack")
            platform.say("are you there?", channel=DIRECT, thread=root)
            await platform.until(lambda: any("You said: are you there?" in text for text in shown(DIRECT)))
            platform.say("story", channel=CHANNEL, thread=asked)
            await platform.until(lambda: any(END_OF_STORY in text for text in shown(CHANNEL)))
    assert sum(HELLO in text for text in shown(DIRECT)) == 1
    assert sum("Once there was" in text for text in shown(CHANNEL)) == 1


async def _heard(platform: SlackPlatform, said: str) -> str:
    """A thread in which the teller has introduced itself to a person who then said something more."""
    root = platform.mention("hello")
    await platform.until(lambda: any(HELLO in text for text in _thread(platform, root)))
    platform.say(said, thread=root)
    return root


def _thread(platform: SlackPlatform, root: str) -> list[str]:
    return [message.shown for message in platform.messages(CHANNEL) if message.thread_ts == root]


def _stories(platform: SlackPlatform, root: str) -> list[str]:
    return [text for text in _thread(platform, root) if text.startswith("Once there was")]


def _marked(platform: SlackPlatform) -> list[str]:
    """The messages on which the bot has put a mark."""
    return [call.params["timestamp"] for call in platform.calls_of("reactions.add")]


async def test_text_grows_by_a_native_stream_and_stands_there_once(tmp_path: Path) -> None:
    platform = SlackPlatform(limited=True)
    async with listened_to(platform, tmp_path, TELLER):
        with anyio.fail_after(LIMIT_S):
            root = await _heard(platform, "long")
            await platform.until(lambda: bool(platform.calls_of("chat.stopStream")))
        [story] = [m for m in platform.messages() if m.shown.startswith("Once there was")]
    assert story.shown.endswith(END_OF_STORY)
    assert len(story.history) > 1
    assert (story.username, story.thread_ts, story.streaming) == ("Teller", root, False)
    assert [call for call in platform.calls if call.status == 429] == []


async def test_text_that_a_kill_interrupts_is_told_to_its_end_and_once(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with listened_to(platform, tmp_path, TELLER) as running:
        with anyio.fail_after(LIMIT_S):
            root = await _heard(platform, "story")
            await platform.until(lambda: any(message.streaming for message in platform.messages()))
        running.kill()
        await running.gone()
        await running.start()
        with anyio.fail_after(LIMIT_S):
            await platform.until(lambda: any(END_OF_STORY in text for text in _stories(platform, root)))
            await platform.until(lambda: not any(message.streaming for message in platform.messages()))
    assert len(_stories(platform, root)) == 1


async def test_busy_agent_marks_what_waits_and_the_stop_button_interrupts_it(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with listened_to(platform, tmp_path, TELLER):
        with anyio.fail_after(LIMIT_S):
            root = await _heard(platform, "slow")
            await platform.until(lambda: platform.surfaces.sessions.get(f"{CHANNEL}/{root}") == "processing")
            await platform.until(lambda: any(text.startswith("Once") for text in _thread(platform, root)))
            waiting = platform.say("and me?", thread=root, person=FRIEND)
            await platform.until(lambda: waiting in _marked(platform))
            platform.stop(root)
            await platform.until(lambda: platform.surfaces.sessions.get(f"{CHANNEL}/{root}") == "active")
            await platform.until(lambda: any("Stopped" in text for text in _thread(platform, root)))
        assert "Once" in _thread(platform, root)[1]
        assert len(_thread(platform, root)) == 3


async def test_a_thread_whose_agent_is_busy_does_not_hold_up_another(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with listened_to(platform, tmp_path, TELLER):
        with anyio.fail_after(LIMIT_S):
            busy = await _heard(platform, "slow")
            await platform.until(lambda: len(_thread(platform, busy)) == 2)
            platform.say("and now?", thread=busy)
            free = await _heard(platform, "story")
            await platform.until(lambda: any(END_OF_STORY in text for text in _stories(platform, free)))
    assert len(_thread(platform, busy)) == 2
    assert END_OF_STORY not in _thread(platform, busy)[1]


async def test_storm_of_floods_delays_a_text_and_loses_nothing(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with listened_to(platform, tmp_path, TELLER):
        with anyio.fail_after(LIMIT_S):
            for method in ("chat.postMessage", "chat.startStream", "chat.appendStream", "chat.stopStream"):
                platform.fail(method, "flood", times=2, retry_after=1)
            root = await _heard(platform, "story")
            await platform.until(lambda: any(END_OF_STORY in text for text in _stories(platform, root)))
            platform.say("and now?", thread=root)
            await platform.until(lambda: "You said: and now?" in _thread(platform, root))
    assert len(_stories(platform, root)) == 1
    assert sum(HELLO in text for text in _thread(platform, root)) == 1


async def test_gateway_hears_by_http(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with slack_server.serving(platform) as address, aiohttp.ClientSession() as session:
        environment = slack_settings(platform, address, PARLEY_SLACK__ACCESS="open")
        del environment["PARLEY_SLACK__APP_TOKEN"]
        environment["PARLEY_SLACK__SIGNING_SECRET"] = SIGNING_SECRET
        async with gateway(tmp_path, TELLER, environment) as running:
            await running.listens_to("slack")
            send = slack_http.to_url(session, f"{running.url}/hooks/slack/events")
            platform.events.post = slack_http.posting(platform.clock, send)
            with anyio.fail_after(LIMIT_S):
                root = await _heard(platform, "are you there?")
                await platform.until(lambda: "You said: are you there?" in _thread(platform, root))
            async with session.post(f"{running.url}/hooks/slack/events", data=b"{}") as unsigned:
                assert unsigned.status == 401
    assert platform.calls_of("apps.connections.open") == []
    assert {status for event in platform.events.events.values() for status in event.statuses} == {200}


async def test_approval_by_button_takes_the_buttons_away(tmp_path: Path) -> None:
    platform = SlackPlatform()

    def asking() -> list[Posted]:
        return [m for m in platform.messages() if any(block["type"] == "actions" for block in m.blocks)]

    async with listened_to(platform, tmp_path, DESK):
        with anyio.fail_after(LIMIT_S):
            root = platform.mention("hello")
            await platform.until(lambda: "The desk is open." in _thread(platform, root))
            platform.say("ship", thread=root)
            await platform.until(lambda: bool(asking()))
            platform.press("Yes", asking()[0])
            await platform.until(lambda: "Shipped." in _thread(platform, root))
            await platform.until(lambda: not asking())


async def test_file_comes_in_and_another_goes_out(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with listened_to(platform, tmp_path, DESK):
        with anyio.fail_after(LIMIT_S):
            root = platform.mention("hello")
            await platform.until(lambda: "The desk is open." in _thread(platform, root))
            given = platform.files.given("words.txt", b"one two three")
            platform.say("count", thread=root, subtype="file_share", files=[given])
            await platform.until(lambda: any(message.file for message in platform.messages()))
        [sent] = [message for message in platform.messages() if message.file]
    assert sent.thread_ts == root
    assert sent.text == "*Desk*\nHere is the count."
    assert platform.files.files[sent.file or ""].content == b"3 words"


async def _until_some(platform: SlackPlatform, root: str, text: str) -> None:
    await platform.until(lambda: any(text in said for said in _thread(platform, root)))


async def _until_last(platform: SlackPlatform, root: str, text: str) -> None:
    await platform.until(lambda: text in (_thread(platform, root) or [""])[-1])


async def test_three_agents_meet_in_a_thread_before_two_people(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with listened_to(platform, tmp_path, TOUR):
        with anyio.fail_after(LIMIT_S):
            root = platform.mention("hello")
            for more, greeting in ({}, "only you have answered this, Ada"), ({"person": FRIEND}, "Hello, Bob!"):
                for words, before in (("people", "What would you like to see?"), ("me", "Who is here?")):
                    await _until_last(platform, root, before)
                    platform.say(words, thread=root, **more)
                await _until_some(platform, root, greeting)
            await _until_last(platform, root, "What would you like to see?")
            platform.say("meeting", thread=root, person=FRIEND)
            await _until_some(platform, root, "They chose")
    said = [m for m in platform.messages() if m.thread_ts == root and "would you like" not in m.shown]
    met = [(m.username, m.icon_emoji, m.shown.replace("*", "")) for m in said][5:]
    assert [(name, text) for name, _, text in met] == [
        ("Guide", "Welcome! We need a name for a boat. Painter, Poet: what do you suggest?"),
        ("Painter", "Poet, Guide: I see a deep colour, Ultramarine."),
        ("Poet", "And I hear the wind, dear Guide: Gull."),
        ("Guide", "Thank you both. It shall be Gull."),
        ("Guide", "The meeting is over. They chose Gull."),
    ]
    assert len({(name, icon) for name, icon, _ in met}) == 3
    assert [m for m in platform.messages() if m.thread_ts != root] == []


async def test_half_of_the_keys_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    code, out, _ = await parley(tmp_path, "check", PARLEY_SLACK__BOT_TOKEN="xoxb-1")
    assert code == 1
    assert "slack.app_token (Socket Mode) or slack.signing_secret (HTTP)" in out


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


async def test_what_answers_a_command_in_a_thread_is_seen_by_who_gave_it_alone(tmp_path: Path) -> None:
    platform = SlackPlatform()
    async with listened_to(platform, tmp_path, TELLER):
        with anyio.fail_after(LIMIT_S):
            root = await _heard(platform, "!status")
            await platform.until(lambda: bool(platform.alone))
            platform.say("!agents", thread=root, person=FRIEND)
            await platform.until(lambda: len(platform.alone) == 2)
    (person, channel, thread, status), (friend, _, _, agents) = platform.alone
    assert (channel, thread, friend, person == friend) == (CHANNEL, root, FRIEND, False)
    assert "teller" in status
    assert "Teller" in agents
    assert _thread(platform, root) == [HELLO]
