"""The connection: resumed or begun anew, with what was missed read from history, and refused with a reason."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio
import pytest
from discord.gateway import DiscordWebSocket
from discord.http import Route
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from adapters.discord.inbound.intake import BEGUN
from adapters.discord.inbound.shard import HEALTHY_AFTER_S
from runtime.core.errors import AuthFailed, NotDelivered
from tests.contract.discord.speaking import general, listening, new_adapter, send
from tests.fakes.clock import FakeClock, HastyClock, WrongClock
from tests.fakes.discord.wire import DiscordPlatform, serving
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio


async def test_message_is_marked_only_when_the_next_is_asked_for(
    adapter: DiscordAdapter, platform: DiscordPlatform, marks: MemoryRecords
) -> None:
    async with listening(adapter, platform) as inbound:
        one, two = platform.world.say("one"), platform.world.say("two")
        await anext(inbound)
        assert [name for name, _ in marks.puts] == [BEGUN]
        await anext(inbound)
        assert marks.puts[1:] == [(platform.world.general, one)]
        assert two not in marks.records.values()


async def test_message_whose_consumer_crashed_comes_again(
    options: DiscordOptions, platform: DiscordPlatform, marks: MemoryRecords
) -> None:
    marks.records[platform.world.private()] = "1"
    seen = []
    async with aclosing(new_adapter(options, marks)) as adapter:
        with contextlib.suppress(ZeroDivisionError):
            async with listening(adapter, platform) as inbound:
                platform.world.say("precious")
                seen.append(await anext(inbound))
                raise ZeroDivisionError
    marks.records[platform.world.general] = str(int(seen[0].event_id.partition(":")[2]) - 1)
    async with aclosing(new_adapter(options, marks)) as adapter, listening(adapter, platform) as inbound:
        seen.append(await anext(inbound))
    assert seen[0] == replace(seen[1], person_name=seen[0].person_name)


@pytest.mark.parametrize("ahead_s", [0.0, 7200.0, -7200.0])
async def test_very_first_message_comes_again_when_its_consumer_crashed(
    options: DiscordOptions, platform: DiscordPlatform, marks: MemoryRecords, ahead_s: float
) -> None:
    async with aclosing(new_adapter(options, marks, clock=WrongClock(ahead_s))) as adapter:
        with contextlib.suppress(ZeroDivisionError):
            async with listening(adapter, platform) as inbound:
                platform.world.say("precious")
                assert (await anext(inbound)).text == "precious"
                raise ZeroDivisionError
    async with aclosing(new_adapter(options, marks)) as adapter, listening(adapter, platform) as inbound:
        assert (await anext(inbound)).text == "precious"


async def test_what_was_written_while_we_were_away_is_caught_up_in_order(
    options: DiscordOptions, platform: DiscordPlatform, marks: MemoryRecords
) -> None:
    world = platform.world
    spoken, unseen = world.thread("Spoken in"), world.channel("unseen")
    async with aclosing(new_adapter(options, marks)) as adapter, listening(adapter, platform) as inbound:
        await send(adapter, "hi", to=replace(general(platform), thread=spoken))
        for where in (world.private(), world.general, spoken):
            world.say("seen", where)
            await anext(inbound)
        await _asked_for(inbound, marks, 3)
    for n in range(150):
        world.say(str(n), world.private())
    called = world.say(f"<@{world.bot}> missed")
    world.say("missed there", spoken)
    world.say("missed elsewhere", unseen)
    async with aclosing(new_adapter(options, marks)) as adapter, listening(adapter, platform) as inbound:
        world.say("live", world.private())
        items = [await anext(inbound) for _ in range(154)]
    texts = [item.text for item in items if item.private]
    assert texts == [str(n) for n in range(150)] + ["live"]
    others = {(item.text, item.address.thread, item.addressed) for item in items if not item.private}
    assert others == {("missed", called, True), ("missed there", spoken, True), ("missed elsewhere", None, False)}


async def test_a_message_that_people_began_a_thread_with_is_not_for_us_and_one_of_ours_is(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    world = platform.world
    marks = MemoryRecords({world.general: world.say("seen")})
    theirs = world.say("among us")
    world.people.thread_below(world.bob, world.general, theirs, "Among us")
    ours = world.say("to you")
    world.people.thread_below(world.backend.bot_user, world.general, ours, "To you")
    async with aclosing(new_adapter(options, marks)) as adapter, listening(adapter, platform) as inbound:
        items = [await anext(inbound) for _ in range(2)]
    assert [(item.text, item.address.thread, item.addressed) for item in items] == [
        ("among us", None, False),
        ("to you", ours, True),
    ]


async def _asked_for(inbound: AsyncIterator[Inbound], marks: MemoryRecords, count: int) -> None:
    """Ask for the next item, so that the last one is marked, and give up asking."""
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            await anext(inbound)

        tasks.start_soon(ask)
        await marks.until(count)
        tasks.cancel_scope.cancel()


async def test_server_is_caught_up_with_however_new_the_messages_of_another_are(anyio_backend: str) -> None:
    clock = FakeClock()
    platform = DiscordPlatform(clock=clock)
    world = platform.world
    there = str(world.backend.create_channel(world.backend.create_guild("Them").id, "there").id)
    marks = MemoryRecords({world.general: world.say("seen")})
    await clock.advance(10)
    world.say("old, in the second server", there)
    await clock.advance(300)
    world.say("new, in the first server")
    async with serving(platform) as address:
        options = DiscordOptions(base_url=f"{address}/api/v10")
        async with aclosing(new_adapter(options, marks)) as adapter, listening(adapter, platform) as inbound:
            texts = [(await anext(inbound)).text for _ in range(2)]
    assert texts == ["new, in the first server", "old, in the second server"]


async def test_address_of_discord_stays_for_everybody_else(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    async with listening(adapter, platform):
        assert Route.BASE == "https://discord.com/api/v10"
        assert str(DiscordWebSocket.DEFAULT_GATEWAY) == "wss://gateway.discord.gg/"


async def test_without_marks_nothing_old_is_read(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    platform.world.say("old")
    async with listening(adapter, platform) as inbound:
        platform.world.say("new")
        assert (await anext(inbound)).text == "new"
    assert platform.calls_of("history") == []


async def test_history_that_may_not_be_read_is_passed_over(
    adapter: DiscordAdapter, platform: DiscordPlatform, marks: MemoryRecords
) -> None:
    marks.records[f"dm:{platform.world.private()}"] = "1"
    platform.world.say("missed", platform.world.private())
    platform.fail("history", "refuse", status=403, code=50001)
    async with listening(adapter, platform) as inbound:
        platform.world.say("new")
        assert (await anext(inbound)).text == "new"


async def test_history_is_asked_for_again_when_discord_stumbles(
    options: DiscordOptions, platform: DiscordPlatform, marks: MemoryRecords
) -> None:
    marks.records[f"dm:{platform.world.private()}"] = "1"
    platform.world.say("missed", platform.world.private())
    platform.fail("history", "bad_gateway", times=2)
    clock = HastyClock()
    async with aclosing(new_adapter(options, marks, clock=clock)) as adapter, listening(adapter, platform) as inbound:
        assert (await anext(inbound)).text == "missed"
    assert clock.pauses_s == [1, 2]


async def test_dropped_connection_is_resumed_and_what_was_said_meanwhile_is_replayed(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    async with listening(adapter, platform) as inbound:
        platform.world.say("one")
        await anext(inbound)
        await platform.gateway.drop()
        await platform.until(lambda: not platform.gateway.connected)
        platform.world.say("two")
        assert (await anext(inbound)).text == "two"
    assert (platform.gateway.identified, platform.gateway.resumed) == (1, 1)
    assert platform.calls_of("history") == []


async def test_session_that_cannot_be_resumed_begins_anew_and_catches_up(
    options: DiscordOptions, platform: DiscordPlatform, marks: MemoryRecords
) -> None:
    async with aclosing(new_adapter(options, marks, clock=HastyClock())) as adapter:
        async with listening(adapter, platform) as inbound:
            platform.world.say("one")
            await anext(inbound)
            await _asked_for(inbound, marks, 1)
        async with listening(adapter, platform) as inbound:
            platform.gateway.forget()
            platform.world.say("two")
            await platform.gateway.drop()
            assert (await anext(inbound)).text == "two"
    assert (platform.gateway.identified, platform.gateway.resumed) == (3, 0)


async def test_event_that_breaks_the_library_costs_nothing_but_a_new_session(
    options: DiscordOptions, platform: DiscordPlatform, marks: MemoryRecords, caplog: pytest.LogCaptureFixture
) -> None:
    clock = HastyClock()
    marks.records[platform.world.general] = platform.world.say("seen")
    async with aclosing(new_adapter(options, marks, clock=clock)) as adapter, listening(adapter, platform) as inbound:
        platform.gateway.poison()
        platform.world.say("after the poison")
        assert (await anext(inbound)).text == "after the poison"
    assert platform.gateway.identified == 2
    assert "The connection to Discord broke" in caplog.text
    assert clock.pauses_s[0] == 5


async def test_sessions_that_break_again_and_again_are_begun_ever_more_slowly(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    clock = HastyClock()
    async with aclosing(new_adapter(options, clock=clock)) as adapter, listening(adapter, platform) as inbound:
        for n in range(7):
            platform.gateway.poison()
            await platform.until(lambda: platform.gateway.identified == n + 2)  # noqa: B023 - awaited at once
        platform.world.say("all is well")
        await anext(inbound)
        await clock.sleep_until(clock.monotonic() + HEALTHY_AFTER_S)
        platform.gateway.poison()
        await platform.until(lambda: platform.gateway.identified == 9)
    assert clock.pauses_s == [5, 10, 20, 40, 80, 120, 120, HEALTHY_AFTER_S, 5]


async def test_session_that_cannot_be_resumed_for_a_minute_is_given_up_for_a_new_one(
    options: DiscordOptions, platform: DiscordPlatform, marks: MemoryRecords
) -> None:
    clock, gateway = HastyClock(), platform.gateway
    marks.records[platform.world.general] = platform.world.say("seen")
    async with aclosing(new_adapter(options, marks, clock=clock)) as adapter, listening(adapter, platform) as inbound:
        gateway.closed = True
        await gateway.drop()
        await platform.until(lambda: gateway.refused == 1)
        platform.world.say("meanwhile")
        await clock.sleep_until(61.0)
        await platform.until(lambda: gateway.refused == 2)
        gateway.closed = False
        assert (await anext(inbound)).text == "meanwhile"
    assert (gateway.identified, gateway.resumed) == (2, 0)


async def test_more_than_the_buffer_holds_is_read_from_history(
    options: DiscordOptions, platform: DiscordPlatform, marks: MemoryRecords
) -> None:
    marks.records[platform.world.general] = platform.world.say("seen")
    async with (
        aclosing(new_adapter(replace(options, buffer_size=5), marks)) as adapter,
        listening(adapter, platform) as inbound,
    ):
        for n in range(20):
            platform.world.say(str(n))
        items = [await anext(inbound) for _ in range(20)]
    assert [item.text for item in items] == [str(n) for n in range(20)]
    assert platform.calls_of("history") != []


async def test_message_that_nobody_understands_is_passed_over(
    options: DiscordOptions, platform: DiscordPlatform, marks: MemoryRecords, caplog: pytest.LogCaptureFixture
) -> None:
    marks.records[platform.world.general] = platform.world.say("seen")
    async with (
        aclosing(new_adapter(options, marks, clock=HastyClock())) as adapter,
        listening(adapter, platform) as inbound,
    ):
        platform.gateway.emit("MESSAGE_CREATE", {"id": "1", "guild_id": str(platform.world.guild.id)})
        platform.world.say("hello")
        assert (await anext(inbound)).text == "hello"
    assert "not understood" in caplog.text


async def test_wrong_token_is_refused(options: DiscordOptions) -> None:
    async with aclosing(new_adapter(options, token="wrong")) as adapter:
        with pytest.raises(AuthFailed, match="Reset Token"):
            await adapter.check()
        with pytest.raises(AuthFailed, match="Reset Token"):
            async with adapter.connect():
                pytest.fail("connected with a wrong token")


async def test_missing_intent_is_refused_with_what_to_click(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    platform.world.reads_messages = platform.gateway.allows_message_content = False
    with pytest.raises(AuthFailed, match="Message Content Intent"):
        await adapter.check()
    with pytest.raises(AuthFailed, match="Message Content Intent"):
        async with adapter.connect() as inbound:
            await anext(inbound)


@pytest.mark.parametrize(("code", "help_"), [(4004, "Reset Token"), (4014, "Message Content Intent")])
async def test_refusal_while_listening_ends_the_connection_with_what_to_do(
    adapter: DiscordAdapter, platform: DiscordPlatform, code: int, help_: str
) -> None:
    async with listening(adapter, platform) as inbound:
        platform.world.say("one")
        assert (await anext(inbound)).text == "one"
        await platform.gateway.drop(code)
        with pytest.raises(AuthFailed, match=help_):
            await anext(inbound)


@pytest.mark.parametrize("code", [1000, 1001, 1011, 4001, 4003, 4007, 4008, 4009])
async def test_any_other_end_of_a_connection_is_followed_by_another_and_nothing_is_missed(
    options: DiscordOptions, platform: DiscordPlatform, marks: MemoryRecords, code: int
) -> None:
    marks.records[platform.world.general] = platform.world.say("seen")
    clock = HastyClock()
    async with aclosing(new_adapter(options, marks, clock=clock)) as adapter, listening(adapter, platform) as inbound:
        platform.gateway.forget()
        await platform.gateway.drop(code)
        platform.world.say("one")
        assert (await anext(inbound)).text == "one"
    assert platform.gateway.identified == 2


async def test_check_without_an_answer_says_that_it_cannot_tell(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    platform.fail("me", "bad_gateway")
    with pytest.raises(NotDelivered, match="cannot tell"):
        await adapter.check()


async def test_start_waits_for_discord_with_growing_pauses(options: DiscordOptions, platform: DiscordPlatform) -> None:
    platform.fail("me", "bad_gateway", times=3)
    clock = HastyClock()
    async with aclosing(new_adapter(options, clock=clock)) as adapter, listening(adapter, platform):
        assert clock.pauses_s[:3] == [1, 2, 4]


async def test_token_is_not_logged(
    options: DiscordOptions, platform: DiscordPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with aclosing(new_adapter(options)) as adapter, listening(adapter, platform):
        await send(adapter, "hi", to=general(platform))
    assert "token-of-the-fake-server" not in caplog.text


async def test_leaving_ends_the_connection(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    async with listening(adapter, platform):
        pass
    await platform.until(lambda: not platform.gateway.connected)


async def test_gateway_that_cannot_be_reached_is_said_plainly_and_nobody_listens_until_it_can(
    options: DiscordOptions, platform: DiscordPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, platform.gateway.address = platform.gateway.address, "ws://127.0.0.1:1"
    listens, broken, errors = anyio.Event(), anyio.Event(), list[str]()

    def warn(_message: str, *, extra: dict[str, object]) -> None:
        errors.append(str(extra["error"]))
        broken.set()

    monkeypatch.setattr(logging.getLogger("adapters.discord.inbound.shard"), "warning", warn)
    async with aclosing(new_adapter(options, clock=HastyClock())) as adapter, anyio.create_task_group() as tasks:

        async def listen() -> None:
            async with adapter.connect():
                listens.set()

        tasks.start_soon(listen)
        await broken.wait()
        assert errors[0].startswith("The gateway of Discord cannot be reached: Cannot connect to host 127.0.0.1:1")
        assert not listens.is_set()
        platform.gateway.address = there
        await listens.wait()
