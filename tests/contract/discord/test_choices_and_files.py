"""Choices under messages, and files both ways."""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from adapters.adapter import CanDownload, CanOffer, CanUpload, FileData
from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from adapters.discord.api.calls import DiscordCalls
from adapters.discord.codec.brought import files_of
from adapters.discord.limits import MAX_FILE_BYTES
from adapters.platform_clock import PlatformClock
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.errors import NotDelivered, OutcomeUncertain
from runtime.core.message import Choice
from tests.contract.discord.speaking import HOST, general, listening, new_adapter, private, send
from tests.fakes.discord.wire import DiscordPlatform, FaultKind
from tests.fakes.models.sounds import opus

pytestmark = pytest.mark.anyio

YES_NO = [Choice("question-1:yes", "Yes"), Choice("question-1:no", "No")]
PLAN = FileData("plan.txt", "text/plain", b"a plan")


async def offer(adapter: DiscordAdapter, to: Address, message: str, text: str, choices: list[Choice]) -> None:
    await adapter.offer(to, message, text, choices, speaker=HOST, nonce="page.0")


@pytest.mark.parametrize("place", [private, general])
async def test_choice_is_offered_pressed_acknowledged_and_taken_away(
    adapter: DiscordAdapter, platform: DiscordPlatform, place: Callable[[DiscordPlatform], Address]
) -> None:
    assert isinstance(adapter, CanOffer)
    world, to = platform.world, place(platform)
    channel = to.conversation.removeprefix("dm:")
    async with listening(adapter, platform) as inbound:
        message = await send(adapter, "Shall I?", to=to)
        await offer(adapter, to, message, "Shall I?", YES_NO)
        assert world.messages(channel)[0].choices == ("Yes", "No")
        pressed = world.press(channel, message.partition("@")[0], "No")
        item = await anext(inbound)
        await offer(adapter, to, message, "Shall I? No.", [])
        world.say("next", world.private())
        await anext(inbound)
        await platform.until(lambda: world.backend.interactions[int(pressed)].responded)
    assert (item.act, item.choice, item.text, item.message_id) == ("choice", "question-1:no", "No", message)
    assert (item.person_id, item.address, item.addressed) == (f"discord:{world.ada.id}", to, True)
    assert world.messages(channel)[0].choices == ()
    assert world.messages(channel)[0].text == "Shall I? No."


