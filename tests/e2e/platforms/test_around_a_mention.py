"""What is around a mention reaches the model, on each platform: one gateway, with the platforms' own libraries."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
import pytest

from runtime.core.prompt_forms import LineForm
from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway, key_in
from tests.e2e.platforms.test_discord import discord_settings
from tests.e2e.platforms.test_slack import slack_settings
from tests.e2e.platforms.test_telegram import settings
from tests.fakes.discord import wire as discord_wire
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.documents import picture
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.fakes.slack import server as slack_server
from tests.fakes.slack.people import DIRECT, FRIEND
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.telegram.platform import GROUP, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

PROGRAM = ROOT / "tests" / "e2e" / "programs" / "friend.pb"
ANSWER = '```python\nawait Say("user", "I have read it.")\nawait Yld("user")\n```'
LIMIT_S = 90
BOB = {"id": 43, "is_bot": False, "first_name": "Bob"}


@dataclass
class Reader:
    """A model that answers always the same, and what it was told each time."""

    requests: list[Sequence[Mapping[str, Any]]] = field(default_factory=list)
    _news: anyio.Event = field(default_factory=anyio.Event)

    def __call__(self, request: Mapping[str, Any]) -> Reply:
        self.requests.append(request["messages"])
        news, self._news = self._news, anyio.Event()
        news.set()
        return Reply(ANSWER)

    async def told(self, words: str) -> str:
        """The last message of the first request that says these words in it, once there is one, as it was sent."""
        with anyio.fail_after(LIMIT_S):
            while True:
                news = self._news
                found = [text for text in map(_last, self.requests) if words in text]
                if found:
                    return found[0]
                await news.wait()


@dataclass(frozen=True)
class Chats:
    """All platforms of one gateway."""

    running: Gateway
    model: Reader
    telegram: TelegramPlatform
    slack: SlackPlatform
    discord: DiscordPlatform


def _last(messages: Sequence[Mapping[str, Any]]) -> str:
    content = messages[-1]["content"]
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False).replace("\\n", "\n")


def _past(told: str) -> list[str]:
    """The lines between our two, of what was said before, without their times."""
    _, _, rest = told.partition(LineForm.PAST)
    return re.findall(r"(?m)^- \d{4}-\d\d-\d\d \d\d:\d\d (.*)", rest.partition(LineForm.END)[0])


@pytest.fixture(scope="module")
async def chats(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Chats]:
    reader, on_telegram, on_slack, on_discord = Reader(), TelegramPlatform(), SlackPlatform(), DiscordPlatform()
    async with (
        OpenAIServer(reader) as model,
        serving(on_telegram) as telegram,
        slack_server.serving(on_slack) as slack,
        discord_wire.serving(on_discord) as discord,
    ):
        folder = tmp_path_factory.mktemp("around")
        environment = {
            **settings(telegram, PARLEY_TELEGRAM__ACCESS="open", PARLEY_CONTEXT__KEEP_HOURS="24"),
            **slack_settings(on_slack, slack, PARLEY_SLACK__ACCESS="open"),
            **discord_settings(discord),
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": model.base_url,
            **key_in(folder),
            "PARLEY_FILES__PICTURES": "yes",
        }
        async with gateway(folder, PROGRAM, environment) as running:
            with anyio.fail_after(LIMIT_S):
                for platform in ("telegram", "slack", "discord"):
                    await running.listens_to(platform)
            yield Chats(running, reader, on_telegram, on_slack, on_discord)


def _photo(telegram: TelegramPlatform, name: str) -> dict[str, Any]:
    telegram.files[name] = picture(40 + len(telegram.files))
    return {"photo": [{"file_id": name, "file_unique_id": name, "width": 40, "height": 30}]}


async def test_a_group_on_telegram_is_summed_up_from_what_the_bot_heard(chats: Chats) -> None:
    telegram = chats.telegram
    telegram.say("the site is down", chat=GROUP, name="Ada Lovelace")
    late = telegram.say("since when?", chat=GROUP, person=43, name="Bob")
    number = telegram.message_of(late)
    telegram.rewrite("since when exactly?", chat=GROUP, person=43, name="Bob", message_id=number)
    telegram.say("@ParleyBot sum this up", chat=GROUP, name="Ada Lovelace")
    past = _past(await chats.model.told("sum this up"))
    assert past == ["Ada Lovelace: the site is down", "Bob: since when exactly?"]
    telegram.say("@ParleyBot and then?", chat=GROUP, name="Ada Lovelace")
    told = await chats.model.told("and then?")
    assert (_past(told), told.count(LineForm.PAST)) == (past, 1)


async def test_an_old_thread_on_slack_is_summed_up(chats: Chats) -> None:
    slack = chats.slack
    root = slack.say("the site is down")
    slack.say("since when?", thread=root, person=FRIEND)
    await slack.events.events[slack.events.pending[-1]].done.wait()
    slack.mention("sum this thread up", thread=root)
    past = _past(await chats.model.told("sum this thread up"))
    assert past == ["Ada Lovelace: the site is down", "Bob: since when?"]


async def test_an_old_thread_on_discord_is_summed_up(chats: Chats) -> None:
    world = chats.discord.world
    root = world.say("the site is down", person=world.bob)
    thread = world.people.thread_below(world.bob, world.general, root, "Outage")
    world.say("since when?", thread)
    world.say(f"<@{world.bot}> what was this about", thread)
    past = _past(await chats.model.told("what was this about"))
    assert past == ["Bob: the site is down", "Ada Lovelace: since when?"]


async def test_a_thread_of_the_chat_page_is_told_from_what_it_hangs_on(chats: Chats) -> None:
    async with chats.running.page("Ada") as page:
        room = Room(page, "plans")
        await room.open()
        root = await room.say("the site is down")
        await room.until("I have read it.")
        await page.say("what is this thread about?", room=room.name, thread=root)
        assert _past(await chats.model.told("what is this thread about?")) == ["Ada: the site is down"]


async def test_a_photo_that_is_answered_is_looked_at(chats: Chats) -> None:
    telegram, world = chats.telegram, chats.discord.world
    answered = {"message_id": 700, "date": 1, "chat": {"id": 44, "type": "private"}, "from": BOB}
    telegram.say("what is in this?", chat=44, person=44, reply_to_message=answered | _photo(telegram, "one"))
    told = await chats.model.told("what is in this?")
    assert told.count("image_url") >= 1
    photo = world.say("look", files=[("cat.jpg", picture())])
    world.say(f"<@{world.bot}> what is in that?", reply_to=photo)
    told = await chats.model.told("what is in that?")
    assert told.count("image_url") >= 1
    assert "cat.jpg" in told


async def test_a_photo_above_a_thread_on_slack_and_one_that_is_quoted_on_the_chat_page_are_looked_at(
    chats: Chats,
) -> None:
    slack, running = chats.slack, chats.running
    root = slack.say("look", files=[slack.files.given("dog.jpg", picture(50))])
    slack.mention("what is in this photo?", thread=root)
    told = await chats.model.told("what is in this photo?")
    assert told.count('"image_url": {') == 1
    assert "dog.jpg" in told
    async with running.page("Ada") as page:
        room = Room(page, "photos")
        await room.open()
        file = {"id": await _uploaded(running, picture(51)), "name": "bird.jpg"}
        photo = await page.say("look", room=room.name, files=[file])
        await room.until("I have read it.")
        await page.say("what is in the photo above?", room=room.name, reply_to=photo)
        told = await chats.model.told("what is in the photo above?")
        assert told.count('"image_url": {') == 1
        assert "bird.jpg" in told


async def _uploaded(running: Gateway, data: bytes) -> str:
    """A picture that Ada's page has uploaded; its id."""
    headers = {"origin": running.url, "cookie": await running.cookie("Ada"), "content-type": "image/jpeg"}
    async with httpx.AsyncClient(base_url=running.url, headers=headers, timeout=LIMIT_S) as client:
        answer = await client.post("/files", content=data)
        return str(answer.raise_for_status().json()["id"])


