"""Agents with bots of their own: who speaks, who is spoken to, and one message that several bots see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio
import pytest
from msgspec.structs import replace

from adapters.adapter import FileData, HttpRequest, Inbound
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.inbound.intake import TelegramWebhook
from adapters.telegram.options import TelegramOptions
from runtime.core.address import Address, Speaker
from runtime.core.errors import AuthFailed
from runtime.core.message import Choice
from tests.contract.telegram.speaking import ADA, HOST, OLD_GROUP, US, new_adapter, send
from tests.fakes.telegram.platform import BOT_ID, GROUP, PERSON, Bot, TelegramPlatform

pytestmark = pytest.mark.anyio

GUIDE_TOKEN = "777:guide-token"
GUIDE = Speaker("1001", "Guide")
WITH_GUIDE = Address("telegram", f"{PERSON}@777")


@pytest.fixture
def guide(platform: TelegramPlatform) -> Bot:
    return platform.add_bot(GUIDE_TOKEN, "GuideBot", "Guide")


@pytest.fixture
async def both(options: TelegramOptions, guide: Bot) -> AsyncIterator[TelegramAdapter]:
    async with aclosing(new_adapter(replace(options, agents={"Guide": GUIDE_TOKEN}))) as made:
        yield made


async def heard(adapter: TelegramAdapter, count: int) -> list[Inbound]:
    """So many items, and no more after them."""
    async with adapter.connect() as inbound:
        found = [await anext(inbound) for _ in range(count)]
        with anyio.move_on_after(0.2):
            found.append(await anext(inbound))
    return found


def by(platform: TelegramPlatform, chat: int = GROUP) -> list[tuple[int, str]]:
    return [(posted.by, posted.text) for posted in platform.messages(chat)]


async def test_agent_speaks_by_its_own_bot_in_groups_and_under_its_name_elsewhere(
    both: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(both, "follow me", to=US, speaker=GUIDE)
    await send(both, "hello", to=US, speaker=HOST)
    await send(both, "in private", to=ADA, speaker=GUIDE)
    assert by(platform) == [(777, "follow me"), (BOT_ID, "Host\nhello")]
    assert by(platform, PERSON) == [(BOT_ID, "Guide\nin private")]


async def test_message_is_changed_offered_and_deleted_by_the_bot_that_posted_it(
    both: TelegramAdapter, platform: TelegramPlatform
) -> None:
    message = await send(both, "one", to=US, speaker=GUIDE)
    await both.edit(US, message, "two", speaker=GUIDE, nonce="n", final=True)
    await both.offer(US, message, "two", [Choice("c", "Go")], speaker=GUIDE, nonce="n")
    platform.press("c", chat=GROUP)
    [pressed] = await heard(both, 1)
    assert (pressed.message_id, pressed.choice, pressed.address) == (message, "c", US)
    await both.delete(US, message, speaker=GUIDE)
    assert by(platform) == []


async def test_main_bot_speaks_where_the_agents_bot_is_no_member(
    both: TelegramAdapter, platform: TelegramPlatform, guide: Bot
) -> None:
    platform.throw_out(GROUP, guide)
    first = await send(both, "one", to=US, speaker=GUIDE)
    await send(both, "two", to=US, speaker=GUIDE)
    await both.edit(US, first, "one!", speaker=GUIDE, nonce="n", final=True)
    assert by(platform) == [(BOT_ID, "Guide\none!"), (BOT_ID, "Guide\ntwo")]
    assert [call.status for call in platform.calls_of("sendMessage")] == [403, 200, 200]


async def test_message_that_several_bots_see_comes_once_and_is_for_the_agents_it_names(
    both: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.say("@GuideBot show me", chat=GROUP)
    platform.say("@ParleyBot and you?", chat=GROUP)
    platform.say("among ourselves", chat=GROUP)
    platform.say("/status@GuideBot", chat=GROUP)
    texts = {(one.text, one.command, one.addressed) for one in await heard(both, 4)}
    assert texts == {
        ("@Guide show me", None, True),
        ("and you?", None, True),
        ("among ourselves", None, False),
        ("", "status", True),
    }


async def test_message_in_a_basic_group_comes_once_though_its_numbers_differ(
    both: TelegramAdapter, platform: TelegramPlatform, guide: Bot
) -> None:
    update = platform.say("@GuideBot show me", chat=OLD_GROUP)
    content = platform.updates.content_of(update)
    guide.updates.withdraw()
    guide.updates.put({"message": content["message"] | {"message_id": 4000}})
    [one] = await heard(both, 1)
    assert one.text == "@Guide show me"


async def test_reply_to_an_agents_bot_is_for_that_agent_and_quotes_it(
    both: TelegramAdapter, platform: TelegramPlatform
) -> None:
    message = await send(both, "left or right?", to=US, speaker=GUIDE)
    platform.say("left", chat=GROUP, reply_to=int(message.partition("/")[2]))
    [answer] = await heard(both, 1)
    assert (answer.text, answer.addressed) == ("@Guide left", True)
    assert answer.quote is not None
    assert answer.quote.message_id == message


async def test_private_chat_with_an_agents_bot_is_a_conversation_of_its_own(
    both: TelegramAdapter, platform: TelegramPlatform, guide: Bot
) -> None:
    platform.say("hello guide", to=guide)
    platform.say("hello all")
    own, main = sorted(await heard(both, 2), key=lambda one: one.address.key, reverse=True)
    assert (own.address, own.text, own.private) == (WITH_GUIDE, "@Guide hello guide", True)
    assert (main.address, main.text) == (ADA, "hello all")
    await send(both, "by its bot", to=WITH_GUIDE, speaker=HOST)
    assert own.message_id is not None
    await both.react(WITH_GUIDE, own.message_id, "seen")
    assert by(platform, PERSON) == [(777, "by its bot")]
    assert both.budget(WITH_GUIDE)[0] != both.budget(ADA)[0]


async def test_file_that_was_sent_to_an_agents_bot_is_fetched_by_it(
    both: TelegramAdapter, platform: TelegramPlatform, guide: Bot
) -> None:
    platform.send_file(b"map", to=guide)
    [said] = await heard(both, 1)
    assert await both.download(said.attachments[0].url, max_bytes=10) == b"map"
    assert said.attachments[0].url == "telegram-file:777/file0"
    await both.upload(US, FileData("a.txt", "text/plain", b"x"), "", speaker=GUIDE, nonce="n")
    assert by(platform) == [(777, "")]


async def test_agents_bot_whose_token_is_refused_is_left_out(
    options: TelegramOptions, platform: TelegramPlatform
) -> None:
    async with aclosing(new_adapter(replace(options, agents={"Guide": "778:refused"}))) as adapter:
        platform.say("hi")
        assert [one.text for one in await heard(adapter, 1)] == ["hi"]
        await send(adapter, "under my name", to=US, speaker=GUIDE)
    assert by(platform) == [(BOT_ID, "Guide\nunder my name")]


async def test_token_of_an_agent_must_look_like_one(options: TelegramOptions) -> None:
    with pytest.raises(AuthFailed, match="digits, a colon"):
        new_adapter(replace(options, agents={"Guide": "no token"}))


async def test_each_bot_has_a_webhook_and_a_secret_of_its_own(
    options: TelegramOptions, platform: TelegramPlatform, guide: Bot
) -> None:
    url = "https://chat.example.org/hooks/telegram"
    hooked = new_adapter(replace(options, agents={"Guide": GUIDE_TOKEN}, webhook_url=url))
    secret = TelegramWebhook.of(url, GUIDE_TOKEN, 777).secret
    async with aclosing(hooked), hooked.connect():
        assert [call.params["url"] for call in platform.calls_of("setWebhook")] == [url, f"{url}/777"]
        assert platform.updates.secret != guide.updates.secret == secret
        headers = {"x-telegram-bot-api-secret-token": secret}
        nothing = b'{"update_id": 1}'
        assert (await hooked.receive(HttpRequest("POST", "/777", {}, headers, nothing))).status == 200
        assert (await hooked.receive(HttpRequest("POST", "/", {}, headers, nothing))).status == 403