async def test_press_is_acknowledged_within_three_seconds_however_long_it_waits(
    adapter: DiscordAdapter, platform: DiscordPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.discord.inbound.menu.ACKNOWLEDGE_WITHIN_S", 0.0)
    world, ada = platform.world, private(platform)
    async with listening(adapter, platform):
        message = await send(adapter, "Shall I?", to=ada)
        await offer(adapter, ada, message, "Shall I?", YES_NO)
        pressed = world.press(world.private(), message, "Yes")
        await platform.until(lambda: world.backend.interactions[int(pressed)].responded)


@pytest.mark.parametrize(("count", "rows"), [(1, 1), (5, 1), (6, 2), (25, 5), (26, 2), (125, 5)])
async def test_many_choices_fit_as_buttons_or_menus_and_each_can_be_chosen(
    adapter: DiscordAdapter, platform: DiscordPlatform, count: int, rows: int
) -> None:
    world, us = platform.world, general(platform)
    choices = [Choice(f"q:{number}", f"Number {number}") for number in range(count)]
    async with listening(adapter, platform) as inbound:
        message = await send(adapter, "Which?", to=us)
        await offer(adapter, us, message, "Which?", choices)
        number = message.partition("@")[0]
        world.press(world.general, number, f"Number {count - 1}")
        item = await anext(inbound)
    assert world.messages(world.general)[0].choices == tuple(choice.label for choice in choices)
    assert len(world.backend.get_message(int(world.general), int(number)).components) == rows
    assert (item.choice, item.text) == (f"q:{count - 1}", f"Number {count - 1}")


async def test_growing_text_keeps_its_choices(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    us = general(platform)
    message = await send(adapter, "Shall I?", to=us)
    await offer(adapter, us, message, "Shall I?", YES_NO)
    await adapter.edit(us, message, "Shall I now?", speaker=HOST, nonce="page.0", final=True)
    [posted] = platform.world.messages(platform.world.general)
    assert (posted.text, posted.choices) == ("Shall I now?", ("Yes", "No"))


async def test_file_of_a_person_can_be_fetched(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    assert isinstance(adapter, CanDownload)
    async with listening(adapter, platform) as inbound:
        platform.world.say("look", platform.world.private(), files=[("plan.txt", b"abc")])
        [file] = (await anext(inbound)).attachments
    assert (file.name, file.media_type, file.size_bytes) == ("plan.txt", "text/plain", 3)
    assert await adapter.download(file.url, max_bytes=3) == b"abc"
    with pytest.raises(NotDelivered, match="longer than 2 bytes"):
        await adapter.download(file.url, max_bytes=2)
    with pytest.raises(NotDelivered, match="404"):
        await adapter.download(file.url.replace("plan", "plot"), max_bytes=3)


async def test_file_whose_address_has_expired_is_fetched_at_its_new_one(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    async with listening(adapter, platform) as inbound:
        platform.world.say("look", platform.world.private(), files=[("plan.txt", b"abc")])
        [file] = (await anext(inbound)).attachments
    platform.world.expire_files()
    assert await adapter.download(file.url, max_bytes=3) == b"abc"
    [call] = platform.calls_of("refresh_files")
    assert call.body == {"attachment_urls": [file.url]}


@pytest.mark.parametrize(
    ("kind", "more"), [("refuse", {"status": 404, "code": 0}), ("garbage", {}), ("bad_gateway", {})]
)
async def test_file_whose_new_address_is_not_told_is_gone(
    adapter: DiscordAdapter, platform: DiscordPlatform, kind: FaultKind, more: dict[str, int]
) -> None:
    async with listening(adapter, platform) as inbound:
        platform.world.say("look", platform.world.private(), files=[("plan.txt", b"abc")])
        [file] = (await anext(inbound)).attachments
    platform.world.expire_files()
    platform.fail("refresh_files", kind, **more)
    with pytest.raises(NotDelivered, match="404"):
        await adapter.download(file.url, max_bytes=3)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "https://cdn.discordapp.com.example.org/a",
        "https://images-ext-3.discordapp.net/external/a",
        "https://images-ext-1.discordapp.net@example.org/a",
        "http://images-ext-1.discordapp.net/external/a",
        "file:///etc/passwd",
    ],
)
async def test_nothing_is_fetched_from_elsewhere(adapter: DiscordAdapter, url: str) -> None:
    with pytest.raises(NotDelivered, match="not the address of a file on Discord"):
        await adapter.download(url, max_bytes=10)


async def test_the_copy_of_a_picture_in_a_card_is_fetched_and_the_picture_itself_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    async def download(url: str, max_bytes: int) -> bytes:
        asked.append(url)
        return b"abc"

    calls = DiscordCalls(None, base_url=None, clock=PlatformClock(SystemClock()), call_timeout_s=5)
    monkeypatch.setattr(calls.rest, "download", download)
    copy, own = "https://images-ext-1.discordapp.net/external/x/https/e.org/cpu.png", "https://e.org/cpu.png"
    media = {"url": own, "proxy_url": copy}
    embeds = [{"type": "rich", "image": media}, {"type": "image", "url": own, "thumbnail": media}]
    files = list(files_of({"embeds": [*embeds, {"type": "article", "thumbnail": media}, {"image": {"url": own}}]}))
    assert [(file.name, file.media_type, file.url) for file in files] == [("cpu.png", "image/png", copy)] * 2
    assert await calls.download(files[0].url, max_bytes=9) == b"abc"
    with pytest.raises(NotDelivered, match="not the address of a file on Discord"):
        await calls.download(own, max_bytes=9)
    assert asked == [copy]


async def test_a_file_that_leads_elsewhere_is_not_followed(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    async with listening(adapter, platform) as inbound:
        platform.world.say("look", platform.world.private(), files=[("plan.txt", b"abc"), ("key.txt", b"secret")])
        file, secret = (await anext(inbound)).attachments
    platform.world.files_moved_to = secret.url
    with pytest.raises(NotDelivered, match="302"):
        await adapter.download(file.url, max_bytes=10)


@pytest.mark.parametrize(("place", "author"), [(private, "TestBot"), (general, "Host")])
async def test_file_is_sent_with_its_text_under_the_agents_name(
    adapter: DiscordAdapter, platform: DiscordPlatform, place: Callable[[DiscordPlatform], Address], author: str
) -> None:
    assert isinstance(adapter, CanUpload)
    to = place(platform)
    message = await adapter.upload(to, PLAN, "The plan:", speaker=HOST, nonce="page.0")
    silent = await adapter.upload(to, PLAN, "", speaker=HOST, nonce="page.1")
    channel = to.conversation.removeprefix("dm:")
    said = platform.world.messages(channel)
    assert [(each.author, each.text, each.files) for each in said] == [
        (author, "The plan:", ("plan.txt",)),
        (author, "", ("plan.txt",)),
    ]
    assert [each.id for each in said] == [sent.partition("@")[0] for sent in (message, silent)]
    [kept, _] = platform.world.backend.messages[int(channel)].values()
    assert platform.world.backend.cdn.get(kept.attachments[0]["url"]) == b"a plan"


async def test_picture_has_words_in_its_place(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    chart = FileData("chart.png", "image/png", b"a picture", "Sales go up")
    await adapter.upload(private(platform), chart, "", speaker=HOST, nonce="page.0")
    (sent,) = [call.body for call in platform.calls if call.operation == "send"]
    assert sent["attachments"] == [{"id": "0", "filename": "chart.png", "description": "Sales go up"}]


@pytest.mark.parametrize("place", [private, general])
async def test_a_spoken_answer_is_a_voice_message_and_a_file_where_none_is_allowed(
    adapter: DiscordAdapter, platform: DiscordPlatform, place: Callable[[DiscordPlatform], Address]
) -> None:
    to, note = place(platform), FileData("voice.ogg", "audio/ogg", opus(12.5), "The answer, spoken")
    await adapter.upload(to, note, "", speaker=HOST, nonce="page.0")
    (sent,) = [call.body for call in platform.calls if call.operation == "send"]
    (told,) = sent["attachments"]
    assert (sent["flags"], told["duration_secs"], "content" in sent) == (8192, 12.5, False)
    assert told["description"] == "The answer, spoken"
    assert len(base64.b64decode(told["waveform"])) == 13
    platform.world.takes_voice = False
    await adapter.upload(to, note, "", speaker=HOST, nonce="page.1")
    said = platform.world.messages(to.conversation.removeprefix("dm:"))
    assert [each.files for each in said] == [("voice.ogg",), ("voice.ogg",)]


async def test_sound_that_is_no_voice_note_is_a_file(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    await adapter.upload(private(platform), FileData("a.ogg", "audio/ogg", b"OggS"), "", speaker=HOST, nonce="page.0")
    await adapter.upload(
        private(platform), FileData("v.ogg", "audio/ogg", opus(2.0)), "Hear", speaker=HOST, nonce="page.1"
    )
    assert [call.body["flags"] for call in platform.calls if call.operation == "send"] == [4, 4]


@pytest.mark.parametrize("applied", [True, False])
async def test_file_of_a_webhook_whose_answer_was_lost_is_there_once(
    adapter: DiscordAdapter, platform: DiscordPlatform, applied: bool
) -> None:
    platform.fail("hook_send", "bad_gateway", applied=applied)
    us = general(platform)
    with pytest.raises(OutcomeUncertain):
        await adapter.upload(us, PLAN, "", speaker=HOST, nonce="page.0")
    message = await adapter.upload(us, PLAN, "", speaker=HOST, nonce="page.0")
    assert [each.id for each in platform.world.messages(platform.world.general)] == [message.partition("@")[0]]


async def test_file_that_is_too_large_is_refused(options: DiscordOptions, platform: DiscordPlatform) -> None:
    large = replace(PLAN, data=b"x" * (MAX_FILE_BYTES + 1))
    async with aclosing(new_adapter(options)) as adapter:
        with pytest.raises(NotDelivered, match="too large"):
            await adapter.upload(private(platform), large, "", speaker=HOST, nonce="page.0")
        assert platform.calls == []
        platform.fail("send", "refuse", status=413, code=40005)
        with pytest.raises(NotDelivered, match="larger than this server takes"):
            await adapter.upload(private(platform), PLAN, "", speaker=HOST, nonce="page.0")
