"""Files both ways, marks, deletions, mentions, and whether Slack shows what it was given."""

from __future__ import annotations

import pytest

from adapters.adapter import CanDelete, CanDownload, CanOffer, CanReact, CanUpload, FileData
from adapters.slack.adapter import SlackAdapter
from runtime.core.address import Speaker
from runtime.core.errors import MessageGone, NotDelivered, OutcomeUncertain, ShownDiffers
from tests.contract.slack.speaking import ADA, HOST, edit, send, thread
from tests.fakes.slack.people import CHANNEL, DIRECT, PERSON
from tests.fakes.slack.platform import SlackPlatform

pytestmark = pytest.mark.anyio

REPORT = FileData("report.txt", "text/plain", b"all is well")


async def test_it_can_do_what_it_says(adapter: SlackAdapter) -> None:
    for port in (CanDelete, CanOffer, CanReact, CanUpload, CanDownload):
        assert isinstance(adapter, port)


# Files.


async def test_file_appears_in_the_thread_with_its_speaker_and_text(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    message = await adapter.upload(thread(root), REPORT, "The **report**.", speaker=HOST, nonce="page.0")
    [posted] = platform.messages()
    assert (posted.thread_ts, posted.text) == (root, "*Host*\nThe *report*.")
    assert platform.files.files[posted.file or ""].content == b"all is well"
    await adapter.delete(thread(root), message, speaker=HOST)
    assert platform.messages() == []


async def test_file_whose_arrival_is_unclear_is_there_once(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    for applied in (True, False):
        platform.fail("files.completeUploadExternal", "bad_gateway", applied=applied)
        with pytest.raises(OutcomeUncertain):
            await adapter.upload(ADA, REPORT, "", speaker=HOST, nonce=str(applied))
        await adapter.upload(ADA, REPORT, "", speaker=HOST, nonce=str(applied))
    assert len(platform.messages(DIRECT)) == 2


async def test_text_beside_a_file_cannot_be_edited(adapter: SlackAdapter) -> None:
    message = await adapter.upload(ADA, REPORT, "", speaker=HOST, nonce="page.0")
    with pytest.raises(MessageGone):
        await edit(adapter, message, "another")


async def test_picture_has_words_in_its_place(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    chart = FileData("chart.png", "image/png", b"a picture", "Sales go up")
    await adapter.upload(ADA, chart, "", speaker=HOST, nonce="page.0")
    assert [kept.alt for kept in platform.files.files.values()] == ["Sales go up"]


async def test_file_of_a_person_is_fetched(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.say("", channel=DIRECT, subtype="file_share", files=[platform.files.given("a.txt", b"of a person")])
    async with adapter.connect() as inbound:
        [attachment] = (await anext(inbound)).attachments
    assert await adapter.download(attachment.url, max_bytes=11) == b"of a person"
    with pytest.raises(NotDelivered, match="the limit is 10"):
        await adapter.download(attachment.url, max_bytes=10)


async def test_file_that_is_longer_than_it_says_is_cut_off(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    file = platform.files.given("a.txt", b"x" * 100)
    platform.files.files[file["id"]].length = 1
    with pytest.raises(NotDelivered, match="longer than 50"):
        await adapter.download(f"slack-file:T0001:{file['id']}", max_bytes=50)


async def test_token_is_shown_to_slack_only(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    file = platform.files.given("a.txt", b"x")
    platform.files.files[file["id"]].outside = True
    with pytest.raises(NotDelivered, match="outside of Slack"):
        await adapter.download(f"slack-file:T0001:{file['id']}", max_bytes=50)


@pytest.mark.parametrize("url", ["slack-file:T0001:F9", "https://files.slack.com/x", "slack-file:F1"])
async def test_file_that_is_not_there_is_refused(adapter: SlackAdapter, url: str) -> None:
    with pytest.raises(NotDelivered):
        await adapter.download(url, max_bytes=50)


# Marks and deletions.


async def test_one_mark_of_ours_takes_the_place_of_the_other(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.mention("hello")
    posted = platform.conversations.open(CHANNEL).messages[0]
    seen = []
    for mark in ("queued", "seen", "seen", None):
        await adapter.react(thread(root), root, mark)
        seen.append(list(posted.reactions))
    assert seen == [["hourglass_flowing_sand"], ["eyes"], ["eyes"], []]


async def test_mark_of_a_process_that_died_is_taken_away(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.mention("hello")
    posted = platform.conversations.open(CHANNEL).messages[0]
    posted.reactions.append("octagonal_sign")
    await adapter.react(thread(root), root, None)
    assert posted.reactions == []


async def test_deleted_message_is_gone_and_deleting_it_again_is_no_error(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    ts = await send(adapter, "hi")
    for _ in range(2):
        await adapter.delete(ADA, ts, speaker=HOST)
    assert platform.messages(DIRECT) == []


# Mentions.


async def test_person_is_mentioned_by_our_link_and_by_nothing_else(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    text = "ask [@Ada](person:slack:T0001:U0ADA) or @Bob, not [@all](person:slack:T0001:!channel) (<@U0BOB>)"
    ts = await send(adapter, text)
    [posted] = platform.messages(DIRECT)
    assert posted.shown == "ask <@U0ADA> or @Bob, not @all (&lt;@U0BOB&gt;)"
    await edit(adapter, ts, text, final=True)
    assert set(posted.pings) == {f"@{PERSON}"}


# What is shown.


@pytest.mark.parametrize("text", ["plain", "👍 & <b> *x* `y`", "a  b\n\n\nc", "x" * 2650])
async def test_message_as_it_was_given_is_right(adapter: SlackAdapter, text: str) -> None:
    ts = await send(adapter, text)
    await edit(adapter, ts, text + "!", final=True)


async def test_other_words_or_another_place_are_noticed_in_the_end(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    platform.conversations.shortens_to = 10
    with pytest.raises(ShownDiffers, match="another text"):
        await send(adapter, "a text of more than ten letters", to=thread(root))
    await adapter.send(thread(root), "a growing text of more", speaker=HOST, nonce="g", final=False)
    ts = platform.messages()[-1].ts
    with pytest.raises(ShownDiffers, match="another text"):
        await edit(adapter, ts, "a text of more than ten letters", to=thread(root), final=True)
    platform.conversations.shortens_to = None
    platform.conversations.loses_threads = True
    with pytest.raises(ShownDiffers, match="outside of its thread"):
        await send(adapter, "where am I?", to=thread(root), nonce="other", speaker=Speaker("1", "Writer"))
