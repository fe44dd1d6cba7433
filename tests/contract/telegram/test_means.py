"""Drafts, rich texts, mentions, buttons, marks and files by Telegram's own means, and what a refusal of one does."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.adapter import CanDelete, CanDownload, CanOffer, CanPreview, CanReact, CanUpload, FileData
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.limits import CAPABILITIES, MARKS
from adapters.telegram.options import TelegramOptions
from runtime.core.errors import MessageGone, NotDelivered, OutcomeUncertain, RateLimited, ShownDiffers
from runtime.core.message import Choice, Mark
from tests.contract.telegram.speaking import ADA, HOST, TABLE, TABLE_HTML, US, edit, new_adapter, send
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import GROUP, PERSON, TelegramPlatform

pytestmark = pytest.mark.anyio

YES, NO = Choice("yes-1", "Yes"), Choice("no-1", "No")


async def preview(adapter: TelegramAdapter, text: str, *, nonce: str = "page.0") -> None:
    await adapter.preview(ADA, text, speaker=HOST, nonce=nonce)


async def final_edit(adapter: TelegramAdapter, message: str, text: str) -> None:
    await adapter.edit(ADA, message, text, speaker=HOST, nonce="n", final=True)


async def test_it_can_do_what_its_capabilities_say(adapter: TelegramAdapter) -> None:
    for port in (CanPreview, CanOffer, CanReact, CanUpload, CanDownload, CanDelete):
        assert isinstance(adapter, port)


# Drafts.


async def test_drafts_are_shown_in_private_chats_where_they_are_wanted(
    options: TelegramOptions, adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    assert not adapter.previews(ADA)
    async with aclosing(new_adapter(replace(options, drafts=True))) as drafting:
        assert drafting.previews(ADA)
        assert not drafting.previews(US)
        await preview(drafting, "thin")
        await preview(drafting, "thinking **hard**")
        await preview(drafting, "another", nonce="page.1")
    first, second, other = platform.chats.drafts
    assert (first.text, second.text) == ("thin", "thinking hard")
    assert first.draft_id == second.draft_id != other.draft_id


async def test_server_without_drafts_is_asked_once(options: TelegramOptions, platform: TelegramPlatform) -> None:
    platform.unknown.add("sendMessageDraft")
    async with aclosing(new_adapter(replace(options, drafts=True))) as adapter:
        with pytest.raises(NotDelivered):
            await preview(adapter, "thin")
        assert not adapter.previews(ADA)


async def test_drafts_meet_flood_control_as_messages_do(options: TelegramOptions, platform: TelegramPlatform) -> None:
    platform.chats.relax(FloodLimits())
    async with aclosing(new_adapter(replace(options, drafts=True))) as adapter:
        for number in range(3):
            await preview(adapter, str(number))
        with pytest.raises(RateLimited):
            await preview(adapter, "too much")


# Rich texts.


async def test_finished_table_is_a_rich_message_and_a_growing_one_is_not(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, TABLE)
    growing = await adapter.send(ADA, TABLE, speaker=HOST, nonce="g", final=False)
    whole, part = platform.messages(PERSON)
    assert (whole.rich, whole.text) == (True, TABLE_HTML)
    assert (part.rich, [e["type"] for e in part.entities]) == (False, ["pre"])
    await final_edit(adapter, growing, TABLE)
    assert part.rich
    await final_edit(adapter, growing, TABLE)
    assert len(part.history) == 2


async def test_text_that_entities_can_show_has_entities(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    await send(adapter, "# Title\n\n**bold** | not a table")
    assert not platform.messages(PERSON)[0].rich


@pytest.mark.parametrize(("rich", "shown"), [("never", False), ("always", True)])
async def test_rich_messages_are_a_setting(
    options: TelegramOptions, platform: TelegramPlatform, rich: str, shown: bool
) -> None:
    async with aclosing(new_adapter(replace(options, rich=rich))) as adapter:
        await send(adapter, TABLE if rich == "never" else "plain")
    assert platform.messages(PERSON)[0].rich is shown


async def test_server_without_rich_messages_is_asked_once_and_gets_entities(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.chats.knows_rich = False
    message = await send(adapter, TABLE)
    await final_edit(adapter, message, TABLE + "\n| 3 | 4 |")
    assert not platform.messages(PERSON)[0].rich
    assert [(c.method, c.status) for c in platform.calls] == [
        ("sendRichMessage", 404),
        ("sendMessage", 200),
        ("editMessageText", 200),
    ]


async def test_edit_on_a_server_without_rich_messages_gets_entities(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    message = await adapter.send(ADA, "begun", speaker=HOST, nonce="g", final=False)
    platform.chats.knows_rich = False
    await final_edit(adapter, message, TABLE)
    await final_edit(adapter, message, TABLE + "\n| 3 | 4 |")
    assert [c.status for c in platform.calls_of("editMessageText")] == [400, 200, 200]


async def test_uncertain_rich_message_is_not_sent_again_in_another_form(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.fail("sendRichMessage", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await send(adapter, TABLE)
    assert len(platform.messages(PERSON)) == 1


async def test_rich_message_mentions_whom_it_means_and_nobody_else(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, f"[@Ada](person:telegram:42), [@Eve](person:slack:T1:U2), @everyone:\n\n{TABLE}")
    [call] = platform.calls_of("sendRichMessage")
    rich = call.params["rich_message"]
    assert rich["html"].startswith('<p><a href="tg://user?id=42">@Ada</a>, @Eve, @everyone:</p>')
    assert rich["skip_entity_detection"] is True


async def test_a_rich_message_shows_links_as_such_and_nothing_that_telegram_alone_takes_for_a_mark(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, f"see https://e.org/_x_/y, if a==b and c==d, ||x||, <u>, [me](tg://user?id=1) [x]()\n\n{TABLE}")
    shown = platform.messages(PERSON)[0].text.partition("</p>")[0]
    link = '<a href="https://e.org/_x_/y">https://e.org/_x_/y</a>'
    assert shown == f"<p>see {link}, if a==b and c==d, ||x||, &lt;u&gt;, me (tg://user?id=1) x"


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(["|" + "a|" * 21, "|" + "-|" * 21, "|" + "b|" * 21]),
        f"{TABLE}\n\n" + "- a\n" * 500,
        f"{TABLE}\n\n" + "\n".join("  " * level + "- **a**" for level in range(9)),
    ],
    ids=["21 columns", "500 entries", "9 levels"],
)
async def test_a_text_with_more_than_a_rich_message_takes_has_entities_at_once(
    adapter: TelegramAdapter, platform: TelegramPlatform, text: str
) -> None:
    await send(adapter, text)
    assert [(call.method, call.status) for call in platform.calls] == [("sendMessage", 200)]


# Whom a text mentions.


@pytest.mark.parametrize("link", ["tg://user?id=5", "TG:user?id=5", "t&#103;://user?id=5", "tg\\://user?id=5"])
async def test_a_link_of_telegrams_own_mentions_nobody(
    adapter: TelegramAdapter, platform: TelegramPlatform, link: str
) -> None:
    await send(adapter, f"[Eve]({link}) <tg://user?id=5>\n\n{TABLE}")
    assert "href" not in platform.messages(PERSON)[0].text
    [posted] = platform.messages(PERSON)
    assert [e for e in posted.entities if e["type"] in ("text_link", "text_mention")] == []
    assert "Eve" in posted.text


async def test_people_are_mentioned_by_links_and_strangers_never(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    text = "[@Ada](person:telegram:42) and [@Eve](person:slack:T1:U2), not @stranger, `@code`, @all, a@b.example"
    await send(adapter, text)
    [posted] = platform.messages(PERSON)
    assert [(e["type"], e["offset"], e["length"]) for e in posted.entities] == [("text_mention", 0, 4), ("code", 32, 5)]
    assert posted.entities[0]["user"]["id"] == 42
    assert posted.text.replace("\u2060", "") == "@Ada and @Eve, not @stranger, @code, @all, a@b.example"


async def test_text_full_of_user_names_still_fits(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    text = ("@ab " * 2000)[: CAPABILITIES.max_text]
    await send(adapter, text)
    assert platform.messages(PERSON)[0].entities == []


async def test_agents_name_mentions_nobody(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    await send(adapter, "hi", to=US, speaker=replace(HOST, name="@stranger"))
    assert [e["type"] for e in platform.messages(GROUP)[0].entities] == ["bold"]


# What Telegram says that it shows.


async def test_finished_text_that_is_shown_otherwise_is_told_and_taken_away(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    message = await adapter.send(ADA, "begun", speaker=HOST, nonce="g", final=False)
    platform.chats.mislays = True
    with pytest.raises(ShownDiffers, match="characters"):
        await final_edit(adapter, message, "the whole text")
    with pytest.raises(ShownDiffers):
        await send(adapter, "another")
    assert [posted.message_id for posted in platform.messages(PERSON)] == [int(message)]


async def test_white_space_that_telegram_takes_away_is_no_difference(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    await send(adapter, "  `x`  \n\n- a \u200b\n- b  \n")
    assert platform.messages(PERSON)


# Buttons.


async def test_choices_are_buttons_and_a_press_comes_back_and_is_answered_at_once(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    message = await send(adapter, "Really?")
    await adapter.offer(ADA, message, "Really?", (YES, NO), speaker=HOST, nonce="n")
    await adapter.offer(ADA, message, "Really?", (YES, NO), speaker=HOST, nonce="n")
    [posted] = platform.messages(PERSON)
    assert posted.buttons == [[{"text": "Yes", "callback_data": "yes-1"}, {"text": "No", "callback_data": "no-1"}]]
    platform.press("yes-1")
    async with adapter.connect() as inbound:
        pressed = await anext(inbound)
        await platform.until(lambda: platform.answered == ["1"])
    assert (pressed.act, pressed.choice, pressed.text, pressed.message_id) == ("choice", "yes-1", "Yes", message)
    assert (pressed.address, pressed.addressed, pressed.person_id) == (ADA, True, "telegram:42")
    await adapter.offer(ADA, message, "Really?", (), speaker=HOST, nonce="n")
    assert posted.buttons == []


async def test_long_choices_stand_below_each_other(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await send(adapter, "Which?")
    choices = [Choice(f"c{n}", "a rather long label " * 2) for n in range(3)]
    await adapter.offer(ADA, message, "Which?", choices, speaker=HOST, nonce="n")
    assert [len(row) for row in platform.messages(PERSON)[0].buttons] == [1, 1, 1]


async def test_choices_under_a_message_that_is_gone(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await send(adapter, "Really?")
    platform.delete(PERSON, int(message))
    with pytest.raises(MessageGone):
        await adapter.offer(ADA, message, "Really?", (YES,), speaker=HOST, nonce="n")


# Marks.


@pytest.mark.parametrize("mark", MARKS)
async def test_marks_are_emoji_that_telegram_takes(
    adapter: TelegramAdapter, platform: TelegramPlatform, mark: Mark
) -> None:
    number = platform.message_of(platform.say("do it"))
    await adapter.react(ADA, str(number), mark)
    assert platform.chats.reactions == {(PERSON, number): MARKS[mark]}
    await adapter.react(ADA, str(number), None)
    assert platform.chats.reactions == {(PERSON, number): ""}


async def test_mark_that_the_group_does_not_allow_is_not_delivered(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    number = platform.message_of(platform.say("do it"))
    platform.fail("setMessageReaction", "refuse", description="Bad Request: REACTION_INVALID")
    with pytest.raises(NotDelivered):
        await adapter.react(ADA, str(number), "seen")


# Deleting.


async def test_message_is_taken_away_and_once_more_is_no_error(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    message = await send(adapter, "oops")
    await adapter.delete(ADA, message, speaker=HOST)
    await adapter.delete(ADA, message, speaker=HOST)
    assert platform.messages(PERSON) == []


# Files.


@pytest.mark.parametrize(
    ("media_type", "method"),
    [
        ("text/plain", "sendDocument"),
        ("image/png", "sendPhoto"),
        ("video/mp4", "sendVideo"),
        ("audio/mpeg", "sendAudio"),
        ("audio/ogg", "sendVoice"),
    ],
)
async def test_files_go_out_as_what_they_are(
    adapter: TelegramAdapter, platform: TelegramPlatform, media_type: str, method: str
) -> None:
    data = b"\r\n--\x00\xff" * 50
    message = await adapter.upload(ADA, FileData("a.bin", media_type, data), "see *this*", speaker=HOST, nonce="n")
    [posted] = platform.messages(PERSON)
    assert (str(posted.message_id), posted.text, posted.entities[0]["type"]) == (message, "see this", "italic")
    assert (platform.chats.files[0].name, platform.chats.files[0].data) == ("a.bin", data)
    assert platform.calls[-1].method == method


async def test_picture_too_large_to_be_one_is_a_document(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    await adapter.upload(ADA, FileData("a.png", "image/png", b"x" * 10_000_001), "", speaker=HOST, nonce="n")
    assert platform.calls[-1].method == "sendDocument"


async def test_text_too_long_to_stand_beside_a_file_comes_before_it(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    text = "word " * 300
    await adapter.upload(ADA, FileData("a.txt", "text/plain", b"x"), text, speaker=HOST, nonce="n")
    first, second = platform.messages(PERSON)
    assert (first.text, first.file) == (text.strip(), None)
    assert (second.text, second.file) == ("", "a.txt")


async def test_file_of_a_person_is_fetched_with_its_name_and_size(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.send_file(b"dear diary", caption="look")
    async with adapter.connect() as inbound:
        said = await anext(inbound)
    [file] = said.attachments
    assert (said.text, file.name, file.media_type, file.size_bytes) == ("look", "notes.txt", "text/plain", 10)
    assert await adapter.download(file.url, max_bytes=100) == b"dear diary"


async def test_file_that_is_too_long_or_gone_or_not_telegrams_is_not_fetched(
    adapter: TelegramAdapter, platform: TelegramPlatform
) -> None:
    platform.send_file(b"dear diary")
    for url in ("telegram-file:file0", "telegram-file:other", "https://elsewhere.example/file"):
        with pytest.raises(NotDelivered):
            await adapter.download(url, max_bytes=9)


async def test_album_is_one_message_with_all_its_files(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    for number in range(3):
        caption: dict[str, Any] = {"caption": "our trip"} if number == 0 else {}
        platform.say(None, photo=[{"file_id": f"p{number}"}], media_group_id="77", **caption)
    platform.say("nice?")
    async with adapter.connect() as inbound:
        album, after = await anext(inbound), await anext(inbound)
    assert (album.text, [a.url for a in album.attachments]) == (
        "our trip",
        ["telegram-file:p0", "telegram-file:p1", "telegram-file:p2"],
    )
    assert after.text == "nice?"


async def test_edits_go_on_after_buttons_were_shown(adapter: TelegramAdapter, platform: TelegramPlatform) -> None:
    message = await send(adapter, "Really?")
    await adapter.offer(ADA, message, "Really?", (YES,), speaker=HOST, nonce="n")
    await edit(adapter, message, "Really, really?")
    assert platform.messages(PERSON)[0].text == "Really, really?"
