"""What was said on Slack while nobody was connected is read from history: once, in order, as far as Slack lets us."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.slack.adapter import SlackOptions
from adapters.slack.inbound.catch_up import OVERLAP_US, READING, ChannelMarks, SlackCatchUp, SlackTalk
from adapters.slack.inbound.event_socket import REPEATED_FOR_S
from tests.contract.slack.speaking import ADA, new_adapter, thread
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.slack.people import DIRECT, FRIEND
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.slack.server import serving

pytestmark = pytest.mark.anyio

HOURS_2_S = 7200.0


@pytest.fixture
def marks() -> MemoryRecords:
    return MemoryRecords()


async def _heard(inbound: AsyncIterator[Inbound], count: int) -> list[Inbound]:
    """So many events; the last is not acknowledged."""
    with anyio.fail_after(20):
        return [await anext(inbound) for _ in range(count)]


async def _listens(options: SlackOptions, marks: MemoryRecords, clock: FakeClock, *until: str) -> list[Inbound]:
    """What a new process hears, these texts among it, until history is read and all is marked as taken."""
    heard: list[Inbound] = []
    async with (
        aclosing(new_adapter(options, clock=clock, marks=marks)) as adapter,
        adapter.connect() as inbound,
        anyio.create_task_group() as tasks,
    ):

        async def take() -> None:
            while True:
                heard.append(await anext(inbound))

        tasks.start_soon(take)
        with anyio.fail_after(20):
            while not set(until) <= {each.text for each in heard} or not _safe(heard, marks):
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    return heard


def _safe(heard: list[Inbound], marks: MemoryRecords) -> bool:
    """Whether history was read and all of this is marked as taken."""
    stored = ((each, marks.records.get(each.address.conversation, '[""]')) for each in heard)
    ended = READING not in marks.records
    return ended and all((each.message_id or "") <= json.loads(text)[0] for each, text in stored)


async def _away(platform: SlackPlatform, clock: FakeClock) -> None:
    platform.events.drops = True
    await clock.advance(HOURS_2_S)


async def test_nothing_is_read_at_the_very_first_start(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, marks: MemoryRecords
) -> None:
    platform.events.drops = True
    platform.say("before anybody asked", channel=DIRECT)
    await clock.advance(5)
    platform.events.drops = False
    platform.say("hello", channel=DIRECT)
    heard = await _listens(options, marks, clock, "hello")
    assert [each.text for each in heard] == ["hello"]


async def test_messages_of_two_hours_are_read_in_order_and_each_once(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, marks: MemoryRecords
) -> None:
    talk = platform.say("hello", channel=DIRECT)
    asked = platform.mention("first")
    await _listens(options, marks, clock, "hello", "first")
    await _away(platform, clock)
    platform.say("in our thread", channel=DIRECT, thread=talk)
    platform.say("a new one", channel=DIRECT)
    platform.say("not for you")
    platform.say("for you", thread=asked, person=FRIEND)
    platform.mention("another")
    heard = await _listens(options, marks, clock, "a new one", "another")
    told = {each.text: (each.address, each.addressed) for each in heard}
    new = heard[[each.text for each in heard].index("a new one")].message_id
    assert told.pop("in our thread") == (replace(ADA, thread=talk), True)
    assert told.pop("a new one") == (replace(ADA, thread=new), True)
    assert told.pop("for you") == (thread(asked), True)
    assert told.pop("not for you")[1] is False
    texts = [each.text for each in heard]
    assert texts.index("in our thread") < texts.index("a new one")
    assert texts.index("not for you") < texts.index("for you") < texts.index("another")
    await clock.advance(OVERLAP_US / 1_000_000)
    again = await _listens_for_nothing_more(options, platform, marks, clock)
    assert {each.event_id for each in again} <= {each.event_id for each in heard}


async def _listens_for_nothing_more(
    options: SlackOptions, platform: SlackPlatform, marks: MemoryRecords, clock: FakeClock
) -> list[Inbound]:
    """What comes before a message that is said now; it is not among them."""
    platform.events.drops = False
    platform.say("now", channel=DIRECT)
    return [each for each in await _listens(options, marks, clock, "now") if each.text != "now"]


async def test_a_message_that_is_both_delivered_and_read_comes_once(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, marks: MemoryRecords
) -> None:
    platform.say("hello", channel=DIRECT)
    await _listens(options, marks, clock, "hello")
    await clock.advance(HOURS_2_S)
    platform.say("both ways", channel=DIRECT)
    heard = await _listens(options, marks, clock, "both ways")
    assert [each.text for each in heard].count("both ways") == 1
    assert len(platform.calls_of("conversations.history")) == 4
    assert platform.events.pending == []


async def test_what_is_delivered_meanwhile_moves_no_mark_on_before_all_is_read(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, marks: MemoryRecords
) -> None:
    platform.say("hello", channel=DIRECT)
    await _listens(options, marks, clock, "hello")
    await _away(platform, clock)
    platform.say("missed", channel=DIRECT)
    platform.fail("conversations.history", "flood", times=99, retry_after=600)
    await clock.advance(600)
    platform.events.drops = False
    platform.say("live", channel=DIRECT)
    async with aclosing(new_adapter(options, clock=clock, marks=marks)) as adapter, adapter.connect() as inbound:
        assert [each.text for each in await _heard(inbound, 1)] == ["live"]
        async with anyio.create_task_group() as tasks:

            async def acknowledge() -> None:
                await anext(inbound)

            tasks.start_soon(acknowledge)
            with anyio.fail_after(20):
                await platform.until(lambda: not platform.events.pending)
            tasks.cancel_scope.cancel()
    platform._faults.clear()  # the process was killed while it waited for Slack
    assert "missed" in [each.text for each in await _listens(options, marks, clock, "missed")]


async def test_conversations_nobody_has_a_mark_of_are_read_where_the_app_may_list_them(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, marks: MemoryRecords
) -> None:
    platform.say("hello", channel=DIRECT)
    await _listens(options, marks, clock, "hello")
    await _away(platform, clock)
    platform.names["U0EVE"] = "Eve"
    platform.say("my first word", channel="D0EVE", person="U0EVE")
    assert "my first word" in [each.text for each in await _listens(options, marks, clock, "my first word")]


@pytest.mark.parametrize("lacking", ["im:read", "channels:read"])
async def test_without_the_scope_conversations_with_a_mark_are_read_all_the_same(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, marks: MemoryRecords, lacking: str
) -> None:
    platform.scopes -= {lacking}
    platform.say("hello", channel=DIRECT)
    await _listens(options, marks, clock, "hello")
    await _away(platform, clock)
    platform.say("missed", channel=DIRECT)
    platform.names["U0EVE"] = "Eve"
    platform.say("unheard", channel="D0EVE", person="U0EVE")
    assert "unheard" not in [each.text for each in await _listens(options, marks, clock, "missed")]


async def test_a_channel_that_cannot_be_read_keeps_nothing_from_the_others(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, marks: MemoryRecords
) -> None:
    platform.say("hello", channel=DIRECT)
    platform.say("hi", channel="G0PRIVATE")
    await _listens(options, marks, clock, "hello", "hi")
    await _away(platform, clock)
    platform.say("missed", channel=DIRECT)
    platform.conversations.open("G0PRIVATE").member = False
    assert "missed" in [each.text for each in await _listens(options, marks, clock, "missed")]


@pytest.mark.parametrize("stored", ['["1767225600.5", []]', "[[]]", '{"ts": 1', "[]", '["now"]'])
async def test_a_mark_that_cannot_be_read_keeps_nothing_from_the_others(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, marks: MemoryRecords, stored: str
) -> None:
    platform.say("hello", channel=DIRECT)
    await _listens(options, marks, clock, "hello")
    marks.records["T1:C0BAD"] = stored
    await _away(platform, clock)
    platform.say("missed", channel=DIRECT)
    assert "missed" in [each.text for each in await _listens(options, marks, clock, "missed")]


async def test_a_fault_in_one_conversation_keeps_nothing_from_the_others(
    options: SlackOptions,
    platform: SlackPlatform,
    clock: FakeClock,
    marks: MemoryRecords,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    platform.say("hello", channel=DIRECT)
    platform.say("hi", channel="G0PRIVATE")
    await _listens(options, marks, clock, "hello", "hi")
    await _away(platform, clock)
    platform.say("missed", channel=DIRECT)
    read = SlackCatchUp._read

    async def broken(self: SlackCatchUp, team: str, channel: str, talk: SlackTalk) -> Sequence[Mapping[str, Any]]:
        if channel == "G0PRIVATE":
            raise TypeError("a fault that nobody thought of")
        return await read(self, team, channel, talk)

    monkeypatch.setattr(SlackCatchUp, "_read", broken)
    assert "missed" in [each.text for each in await _listens(options, marks, clock, "missed")]


async def test_what_is_no_time_stamp_is_never_stored() -> None:
    marks, records = ChannelMarks(stored := MemoryRecords()), stored.records
    await marks.load("1767225600.000000")
    await marks.taken("T1:C1", "1767225601.000000", [])  # type: ignore[arg-type]
    await marks.taken("T1:C1", [], "1767225600.000000")  # type: ignore[arg-type]
    assert {name: json.loads(text) for name, text in records.items()} == {"T1:C1": ["1767225601.000000"]}


async def test_an_app_outside_of_the_marketplace_catches_up_slowly_and_without_refusals_in_vain(
    clock: FakeClock, marks: MemoryRecords
) -> None:
    platform = SlackPlatform(clock=clock, limited=True, marketplace=False)
    async with serving(platform) as address, anyio.create_task_group() as tasks:

        async def pass_time() -> None:
            while True:
                await anyio.lowlevel.checkpoint()
                if clock.sleeping:
                    await clock.advance(1)

        tasks.start_soon(pass_time)
        options = SlackOptions(base_url=f"{address}/api/")
        platform.say("hello", channel=DIRECT)
        await _listens(options, marks, clock, "hello")
        await _away(platform, clock)
        for number in range(30):
            platform.say(f"missed {number}", channel=DIRECT)
        began_s, calls = clock.monotonic(), len(platform.calls)
        heard = await _listens(options, marks, clock, "missed 29")
        tasks.cancel_scope.cancel()
    assert [each.text for each in heard] == ["hello", *(f"missed {number}" for number in range(30))]
    asked = [call for call in platform.calls[calls:] if call.method == "conversations.history"]
    assert sum(call.status == 200 for call in asked) == 4  # 31 messages in pages of 15, and the empty channel
    assert sum(call.status == 429 for call in asked) <= 4
    assert clock.monotonic() - began_s < 300


async def test_history_is_read_after_a_long_break_of_the_connection(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, marks: MemoryRecords
) -> None:
    platform.say("hello", channel=DIRECT)
    async with aclosing(new_adapter(options, clock=clock, marks=marks)) as adapter, adapter.connect() as inbound:
        await _heard(inbound, 1)
        asking: list[Inbound] = []
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                asking.append(await anext(inbound))
                tasks.cancel_scope.cancel()

            tasks.start_soon(ask)
            with anyio.fail_after(20):
                await platform.until(lambda: bool(platform.calls_of("conversations.history")))
                platform.events.drops = True
                platform.fail("apps.connections.open", "bad_gateway")
                platform.drop()
                while not clock.sleeping:
                    await anyio.lowlevel.checkpoint()
                platform.say("missed", channel=DIRECT)
                await clock.advance(REPEATED_FOR_S + 1)
                while not asking:
                    await anyio.lowlevel.checkpoint()
        assert [each.text for each in asking] == ["missed"]


async def test_two_nodes_that_read_the_same_history_tell_the_same_events_at_the_same_places(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock, marks: MemoryRecords
) -> None:
    talk = platform.say("hello", channel=DIRECT)
    await _listens(options, marks, clock, "hello")
    await _away(platform, clock)
    platform.say("in our thread", channel=DIRECT, thread=talk)
    platform.mention("another", person=FRIEND)
    other = MemoryRecords(marks.records)  # what the second node reads before the first has put anything
    texts = ("in our thread", "another")
    first = await _listens(options, marks, clock, *texts)
    second = await _listens(options, other, clock, *texts)
    assert [(each.event_id, each.address) for each in first] == [(each.event_id, each.address) for each in second]
