"""The gateway on Telegram beyond words: approvals by buttons, files, marks while busy, topics, webhooks, drafts."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from adapters.telegram.limits import MARKS
from tests.e2e.gateway_process import ROOT, gateway
from tests.e2e.platforms.test_telegram import END_OF_STORY, HELLO, TELLER, settings
from tests.e2e.talks import TelegramTalk, until, until_begun
from tests.fakes.servers.ports import free_port
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import BOT_ID, GROUP, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

DESK = ROOT / "tests" / "e2e" / "programs" / "desk.pb"
OPEN = "The desk is open."


@pytest.fixture(scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[TelegramPlatform]:
    """A desk on Telegram, with flood control."""
    platform = TelegramPlatform(limits=FloodLimits())
    async with serving(platform) as address:
        environment = settings(address, PARLEY_TELEGRAM__ACCESS="open")
        async with gateway(tmp_path_factory.mktemp("desk"), DESK, environment):
            yield platform


async def opened(platform: TelegramPlatform, chat: int) -> TelegramTalk:
    talk = TelegramTalk(platform, chat=chat)
    await talk.say("hi")
    await until(talk, OPEN)
    return talk


@pytest.mark.parametrize(("label", "outcome", "chat"), [("Yes", "Shipped.", 401), ("No", "Not shipped.", 402)])
async def test_an_approval_is_a_press_of_a_button_and_the_buttons_go(
    desk: TelegramPlatform, label: str, outcome: str, chat: int
) -> None:
    talk = await opened(desk, chat)
    await talk.say("ship")
    await talk.until_that(lambda: bool(desk.messages(chat)[-1].buttons))
    question = desk.messages(chat)[-1]
    choices = {button["text"]: button["callback_data"] for row in question.buttons for button in row}
    assert list(choices) == ["Yes", "No"]
    presses = len(desk.answered)
    desk.press(choices[label], chat=chat, person=chat)
    await talk.until_that(lambda: talk.texts()[-1] == outcome and not question.buttons)
    assert question.text.endswith(f"\n\n✓ {label}")
    await talk.until_that(lambda: len(desk.answered) == presses + 1)


async def test_a_file_comes_in_and_another_goes_out(desk: TelegramPlatform) -> None:
    talk = await opened(desk, 403)
    desk.send_file(b"one two three", name="words.txt", chat=403, person=403, caption="count")
    await talk.until_that(lambda: talk.texts()[-1] == "Here is the count.")
    sent = desk.chats.files[-1]
    assert (sent.name, sent.data) == ("count.txt", b"3 words")


async def test_a_message_to_a_busy_agent_is_marked_at_once_and_answered_later(tmp_path: Path) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    async with (
        serving(platform) as address,
        gateway(tmp_path, TELLER, settings(address, PARLEY_TELEGRAM__ACCESS="open")),
    ):
        talk = TelegramTalk(platform, chat=404)
        await talk.say("hi")
        await until(talk, HELLO)
        await talk.say("long")
        await until_begun(talk, "Once")
        number = platform.message_of(platform.say("and then?", chat=404, person=404))
        await talk.until_that(lambda: platform.chats.reactions.get((404, number)) == MARKS["queued"])
        assert not talk.texts()[-1].endswith(END_OF_STORY)
        await talk.until_that(lambda: talk.texts()[-1] == "You said: and then?")
        assert talk.texts()[-2].endswith(END_OF_STORY)
        await talk.until_that(lambda: platform.chats.reactions[404, number] == MARKS["seen"])


async def test_in_a_topic_only_the_first_message_needs_a_mention_and_topics_do_not_mix(tmp_path: Path) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    for topic in (5, 6):
        platform.chats.open_topic(GROUP, topic)
    async with (
        serving(platform) as address,
        gateway(tmp_path, TELLER, settings(address, PARLEY_TELEGRAM__ACCESS="open")),
    ):
        group = TelegramTalk(platform, chat=GROUP)
        platform.say("@ParleyBot hello", chat=GROUP, thread=5)
        await group.until_that(lambda: len(group.texts()) == 1)
        platform.say("nobody asked you", chat=GROUP, thread=6)
        platform.say("no mention", chat=GROUP, thread=5)
        await group.until_that(lambda: len(group.texts()) == 2)
        assert [(posted.thread, posted.text) for posted in platform.messages(GROUP)] == [
            (5, f"Teller\n{HELLO}"),
            (5, "Teller\nYou said: no mention"),
        ]


async def test_a_webhook_brings_what_people_say_also_what_they_said_while_nobody_listened(tmp_path: Path) -> None:
    platform = TelegramPlatform()
    port = free_port()
    async with serving(platform) as address:
        hook = f"http://127.0.0.1:{port}/hooks/telegram/part"
        environment = settings(
            address,
            PARLEY_TELEGRAM__ACCESS="open",
            PARLEY_TELEGRAM__WEBHOOK_URL=hook,
            PARLEY_WEB__PORT=str(port),
            PARLEY_LOGS__LEVEL="debug",
        )
        async with gateway(tmp_path, TELLER, environment) as running:
            talk = TelegramTalk(platform, chat=405)
            await talk.say("hi")
            await until(talk, HELLO)
            await running.prints('"page.sent"')
            running.kill()
            await running.gone()
            await talk.say("are you there?")
            await running.start()
            await until(talk, HELLO, "You said: are you there?")
            await talk.until_that(lambda: platform.updates.pending == [])
            await talk.repeat()
            await talk.say("once more")
            await until(talk, HELLO, "You said: are you there?", "You said: once more")
        assert platform.calls_of("getUpdates") == []


async def test_an_answer_grows_as_a_draft_and_ends_as_one_message(tmp_path: Path) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    async with serving(platform) as address:
        environment = settings(address, PARLEY_TELEGRAM__ACCESS="open", PARLEY_TELEGRAM__DRAFTS="true")
        async with gateway(tmp_path, TELLER, environment):
            talk = TelegramTalk(platform, chat=406)
            await talk.say("hi")
            await until(talk, HELLO)
            await talk.say("long")
            await talk.until_that(lambda: talk.texts()[-1].endswith(END_OF_STORY))
    assert [posted.history for posted in platform.messages(406)][-1] == [talk.texts()[-1]]
    assert talk.posts() == 2
    drafts = [draft.text for draft in platform.chats.drafts if draft.text.startswith("Once")]
    assert drafts
    assert all(len(text) < len(talk.texts()[-1]) for text in drafts)


async def test_agents_with_bots_of_their_own_speak_by_them(tmp_path: Path) -> None:
    platform = TelegramPlatform(limits=FloodLimits())
    teller = platform.add_bot("777:teller-token", "TellerBot", "Teller")
    token = tmp_path / "teller-token"
    token.write_text("777:teller-token\n")
    (tmp_path / "parley.toml").write_text(f'[telegram.agents]\nTeller = "{token}"\n')
    async with serving(platform) as address:
        environment = settings(address, PARLEY_TELEGRAM__ACCESS="open")
        async with gateway(tmp_path, TELLER, environment):
            group = TelegramTalk(platform, chat=GROUP)
            platform.say("@TellerBot hello", chat=GROUP)
            await group.until_that(lambda: group.texts() == [HELLO])
            platform.throw_out(GROUP, teller)
            platform.say("@ParleyBot who speaks now?", chat=GROUP)
            await group.until_that(lambda: len(group.texts()) == 2)
    assert [posted.by for posted in platform.messages(GROUP)] == [777, BOT_ID]
    assert group.texts()[-1] == "Teller\nYou said: who speaks now?"