async def test_an_album_comes_with_its_caption_and_all_its_photos(chats: Chats) -> None:
    telegram = chats.telegram
    for name, caption in (("a", {}), ("b", {"caption": "compare these three"}), ("c", {})):
        telegram.say(None, chat=45, person=45, media_group_id="g", **caption, **_photo(telegram, name))
    told = await chats.model.told("compare these three")
    assert told.count('"image_url": {') == 3


async def test_of_an_album_with_two_captions_and_a_file_that_is_too_large_everything_is_told(chats: Chats) -> None:
    telegram = chats.telegram
    huge = {"document": {"file_id": "h", "file_unique_id": "h", "file_name": "huge.zip", "file_size": 30_000_000}}
    for name, more in (("d", {}), ("e", {"caption": "the best"}), ("f", {}), ("g", {"caption": "of these five"})):
        telegram.say(None, chat=47, person=47, media_group_id="h", **more, **_photo(telegram, name))
    telegram.say(None, chat=47, person=47, media_group_id="h", **huge)
    told = await chats.model.told("of these five")
    assert "the best" in told
    assert told.count('"image_url": {') == 4
    assert "huge.zip" in told
    with anyio.fail_after(LIMIT_S):
        await telegram.until(lambda: any("huge.zip is too large for me" in one.text for one in telegram.messages(47)))


