"""The gateway on Telegram: live text, groups, long answers, floods, commands, and who may talk."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway, parley
from tests.e2e.talks import TelegramTalk, until, until_begun
from tests.fakes.telegram.chats import Posted
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.markup import units
from tests.fakes.telegram.platform import GROUP, TOKEN, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

TELLER = ROOT / "tests" / "e2e" / "programs" / "teller.pb"
HELLO = "I am the teller."
REFUSED = "This is a private bot. Ask its owner for access."
ASKED = "This is a private bot. To get access, give its owner this code within 60 minutes: "
PAIRED = "Welcome! You are now my owner. /help lists what you can do."
END_OF_STORY = "told it once."


def settings(address: str, **more: str) -> dict[str, str]:
    return {"PARLEY_TELEGRAM__TOKEN": TOKEN, "PARLEY_TELEGRAM__BASE_URL": f"{address}/bot", **more}


@pytest.fixture(scope="module")
async def telegram(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[TelegramPlatform]:
    """Telegram with flood control and a bot that everybody may talk with."""
    platform = TelegramPlatform(limits=FloodLimits())
    async with serving(platform) as address:
        environment = settings(address, PARLEY_TELEGRAM__ACCESS="open")
        async with gateway(tmp_path_factory.mktemp("telegram"), TELLER, environment):
            yield platform


async def greeted(telegram: TelegramPlatform, chat: int) -> TelegramTalk:
    """A private chat in which the conversation has begun."""
    talk = TelegramTalk(telegram, chat=chat)
    await talk.say("hi")
    await until(talk, HELLO)
    return talk


async def story(talk: TelegramTalk, *, kind: str = "story") -> Posted:
    """The message with the story, once its end is there."""
    await talk.say(kind)
    await talk.until_that(lambda: talk.texts()[-1].endswith(END_OF_STORY))
    assert len(talk.texts()) == 2
    return talk.platform.messages(talk.chat)[-1]


async def test_an_answer_grows_by_edits_of_one_message_and_ends_formatted(telegram: TelegramPlatform) -> None:
    talk = await greeted(telegram, 201)
    message = await story(talk, kind="long")
    assert len(message.history[0]) < len(message.text) / 3
    assert len(message.history) >= 3
    assert [len(text) for text in message.history] == sorted(len(text) for text in message.history)
    assert {entity["type"] for entity in message.entities} == {"bold", "code"}
    assert "*" not in message.text
    assert talk.posts() == 2


async def test_the_button_below_a_draft_stops_the_answer_and_what_was_written_stays(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    async with serving(platform) as address:
        drafting = settings(address, PARLEY_TELEGRAM__ACCESS="open", PARLEY_TELEGRAM__DRAFTS="true")
        async with gateway(tmp_path, TELLER, drafting):
            talk = await greeted(platform, 204)
            await talk.say("slow")
            await platform.until(lambda: any(draft.text.startswith("Once") for draft in platform.chats.drafts))
            platform.stop_draft(chat=204)
            await talk.until_that(lambda: any("Stopped" in text for text in talk.texts()))
            await talk.say("and now?")
            await talk.until_that(lambda: talk.texts().count(HELLO) == 2)
            assert talk.texts() == [
                HELLO,
                "Once ⏹",
                "⏹ Stopped. The next message starts the program over.",
                HELLO,
            ]


async def test_a_growing_answer_never_meets_flood_control(telegram: TelegramPlatform) -> None:
    talk = await greeted(telegram, 202)
    await story(talk)
    assert [call for call in telegram.calls if call.status == 429 and call.params.get("chat_id") == talk.chat] == []


async def test_a_group_is_answered_only_when_it_speaks_to_the_bot(telegram: TelegramPlatform) -> None:
    talk = TelegramTalk(telegram, chat=GROUP, person=42)
    await talk.say("good morning everybody")
    await talk.say("@ParleyBot hello")
    await until(talk, f"Teller\n{HELLO}")
    await talk.say("do you think it hears us?")
    telegram.say("what is this?", chat=GROUP, reply_to=int(talk.ids()[0]))
    await until(talk, f"Teller\n{HELLO}", "Teller\nYou said: what is this?")


async def test_a_long_answer_comes_in_order_in_several_messages_with_closed_fences(telegram: TelegramPlatform) -> None:
    talk = await greeted(telegram, 203)
    await talk.say("list")
    await talk.until_that(lambda: talk.texts()[-1].endswith("That was all of it."))
    _, *parts = telegram.messages(talk.chat)
    assert len(parts) >= 2
    assert all(units(part.text) <= 4096 and "```" not in part.text for part in parts)
    shown = "\n".join(part.text for part in parts)
    assert re.findall(r"Paragraph (\d+) says", shown) == [str(n) for n in range(1, 21)]
    assert re.findall(r"value_(\d+) = compute", shown) == [f"{n:03d}" for n in range(1, 141)]
    for part in parts:
        code = [e for e in part.entities if e["type"] == "pre"]
        first, last = part.text.find("value_"), part.text.rfind("factor=")
        assert first < 0 or any(e["offset"] <= first and last < e["offset"] + e["length"] for e in code)


async def test_an_answer_survives_a_storm_of_floods(telegram: TelegramPlatform) -> None:
    talk = await greeted(telegram, 204)
    telegram.fail("editMessageText", "flood", times=3, retry_after=1)
    message = await story(talk)
    assert {entity["type"] for entity in message.entities} == {"bold", "code"}
    assert talk.posts() == 2


@pytest.mark.parametrize("applied", [True, False])
async def test_edits_whose_outcome_is_unknown_leave_no_second_message(
    telegram: TelegramPlatform, applied: bool
) -> None:
    talk = await greeted(telegram, 205 + applied)
    telegram.fail("editMessageText", "bad_gateway", times=2, applied=applied)
    await story(talk)
    assert talk.posts() == 2


async def test_an_update_that_comes_twice_is_answered_once(telegram: TelegramPlatform) -> None:
    talk = await greeted(telegram, 207)
    await talk.say("one")
    await until(talk, HELLO, "You said: one")
    await talk.repeat()
    await talk.say("two")
    await until(talk, HELLO, "You said: one", "You said: two")


async def test_commands_tell_stop_and_begin_anew(telegram: TelegramPlatform) -> None:
    talk = TelegramTalk(telegram, chat=208)
    await talk.say("/start")
    await until(talk, HELLO)
    await talk.say("/help")
    await talk.until_that(lambda: all(f"/{word}:" in talk.texts()[-1] for word in ("new", "stop", "status")))
    await talk.say("/status")
    await talk.until_that(lambda: "Teller: Begin → Listen" in talk.texts()[-1])
    await talk.say("/juggle")
    await until_begun(talk, "I do not know the command /juggle.")
    await talk.say("slow")
    await until_begun(talk, "Once")
    await talk.say("/stop")
    await until_begun(talk, "⏹ Stopped.")
    assert talk.texts()[-2] == "Once ⏹"
    await talk.say("/new")
    await talk.until_that(lambda: talk.texts()[-1] == HELLO)
    await talk.say("again")
    await until_begun(talk, "You said: again")
    assert talk.texts().count(HELLO) == 2


async def test_a_stranger_is_told_once_and_the_code_makes_an_owner_for_good(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    async with (
        serving(platform) as address,
        gateway(tmp_path, TELLER, settings(address, PARLEY_LOGS__LEVEL="debug")) as running,
    ):
        (found,) = await running.prints(r"telegram .* owner: (\w+)")
        stranger, owner = TelegramTalk(platform, chat=301), TelegramTalk(platform, chat=302)
        await stranger.say("hi")
        await stranger.say("is anybody there?")
        await until_begun(stranger, ASKED)
        (asked,) = stranger.texts()
        await owner.say(found[1].lower())
        await until(owner, PAIRED)
        await stranger.say(found[1])
        await owner.say("hello")
        await until(owner, PAIRED, HELLO)
        assert stranger.texts() == [asked]

        await running.prints('"page.sent"')
        running.kill()
        await running.gone()
        await running.start()
        await owner.say("still me")
        await until(owner, PAIRED, HELLO, "You said: still me")
        await stranger.say("and me?")
        await owner.say("and me again")
        await until_begun(owner, "You said: and me again")
        assert stranger.texts() == [asked]
        assert not re.search(r"telegram .*owner:", running.output)


async def test_only_people_and_groups_on_the_allowlist_are_heard(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    async with serving(platform) as address:
        environment = settings(address, PARLEY_TELEGRAM__ACCESS="allowlist", PARLEY_TELEGRAM__ALLOW_PEOPLE="301")
        async with gateway(tmp_path, TELLER, environment | {"PARLEY_TELEGRAM__ALLOW_CHATS": str(GROUP)}) as running:
            friend, stranger = TelegramTalk(platform, chat=301), TelegramTalk(platform, chat=302)
            group = TelegramTalk(platform, chat=GROUP, person=302)
            await stranger.say("hi")
            await until(stranger, REFUSED)
            await friend.say("hi")
            await until(friend, HELLO)
            await group.say("@ParleyBot hi")
            await until(group, f"Teller\n{HELLO}")
            assert not re.search(r"telegram .*owner:", running.output)


async def test_a_refused_token_is_said_in_one_line_and_the_web_chat_goes_on(tmp_path: Path) -> None:
    platform = TelegramPlatform(token="654321:another_bot_altogether_00000000000000")
    async with serving(platform) as address, gateway(tmp_path, TELLER, settings(address)) as running:
        (line,) = await running.prints(r"[^\n]*adapter\.failed[^\n]*\n")
        assert "Telegram" in line[0]
        assert "token" in line[0]
        assert TOKEN not in running.output
        await answered_on_the_web(running)


async def answered_on_the_web(running: Gateway) -> None:
    async with AsyncExitStack() as stack:
        room = Room(await stack.enter_async_context(running.page()))
        await room.join()
        await room.say("hi")
        await room.until(HELLO)


@pytest.mark.parametrize("token", [TOKEN, "not-a-token"])
async def test_check_names_a_wrong_token_without_showing_it(tmp_path: Path, token: str) -> None:
    platform = TelegramPlatform(token="654321:another_bot_altogether_00000000000000")
    async with serving(platform) as address:
        code, output, errors = await parley(tmp_path, "check", **settings(address) | {"PARLEY_TELEGRAM__TOKEN": token})
    assert code == 1
    verdict, line = [line for line in output.splitlines() if line.startswith("✗")]
    assert verdict == "✗ Not ready: see telegram."
    assert "telegram" in line
    assert "token" in line
    assert token not in output + errors


async def test_check_knows_the_bot_behind_a_good_token(tmp_path: Path) -> None:
    async with serving(TelegramPlatform()) as address:
        code, output, _ = await parley(tmp_path, "check", **settings(address))
    assert code == 0, output
    assert "@ParleyBot" in output


async def test_the_menu_of_commands_is_in_every_language_that_has_texts(tmp_path: Path) -> None:
    platform, texts = TelegramPlatform(), tmp_path / "texts"
    texts.mkdir()
    (texts / "de.toml").write_text('[commands.help]\nwhat = "was hier geht"')
    async with (
        serving(platform) as address,
        gateway(tmp_path, TELLER, settings(address, PARLEY_TEXTS_DIR=str(texts))) as running,
    ):
        await running.listens_to("telegram")
        await platform.until(lambda: {"", "de"} <= set(platform.main.commands))
    shown = {
        language: {one["command"]: one["description"] for one in m} for language, m in platform.main.commands.items()
    }
    assert shown["de"]["help"] == "was hier geht"
    assert shown[""]["help"] != shown["de"]["help"]
    assert set(shown["de"]) == set(shown[""])
