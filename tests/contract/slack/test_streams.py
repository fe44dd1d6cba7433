"""Texts grow natively on Slack: each stream once, for somebody, pinging nobody, and gone on with by edits."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial

import anyio
import pytest

from adapters.adapter import CanStream, CountsByMethod
from adapters.slack.adapter import SlackAdapter, SlackOptions
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.errors import NotDelivered, OutcomeUncertain, RateLimited, StreamOver
from tests.contract.slack.speaking import ADA, HOST, US, edit, new_adapter, send, thread
from tests.fakes.clock import FakeClock
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import DIRECT, FRIEND, PERSON
from tests.fakes.slack.platform import FaultKind, SlackPlatform

pytestmark = pytest.mark.anyio


async def _heard(adapter: SlackAdapter, platform: SlackPlatform, text: str = "hello") -> Address:
    """A thread in which a person was heard."""
    root = platform.mention(text)
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).address == thread(root)
    return thread(root)


async def _open(adapter: SlackAdapter, to: Address, text: str, speaker: Speaker = HOST, nonce: str = "page.0") -> str:
    return await adapter.open_stream(to, text, speaker=speaker, nonce=nonce)


async def test_stream_grows_under_its_speakers_name_and_is_then_a_message(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    assert isinstance(adapter, CanStream)
    to = await _heard(adapter, platform)
    ts = await _open(adapter, to, "**a**")
    await adapter.append(to, ts, " b", speaker=HOST)
    [posted] = platform.messages()
    assert (posted.streaming, posted.username, posted.thread_ts) == (True, "Host", to.thread)
    await adapter.close_stream(to, ts, " c", speaker=HOST)
    assert posted.history == ["**a**", "**a** b", "**a** b c"]
    assert not posted.streaming
    assert posted.metadata == {"event_type": "parley_message", "event_payload": {"nonce": "page.0"}}


async def test_stream_in_a_channel_is_for_whoever_was_heard_last_in_its_thread(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    to = await _heard(adapter, platform)
    platform.say("me too", thread=to.thread, person=FRIEND)
    async with adapter.connect() as inbound:
        await anext(inbound)
    await _open(adapter, to, "hi")
    [call] = platform.calls_of("chat.startStream")
    assert (call.params["recipient_user_id"], call.params["recipient_team_id"]) == (FRIEND, TEAM)


async def test_guest_of_another_workspace_is_streamed_to_there(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.mention("hello", user_team="T9ELSEWHERE")
    async with adapter.connect() as inbound:
        await anext(inbound)
    await _open(adapter, thread(root), "hi")
    assert platform.calls_of("chat.startStream")[0].params["recipient_team_id"] == "T9ELSEWHERE"


async def test_no_stream_for_nobody_and_none_outside_of_threads(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.mention("hello")
    for to in (thread(root), US, ADA):
        with pytest.raises(StreamOver):
            await _open(adapter, to, "hi")
    assert platform.calls_of("chat.startStream") == []


async def test_thread_of_a_direct_message_needs_no_recipient(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.say("hi", channel=DIRECT)
    await _open(adapter, Address("slack", ADA.conversation, root), "hi")
    assert [message.text for message in platform.messages(DIRECT)] == ["hi"]


async def test_speaker_without_a_name_of_its_own_does_not_stream(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.scopes.remove("chat:write.customize")
    to = await _heard(adapter, platform)
    with pytest.raises(StreamOver):
        await _open(adapter, to, "hi")
    await _open(adapter, to, "a notice", GATEWAY)
    assert [message.text for message in platform.messages()] == ["a notice"]


async def test_stream_that_died_is_over_and_its_message_goes_on_by_edits(
    adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock
) -> None:
    to = await _heard(adapter, platform)
    ts = await _open(adapter, to, "a")
    await clock.advance(301)
    with pytest.raises(StreamOver):
        await adapter.append(to, ts, "b", speaker=HOST)
    await edit(adapter, ts, "ab", to=to, final=True)
    assert [message.shown for message in platform.messages()] == ["ab"]


async def test_stream_is_over_before_slack_ends_it(adapter: SlackAdapter) -> None:
    limits = adapter.capabilities.stream
    assert limits is not None
    assert limits.max_age_s < 300
    assert limits.max_text < 12_000


@pytest.mark.parametrize("error", ["message_not_in_streaming_state", "msg_too_long", "unknown_method"])
async def test_refusal_of_an_append_ends_the_stream(adapter: SlackAdapter, platform: SlackPlatform, error: str) -> None:
    to = await _heard(adapter, platform)
    ts = await _open(adapter, to, "a")
    platform.fail("chat.appendStream", "refuse", error=error)
    with pytest.raises(StreamOver):
        await adapter.append(to, ts, "b", speaker=HOST)
    calls = len(platform.calls)
    with pytest.raises(StreamOver):
        await adapter.append(to, ts, "b", speaker=HOST)
    assert len(platform.calls) == calls


async def test_slack_without_streams_is_asked_once(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    to = await _heard(adapter, platform)
    platform.fail("chat.startStream", "refuse", error="unknown_method")
    for nonce in ("one", "two"):
        with pytest.raises(StreamOver):
            await _open(adapter, to, "hi", nonce=nonce)
    assert len(platform.calls_of("chat.startStream")) == 1


@pytest.mark.parametrize(("error", "kind"), [("not_in_channel", NotDelivered), ("fatal_error", OutcomeUncertain)])
async def test_other_refusals_of_a_stream_are_those_of_a_message(
    adapter: SlackAdapter, platform: SlackPlatform, error: str, kind: type[Exception]
) -> None:
    to = await _heard(adapter, platform)
    platform.fail("chat.startStream", "refuse", error=error)
    with pytest.raises(kind):
        await _open(adapter, to, "hi")


async def test_flood_in_a_stream_changes_nothing_and_loses_nothing(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    to = await _heard(adapter, platform)
    ts = await _open(adapter, to, "a [@Ad")
    platform.fail("chat.appendStream", "flood", retry_after=7)
    with pytest.raises(RateLimited) as limited:
        await adapter.append(to, ts, "a](person:slack:T0001:U0ADA) b", speaker=HOST)
    assert limited.value.retry_after_s == 7
    await adapter.append(to, ts, "a](person:slack:T0001:U0ADA) b", speaker=HOST)
    assert platform.messages()[0].text == "a <@U0ADA> b"


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
async def test_stream_pings_nobody_but_whom_it_mentions(
    adapter: SlackAdapter, platform: SlackPlatform, size: int
) -> None:
    to = await _heard(adapter, platform)
    link = "[@Ada](person:slack:T0001:U0ADA)"
    said = f"@here <!channel> <@U0BOB> @everyone <!subteam^S1> {link} [x](y) mail@here.org @chan"
    ts = await _open(adapter, to, said[:size])
    for start in range(size, len(said), size):
        await adapter.append(to, ts, said[start : start + size], speaker=HOST)
    await adapter.close_stream(to, ts, "nel", speaker=HOST)
    [posted] = platform.messages()
    assert posted.pings == [f"@{PERSON}"]
    assert posted.text.replace("\u200b", "") == said.replace(link, "<@U0ADA>") + "nel"


async def test_what_an_agent_did_first_is_the_title_of_its_plan_until_its_answer_is_there(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    to = await _heard(adapter, platform)
    await adapter.typing(to, HOST, doing="writing a report")
    await adapter.typing(to, HOST, doing="looking up figures")
    ts = await _open(adapter, to, "So far")
    await adapter.typing(to, HOST, doing="checking figures")
    await adapter.close_stream(to, ts, ".", speaker=HOST)
    later = await _open(adapter, to, "And", nonce="page.1")
    await adapter.typing(to, HOST, doing="drawing a picture")
    await adapter.typing(to, HOST, doing="naming it")
    await adapter.close_stream(to, later, " so on.", speaker=HOST)
    reports = platform.messages()
    assert [posted.plan for posted in reports] == ["writing a report", "drawing a picture"]
    assert [[task["title"] for task in posted.tasks] for posted in reports] == [
        ["checking figures"],
        ["drawing a picture", "naming it"],
    ]
    assert [posted.text for posted in reports] == ["So far.", "And so on."]
    assert {call.params["task_display_mode"] for call in platform.calls_of("chat.startStream")} == {"plan"}


async def test_plan_is_its_speakers_own(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    to = await _heard(adapter, platform)
    await adapter.typing(to, HOST, doing="writing a report")
    await _open(adapter, to, "hm", Speaker("2", "Critic"))
    assert [posted.plan for posted in platform.messages()] == [None]


async def test_what_an_agent_does_is_a_task_in_its_stream(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    to = await _heard(adapter, platform)
    ts = await _open(adapter, to, "Let me see.")
    for doing in ("reads the file", "reads the file", "counts words"):
        await adapter.typing(to, HOST, doing=doing)
    await adapter.typing(to, Speaker("2", "Critic"), doing="waits")
    [posted] = platform.messages()
    assert [(t["title"], t["status"]) for t in posted.tasks] == [
        ("reads the file", "complete"),
        ("counts words", "in_progress"),
    ]
    await adapter.close_stream(to, ts, " Done.", speaker=HOST)
    assert [task["status"] for task in posted.tasks] == ["complete", "complete"]
    assert posted.text == "Let me see. Done."
    assert [call.params["status"] for call in platform.calls_of("assistant.threads.setStatus")] == ["waits"]


async def test_where_tasks_are_refused_a_text_streams_all_the_same_and_the_status_says_what_is_done(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.streams.refuses_tasks = True
    to = await _heard(adapter, platform)
    ts = await _open(adapter, to, "Let me see.")
    for doing in ("reads the file", "counts words"):
        await adapter.typing(to, HOST, doing=doing)
    await adapter.append(to, ts, " It is", speaker=HOST)
    await adapter.close_stream(to, ts, " long.", speaker=HOST)
    [posted] = platform.messages()
    assert (posted.text, posted.tasks, posted.plan) == ("Let me see. It is long.", [], None)
    statuses = [call.params["status"] for call in platform.calls_of("assistant.threads.setStatus")]
    assert statuses == ["reads the file", "counts words"]
    assert [call.status for call in platform.calls_of("chat.appendStream") if call.params.get("chunks")] == [200]


async def test_where_a_plan_is_refused_at_the_beginning_the_stream_begins_without_one(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.streams.refuses_tasks = True
    to = await _heard(adapter, platform)
    await adapter.typing(to, HOST, doing="writing a report")
    ts = await _open(adapter, to, "So far")
    await adapter.close_stream(to, ts, ".", speaker=HOST)
    later = await _open(adapter, to, "And", nonce="page.1")
    await adapter.close_stream(to, later, " so on.", speaker=HOST)
    assert [posted.text for posted in platform.messages()] == ["So far.", "And so on."]
    assert len(platform.calls_of("chat.startStream")) == 3


@pytest.mark.parametrize("kind", ["bad_gateway", "drop", "garbage"])
@pytest.mark.parametrize("applied", [True, False])
async def test_stream_with_an_unclear_beginning_is_there_once(
    adapter: SlackAdapter, platform: SlackPlatform, kind: FaultKind, applied: bool
) -> None:
    to = await _heard(adapter, platform)
    platform.fail("chat.startStream", kind, applied=applied)
    with pytest.raises(OutcomeUncertain):
        await _open(adapter, to, "once")
    try:
        ts = await _open(adapter, to, "once upon")
    except StreamOver:
        ts = await send(adapter, "once upon", to=to)
    [posted] = platform.messages()
    assert (posted.ts, posted.shown) == (ts, "once upon")


async def test_stream_of_a_process_that_died_is_found_by_the_next(
    options: SlackOptions, adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock
) -> None:
    to = await _heard(adapter, platform)
    await _open(adapter, to, "once")
    async with aclosing(new_adapter(options, clock=clock)) as restarted:
        with pytest.raises(StreamOver):
            await _open(restarted, to, "once upon")
        await send(restarted, "once upon a time", to=to)
    [posted] = platform.messages()
    assert (posted.shown, posted.streaming) == ("once upon a time", False)


async def test_message_that_a_dead_process_streamed_can_be_edited(
    options: SlackOptions, adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock
) -> None:
    to = await _heard(adapter, platform)
    ts = await _open(adapter, to, "once")
    async with aclosing(new_adapter(options, clock=clock)) as restarted:
        with pytest.raises(StreamOver):
            await restarted.append(to, ts, " upon", speaker=HOST)
        await edit(restarted, ts, "once upon", to=to, final=True)
    assert [message.shown for message in platform.messages()] == ["once upon"]


async def test_streams_of_several_speakers_are_told_apart(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    to = await _heard(adapter, platform)
    speakers = [Speaker(str(number), name) for number, name in enumerate(("Host", "Writer", "Critic"))]
    messages = [await _open(adapter, to, "I say ", speaker, speaker.id) for speaker in speakers]
    async with anyio.create_task_group() as tasks:
        for speaker, message in zip(speakers, messages, strict=True):
            tasks.start_soon(partial(adapter.append, to, message, speaker.name, speaker=speaker))
    assert [(m.username, m.text) for m in platform.messages()] == [
        ("Host", "I say Host"),
        ("Writer", "I say Writer"),
        ("Critic", "I say Critic"),
    ]


async def test_long_stream_can_be_finished_by_an_edit_whole(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    to = await _heard(adapter, platform)
    ts = await _open(adapter, to, "a")
    text = "".join(f"Paragraph {number} of a long text.\n\n" for number in range(300)).strip()
    platform.streams.stop_all("C0GENERAL", to.thread or "")
    await edit(adapter, ts, text, to=to, final=True)
    assert "".join(platform.messages()[0].shown.split()) == "".join(text.split())


async def test_each_method_has_a_bucket_of_its_own_below_its_tier(adapter: SlackAdapter) -> None:
    assert isinstance(adapter, CountsByMethod)
    to = thread("1.0")
    tiers = {"edit": 50, "append": 100, "open_stream": 20, "close_stream": 20}
    for call, tier in tiers.items():
        [(key, size)] = adapter.draws(to, call)  # type: ignore[arg-type]
        assert "C0GENERAL" not in key
        assert size.shared
        assert size.rate_per_s * 60 + size.burst <= tier
    assert adapter.draws(to, "send") == adapter.draws(US, "send")
    assert len({adapter.draws(to, call)[0][0] for call in ("send", "edit", "append", "open_stream", "delete")}) == 5


async def test_a_stream_that_is_left_for_edits_has_no_open_activity(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    to = await _heard(adapter, platform)
    ts = await _open(adapter, to, "So far")
    await adapter.typing(to, HOST, doing="checking figures")
    await edit(adapter, ts, "So far and on", to=to)
    [posted] = platform.messages()
    assert [task["status"] for task in posted.tasks] == ["complete"]