async def test_a_card_that_is_passed_on_comes_with_its_author_and_fields(chats: Chats) -> None:
    telegram, slack, world = chats.telegram, chats.slack, chats.discord.world
    origin = {"type": "channel", "chat": {"id": -1, "type": "channel", "title": "News"}, "message_id": 8, "date": 1}
    telegram.say("The bridge is open", chat=46, person=46, forward_origin=origin)
    assert "News (forwarded): The bridge is open" in await chats.model.told("The bridge is open")
    card = {"title": "Build 7", "title_link": "https://ci.example/7", "fields": [{"title": "Stage", "value": "deploy"}]}
    shared = {"is_share": True, "ts": "1.2", "author_name": "CI", "text": "failed", **card}
    slack.mention("why did this fail?", attachments=[shared])
    told = await chats.model.told("why did this fail?")
    assert "CI (shared)" in told
    assert "[Build 7](https://ci.example/7)" in told
    assert "Stage: deploy" in told
    fields = [{"name": "Stage", "value": "rollout"}]
    posted = world.hook_says("", embeds=[{"title": "Build 8", "url": "https://ci.example/8", "fields": fields}])
    world.forward(posted, world.private())
    told = await chats.model.told("Stage: rollout")
    assert "(forwarded)" in told
    assert "[Build 8](https://ci.example/8)" in told


async def test_an_answer_for_a_topic_that_is_closed_and_a_channel_that_is_archived_is_said_where_people_see_it(
    chats: Chats,
) -> None:
    telegram, slack = chats.telegram, chats.slack
    telegram.chats.open_topic(GROUP, 9)
    telegram.chats.close_topic(GROUP, 9)
    telegram.say("@ParleyBot is it open?", chat=GROUP, thread=9)
    closing = slack.conversations.open("C0CLOSED")
    slack.mention("is it archived?", channel="C0CLOSED")
    closing.archived = True
    with anyio.fail_after(LIMIT_S):
        await telegram.until(lambda: _is_moved([one.text for one in telegram.messages(GROUP) if one.thread is None]))
        await slack.until(lambda: _is_moved([one.shown for one in slack.messages(DIRECT)]))


def _is_moved(texts: Sequence[str]) -> bool:
    return any("I can no longer write where this was asked" in text and "I have read it." in text for text in texts)
