"""The gateway on Discord: wired, live, and going on after it was killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from runtime.core.texts import english
from tests.e2e.gateway_process import ROOT, Gateway, gateway, parley
from tests.fakes.discord import wire as discord_wire
from tests.fakes.discord.limits import DiscordLimits
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.discord.world import Posted

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PROGRAMS = ROOT / "tests" / "e2e" / "programs"
TELLER = PROGRAMS / "teller.pb"
DESK = PROGRAMS / "desk.pb"
TOUR = ROOT / "examples" / "tour.pb"
HELLO = "I am the teller."
BEGIN_OF_STORY = "Once there was"
END_OF_STORY = "told it once."
LIMIT_S = 90


def discord_settings(address: str, **more: str) -> dict[str, str]:
    return {
        "PARLEY_DISCORD__TOKEN": discord_wire.TOKEN,
        "PARLEY_DISCORD__BASE_URL": f"{address}/api/v10",
        "PARLEY_DISCORD__ACCESS": "open",
        **more,
    }


@asynccontextmanager
async def listened_to(platform: DiscordPlatform, directory: Path, program: Path, **more: str) -> AsyncIterator[Gateway]:
    """A gateway that hears what is said on Discord."""
    async with (
        discord_wire.serving(platform) as address,
        gateway(directory, program, discord_settings(address, **more)) as running,
    ):
        with anyio.fail_after(LIMIT_S):
            await platform.until(lambda: platform.gateway.connected)
        yield running


async def seen(platform: DiscordPlatform, channel: Callable[[], str | None], *parts: str) -> list[Posted]:
    """Return when each part stands in a message of ours there; the messages."""

    def there() -> list[Posted]:
        where = channel()
        return [] if where is None else platform.world.messages(where)

    try:
        with anyio.fail_after(LIMIT_S):
            await platform.until(lambda: all(any(part in posted.text for posted in there()) for part in parts))
    except TimeoutError:
        raise AssertionError(f"{parts} were waited for, there is {[posted.text for posted in there()]}") from None
    return there()


async def test_group_session_begins_in_a_thread_with_three_agents_and_two_people(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world

    def thread() -> str | None:
        return next(iter(world.people.threads()), None)

    async def ends_with(text: str) -> None:
        await platform.until(lambda: text in world.messages(thread() or "")[-1].text)

    async with listened_to(platform, tmp_path, TOUR):
        world.people.session(world.ada, world.general, "start", topic="A boat")
        await seen(platform, thread, "one of five agents")
        there = thread()
        assert there is not None
        for who, greeting in (
            (world.ada, "only you have answered this, Ada Lovelace"),
            (world.bob, "Hello, Bob! With you here: Ada Lovelace."),
        ):
            await ends_with("What would you like to see?")
            world.say("people", there, who)
            await ends_with("Who is here?")
            world.say("me", there, who)
            await seen(platform, thread, greeting)
        await ends_with("What would you like to see?")
        world.say("meeting", there)
        said = await seen(platform, thread, "They chose **Gull**")
    assert world.people.threads() == {there: "A boat"}
    assert world.messages(world.general) == []
    transcript = [(posted.author, posted.text) for posted in said if "would you like" not in posted.text][-5:]
    assert [author for author, _ in transcript] == ["Guide", "Painter", "Poet", "Guide", "Guide"]
    assert "Welcome! We need a name for a boat." in transcript[0][1]
    assert transcript[1:3] == [
        ("Painter", "Poet, Guide: I see a deep colour, **Ultramarine**."),
        ("Poet", "And I hear the wind, dear Guide: **Gull**."),
    ]
    assert all(posted.hook is not None for posted in said)


async def test_mention_is_answered_in_its_thread_and_stopped_there(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world
    async with listened_to(platform, tmp_path, TELLER):
        asked = world.say(f"<@{world.bot}> hello")
        await seen(platform, lambda: asked, HELLO)
        world.say("slow", asked, world.bob)
        await seen(platform, lambda: asked, "Once")
        waiting = world.say("are you there?", asked)

        def marks() -> list[str]:
            return [each.emoji for each in world.backend.get_message(int(asked), int(waiting)).reactions]

        with anyio.fail_after(LIMIT_S):
            await platform.until(lambda: marks() != [])
        stopping = world.people.session(world.ada, asked, "stop")
        with anyio.fail_after(LIMIT_S):
            await platform.until(lambda: bool(world.receipt(stopping)))
        await seen(platform, lambda: asked, "Stopped.")
    assert END_OF_STORY not in "".join(posted.text for posted in world.messages(asked))


async def test_words_in_the_thread_that_somebody_begins_below_a_question_answer_it(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world

    def there() -> str:
        return world.general

    async with listened_to(platform, tmp_path, PROGRAMS / "errands.pb", PARLEY_DISCORD__MENTION="reply"):
        world.say(f"<@{world.bot}> hi")
        await seen(platform, there, "I am here.")
        world.say(f"<@{world.bot}> which")
        asked = next(posted for posted in await seen(platform, there, "Which one?") if "Which one?" in posted.text)
        thread = world.people.thread_below(world.bob, world.general, asked.id, "Which?")
        world.say("this", thread, world.bob)
        await seen(platform, there, "so this")
        world.say("or that?", thread)
        await seen(platform, lambda: thread, english()("session.question_thread_closed"))
    assert not any("or that?" in posted.text for posted in world.messages(world.general)), "it answered nothing more"
    assert not any("I am here." in posted.text for posted in world.messages(thread)), "a conversation began below"


async def test_words_below_a_question_are_heard_that_come_before_its_message_is_found_again(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world

    def there() -> str:
        return world.general

    more = {"PARLEY_DISCORD__MENTION": "reply"}
    async with listened_to(platform, tmp_path, PROGRAMS / "errands.pb", **more) as running:
        world.say(f"<@{world.bot}> hi")
        await seen(platform, there, "I am here.")
        platform.fail("hook_send", "hang", applied=True)
        world.say(f"<@{world.bot}> which")
        asked = next(posted for posted in await seen(platform, there, "Which one?") if "Which one?" in posted.text)
        running.kill()
        await running.gone()
        platform.fail("hooks", "flood", retry_after_s=8.0)  # until then the message cannot be looked for
        await running.start()
        with anyio.fail_after(LIMIT_S):
            await platform.until(lambda: platform.gateway.connected and not platform.in_trouble)
        thread = world.people.thread_below(world.bob, world.general, asked.id, "Which?")
        world.say("this", thread, world.bob)
        await seen(platform, there, "so this")
    assert not any("I am here." in posted.text for posted in world.messages(thread)), "a conversation began below"


async def test_question_is_answered_by_a_button(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world
    async with listened_to(platform, tmp_path, DESK):
        world.say("hello", world.private())
        await seen(platform, world.private, "The desk is open.")
        world.say("ship", world.private())
        await seen(platform, world.private, "Ship the order?")

        def question() -> Posted:
            return next(posted for posted in world.messages(world.private()) if "Ship the order?" in posted.text)

        with anyio.fail_after(LIMIT_S):
            await platform.until(lambda: question().choices == ("Yes", "No"))
        pressed = world.press(world.private(), question().id, "Yes")
        await seen(platform, world.private, "Shipped.")
        with anyio.fail_after(LIMIT_S):
            await platform.until(lambda: question().choices == ())
            await platform.until(lambda: world.backend.interactions[int(pressed)].responded)


async def test_file_goes_in_and_another_comes_out(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world
    async with listened_to(platform, tmp_path, DESK):
        asked = world.say(f"<@{world.bot}> hello")
        await seen(platform, lambda: asked, "The desk is open.")
        world.say("count", asked, files=[("words.txt", b"one two three")])
        said = await seen(platform, lambda: asked, "Here is the count.")
    [sent] = [posted for posted in said if posted.files]
    assert (sent.author, sent.text, sent.files) == ("Desk", "Here is the count.", ("count.txt",))
    kept = world.backend.messages[int(asked)][int(sent.id)].attachments[0]
    assert world.backend.cdn.get(kept["url"]) == b"3 words"


async def test_story_of_an_agent_is_told_once_whatever_moment_the_gateway_is_killed_at(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world
    async with listened_to(platform, tmp_path, TELLER) as running:
        asked = world.say(f"<@{world.bot}> hello")
        await seen(platform, lambda: asked, HELLO)
        world.say("story", asked)
        platform.fail("hook_send", "hang", applied=True)
        await seen(platform, lambda: asked, "Once")
        running.kill()
        await running.gone()
        await running.start()
        said = await seen(platform, lambda: asked, END_OF_STORY)
    assert [BEGIN_OF_STORY in posted.text for posted in said] == [False, True]
    assert {posted.author for posted in said} == {"Teller"}


async def test_storm_of_refusals_costs_nothing_but_time(tmp_path: Path) -> None:
    platform = DiscordPlatform(limits=DiscordLimits())
    world = platform.world
    async with listened_to(platform, tmp_path, TELLER):
        asked = world.say(f"<@{world.bot}> hello")
        await seen(platform, lambda: asked, HELLO)
        platform.fail("hook_send", "flood", times=2, retry_after_s=0.5)
        world.say("list", asked)
        said = await seen(platform, lambda: asked, "That was all of it.")
    assert Counter(call.operation for call in platform.calls if call.status == 429) == {"hook_send": 2}
    whole = "\n".join(posted.text for posted in said)
    told = [whole.count(part) for part in [f"Paragraph {n} says" for n in range(1, 21)]]
    assert told == [1] * 20
    assert all(whole.count(f"value_{n:03d} =") == 1 for n in range(1, 141))


async def test_discord_conversation_goes_on_after_a_kill(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    private = platform.world.private()

    def shown() -> list[str]:
        return [message.text for message in platform.world.messages(private)]

    async with listened_to(platform, tmp_path, TELLER) as running:
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
    assert sum(text.startswith(BEGIN_OF_STORY) for text in shown()) == 1


async def test_check_says_what_discord_refuses_and_which_rights_are_missing(tmp_path: Path) -> None:
    platform = DiscordPlatform()

    async def checked(**more: str) -> tuple[int, str]:
        code, out, _ = await parley(tmp_path, "check", **discord_settings(address, **more))
        assert "token" not in more or more["token"] not in out
        return code, next(line for line in out.splitlines() if line.split()[1:2] == ["discord"])

    async with discord_wire.serving(platform) as address:
        good, line = await checked()
        assert (good, line[0]) == (0, "✓"), line
        platform.world.forbid("manage_webhooks")
        lesser, line = await checked()
        assert (lesser, line[0]) == (0, "✓")
        assert "In Us the bot lacks Manage Webhooks" in line
        platform.world.forbid("send_messages")
        mute, line = await checked()
        assert (mute, line[0]) == (1, "✗")
        assert "In Us the bot lacks Send Messages" in line
        refused, line = await checked(PARLEY_DISCORD__TOKEN="wrong.token")
        assert (refused, line[0]) == (1, "✗")
        assert "Reset Token" in line
        assert "wrong.token" not in line


async def test_invitation_is_printed_with_each_right(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    async with discord_wire.serving(platform) as address:
        code, out, _ = await parley(tmp_path, "setup", "discord", **discord_settings(address))
    assert code == 0
    assert out.startswith("https://discord.com/oauth2/authorize?client_id=")
    assert f"client_id={platform.world.backend.application_id}&scope=bot+applications.commands&permissions=" in out
    assert "Manage Webhooks          to let each agent speak under its own name" in out
    code, _, err = await parley(tmp_path, "setup", "discord")
    assert code == 2
    assert "PARLEY_DISCORD__TOKEN" in err


async def test_what_answers_a_command_is_seen_by_who_gave_it_alone_also_after_a_restart(tmp_path: Path) -> None:
    platform = DiscordPlatform()
    world = platform.world
    async with listened_to(platform, tmp_path, TELLER) as running:
        asked = world.say(f"<@{world.bot}> hello")
        await seen(platform, lambda: asked, HELLO)
        running.kill()
        await running.gone()
        await running.start()
        for command, part in (("status", "teller"), ("agents", "Teller"), ("help", "/new")):
            with anyio.fail_after(LIMIT_S):
                await running.listens_to("discord")
                given = world.choose(command, asked)
                await platform.until(lambda given=given, part=part: part in (world.receipt(given) or ""))  # type: ignore[misc]
            assert world.backend.interactions[int(given)].ephemeral
    assert [posted.text for posted in world.messages(asked)] == [HELLO]
