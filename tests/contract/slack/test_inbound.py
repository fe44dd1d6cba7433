"""What people do on Slack comes in, and is acknowledged only once it is safe."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import aclosing
from functools import partial

import anyio
import pytest
from msgspec.structs import replace

from adapters.slack.adapter import SlackAdapter, SlackKeys, SlackOptions
from runtime.core.clock import SystemClock
from runtime.core.errors import AuthFailed, NotDelivered
from tests.contract.slack.speaking import ADA, BOT, US, new_adapter, send, thread
from tests.fakes.clock import FakeClock, HastyClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import DIRECT, FRIEND, PERSON
from tests.fakes.slack.platform import FaultKind, SlackPlatform

pytestmark = pytest.mark.anyio

WRONG = (partial(new_adapter, bot_token="xoxb-wrong"), partial(new_adapter, app_token="xapp-wrong"))


async def test_messages_come_in_order(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    one = platform.say("one", channel=DIRECT)
    platform.say("two")
    platform.say("three", channel=DIRECT, thread=one)
    async with adapter.connect() as inbound:
        heard = [await anext(inbound) for _ in range(3)]
    assert [(m.text, m.address, m.addressed, m.private) for m in heard] == [
        ("one", replace(ADA, thread=one), True, True),
        ("two", US, False, False),
        ("three", replace(ADA, thread=one), True, True),
    ]


async def test_mention_in_a_channel_begins_a_thread_and_is_one_event(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("what is it?")
    platform.say("private", channel=DIRECT)
    async with adapter.connect() as inbound:
        mention, after = await anext(inbound), await anext(inbound)
    assert (mention.text, mention.address, mention.addressed) == ("what is it?", thread(root), True)
    assert after.text == "private"


async def test_thread_that_began_with_a_mention_needs_no_further_one(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    platform.say("and more", thread=root, person=FRIEND)
    async with adapter.connect() as inbound:
        await anext(inbound)
        reply = await anext(inbound)
    assert (reply.address, reply.addressed, reply.person_name) == (thread(root), True, "Bob")
    assert platform.calls_of("conversations.replies") == []


async def test_thread_of_others_is_asked_about_once_and_not_addressed(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.say("lunch?")
    for text in ("yes", "where?"):
        platform.say(text, thread=root, person=FRIEND)
    async with adapter.connect() as inbound:
        heard = [await anext(inbound) for _ in range(3)]
    assert [m.addressed for m in heard] == [False, False, False]
    assert heard[1].address == thread(root)
    assert len(platform.calls_of("conversations.replies")) == 1


async def test_thread_is_recognised_after_a_restart(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    root = platform.say("an old talk")
    async with aclosing(new_adapter(options, clock=clock)) as before:
        await send(before, "may I?", to=thread(root))
    platform.say("go on", thread=root)
    async with aclosing(new_adapter(options, clock=clock)) as adapter, adapter.connect() as inbound:
        await anext(inbound)
        assert (await anext(inbound)).addressed


async def test_thread_where_we_spoke_is_known_without_asking(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.say("an old talk")
    await send(adapter, "may I?", to=thread(root))
    asked = len(platform.calls_of("conversations.replies"))
    platform.say("go on", thread=root)
    async with adapter.connect() as inbound:
        await anext(inbound)
        assert (await anext(inbound)).addressed
    assert len(platform.calls_of("conversations.replies")) == asked


async def test_message_in_an_unknown_thread_comes_again_when_slack_cannot_be_asked(
    options: SlackOptions, adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock
) -> None:
    root = platform.say("old", person=FRIEND)
    await send(adapter, "mine", to=thread(root))
    restarted = new_adapter(options, clock=clock)
    platform.fail("conversations.replies", "bad_gateway")
    platform.say("precious", thread=root)
    async with aclosing(restarted), restarted.connect() as inbound, anyio.create_task_group() as tasks:
        assert (await anext(inbound)).text == "old"

        async def wait_for_slack() -> None:
            await platform.until(lambda: len(platform.calls_of("conversations.replies")) == 2)
            await clock.advance(3)

        tasks.start_soon(wait_for_slack)
        heard = await anext(inbound)
    assert (heard.text, heard.addressed) == ("precious", True)


async def test_event_is_acknowledged_only_when_the_next_is_asked_for(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.say("one", channel=DIRECT)
    platform.say("two", channel=DIRECT)
    async with adapter.connect() as inbound:
        await anext(inbound)
        await platform.until(lambda: all(event.deliveries for event in platform.events.events.values()))
        assert len(platform.events.pending) == 2
        await anext(inbound)
        await platform.until(lambda: len(platform.events.pending) == 1)


async def test_event_whose_consumer_crashed_comes_again(options: SlackOptions, platform: SlackPlatform) -> None:
    platform.say("precious", channel=DIRECT)
    seen = []
    for _ in range(2):
        async with aclosing(new_adapter(options)) as adapter:
            with contextlib.suppress(ZeroDivisionError):
                async with adapter.connect() as inbound:
                    seen.append(await anext(inbound))
                    raise ZeroDivisionError
    assert seen[0] == seen[1]


async def test_event_of_a_slow_consumer_is_repeated_by_slack_and_comes_once(
    adapter: SlackAdapter, platform: SlackPlatform, clock: FakeClock
) -> None:
    platform.say("slowly", channel=DIRECT)
    async with adapter.connect() as inbound, anyio.create_task_group() as tasks:
        await anext(inbound)
        [event] = platform.events.events.values()
        await clock.advance(3)
        await platform.until(lambda: len(event.deliveries) == 2)
        platform.say("next", channel=DIRECT)
        tasks.start_soon(platform.until, lambda: len(event.acknowledged) == 2)
        assert (await anext(inbound)).text == "next"


async def test_event_that_slack_repeats_after_the_acknowledgement_is_acknowledged_at_once(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.say("once", channel=DIRECT)
    async with adapter.connect() as inbound:
        await anext(inbound)
        [first] = platform.events.events
        platform.say("twice", channel=DIRECT)
        await anext(inbound)
        platform.events.again(first)
        event = platform.events.events[first]
        await platform.until(lambda: len(event.acknowledged) == 2)
        platform.say("thrice", channel=DIRECT)
        assert (await anext(inbound)).text == "thrice"


async def test_event_id_of_a_message_is_the_messages_and_of_anything_else_slacks_own(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    said = platform.say("hi", channel=DIRECT)
    platform.react("eyes", said, channel=DIRECT)
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).event_id == f"message:{DIRECT}:{said}"
        assert (await anext(inbound)).event_id in platform.events.events


async def test_what_is_not_for_us_is_acknowledged_and_passed_over(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    await send(adapter, "my own", nonce="own")
    mine = platform.messages(DIRECT)[0]
    platform.events.put(mine.data() | {"channel": DIRECT, "channel_type": "im"})
    platform.say("of a bot", channel=DIRECT, bot_id="B0OTHER")
    platform.say("joined", channel=DIRECT, subtype="channel_join")
    platform.events.put({"type": "message", "channel": 7, "text": "of a shape nobody knows", "user": "U1", "ts": "x"})
    platform.events.put_payload("interactive", {"type": "shortcut", "trigger_id": "1.2", "team": {"id": TEAM}})
    platform.say("before", channel=DIRECT)
    platform.say("hello", channel=DIRECT)
    async with adapter.connect() as inbound:
        heard = [(await anext(inbound)).text for _ in range(2)]
        await platform.until(lambda: len(platform.events.pending) == 1)
    assert heard == ["before", "hello"]


async def test_files_come_as_attachments(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    file = {"id": "F1", "name": "a.pdf", "mimetype": "application/pdf", "size": 7}
    platform.mention("", subtype="file_share", files=[file])
    async with adapter.connect() as inbound:
        heard = await anext(inbound)
    [attachment] = heard.attachments
    assert (heard.text, attachment.name, attachment.url, attachment.size_bytes) == (
        "",
        "a.pdf",
        "slack-file:T0001:F1",
        7,
    )


async def test_people_and_mentions_have_names(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.mention(f"ask <@{FRIEND}> about a &lt; b")
    platform.say(f"and <@{FRIEND}> again", channel=DIRECT)
    async with adapter.connect() as inbound:
        first, second = await anext(inbound), await anext(inbound)
    assert (first.person_id, first.person_name) == (f"slack:T0001:{PERSON}", "Ada Lovelace")
    assert [first.text, second.text] == ["ask @Bob about a < b", "and @Bob again"]
    assert len(platform.calls_of("users.info")) == 2


async def test_person_without_a_name_is_heard_all_the_same(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.fail("users.info", "bad_gateway")
    platform.say("hi", channel=DIRECT)
    async with adapter.connect() as inbound:
        assert (await anext(inbound)).person_name == PERSON


@pytest.mark.parametrize("text", ["/stop", f"{BOT} !stop"])
async def test_command_is_a_word_after_a_slash_or_an_exclamation_mark(
    adapter: SlackAdapter, platform: SlackPlatform, text: str
) -> None:
    platform.say(text, channel=DIRECT)
    async with adapter.connect() as inbound:
        heard = await anext(inbound)
    assert (heard.command, heard.text) == ("stop", "")


async def test_new_connection_follows_a_dropped_one(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    async with adapter.connect() as inbound:
        await platform.until(lambda: len(platform.events.connections) == 1)
        platform.drop()
        await platform.until(lambda: not platform.events.connections)
        platform.say("still here", channel=DIRECT)
        assert (await anext(inbound)).text == "still here"


async def test_event_that_was_not_acknowledged_on_a_dropped_connection_comes_once(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.say("one", channel=DIRECT)
    async with adapter.connect() as inbound:
        await anext(inbound)
        [event] = platform.events.events.values()
        platform.drop()
        await platform.until(lambda: len(event.deliveries) == 2)
        platform.say("two", channel=DIRECT)
        assert (await anext(inbound)).text == "two"
        await platform.until(event.done.is_set)


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_connection_is_renewed_when_slack_says_so(
    adapter: SlackAdapter, platform: SlackPlatform, reason: str
) -> None:
    async with adapter.connect() as inbound:
        await platform.until(lambda: len(platform.events.connections) == 1)
        [old] = platform.events.connections
        await platform.disconnect(reason)
        await platform.until(lambda: bool(platform.events.connections) and old not in platform.events.connections)
        platform.say("renewed", channel=DIRECT)
        assert (await anext(inbound)).text == "renewed"


@pytest.mark.parametrize("kind", ["bad_gateway", "drop", "garbage"])
async def test_connecting_goes_on_after_failures_with_growing_pauses(
    options: SlackOptions, platform: SlackPlatform, kind: FaultKind
) -> None:
    clock = HastyClock()
    platform.fail("apps.connections.open", kind, times=8)
    platform.say("hi", channel=DIRECT)
    async with aclosing(new_adapter(options, clock=clock)) as adapter, adapter.connect() as inbound:
        assert (await anext(inbound)).text == "hi"
    assert clock.pauses_s == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_connections_that_end_at_once_are_renewed_with_growing_pauses(
    options: SlackOptions, platform: SlackPlatform
) -> None:
    clock = HastyClock()
    platform.socket_address += "?ticket=used&and="
    async with aclosing(new_adapter(options, clock=clock)) as adapter, adapter.connect():
        await platform.until(lambda: len(platform.calls_of("apps.connections.open")) == 6)
    assert clock.pauses_s[:4] == [1, 2, 4, 8]


async def test_connecting_waits_as_long_as_slack_says(options: SlackOptions, platform: SlackPlatform) -> None:
    clock = HastyClock()
    platform.fail("auth.test", "flood", retry_after=17)
    async with aclosing(new_adapter(options, clock=clock)) as adapter, adapter.connect():
        assert clock.pauses_s == [17]


@pytest.mark.parametrize("wrong", WRONG)
async def test_wrong_token_is_refused_at_connecting(
    options: SlackOptions, wrong: Callable[[SlackOptions], SlackAdapter]
) -> None:
    async with aclosing(wrong(options)) as adapter:
        with pytest.raises(AuthFailed, match=r"api\.slack\.com/apps"):
            async with adapter.connect():
                pytest.fail("connected with a wrong token")


async def test_token_withdrawn_while_listening_ends_the_connection(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    async with adapter.connect() as inbound:
        await platform.until(lambda: len(platform.events.connections) == 1)
        platform.app_token = "xapp-other"
        platform.drop()
        with pytest.raises(AuthFailed):
            await anext(inbound)


async def test_failure_of_the_consumer_comes_out_as_it_is(adapter: SlackAdapter) -> None:
    with pytest.raises(ZeroDivisionError):
        async with adapter.connect():
            raise ZeroDivisionError


@pytest.mark.parametrize("tokens", [("secret", "xapp-1"), ("xoxb-1", "secret"), ("xapp-1", "xoxb-1")])
async def test_something_that_is_no_token_is_refused_at_once(tokens: tuple[str, str]) -> None:
    with pytest.raises(AuthFailed, match="does not look like"):
        SlackAdapter(SlackKeys(*tokens), clock=SystemClock(), marks=MemoryRecords())


async def test_check_names_the_bot_and_its_workspace(adapter: SlackAdapter) -> None:
    assert await adapter.check() == "Slack knows this bot as @parley in Analytical Engines"


async def test_check_names_the_scopes_that_are_missing(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.scopes -= {"groups:history", "chat:write.customize"}
    assert (await adapter.check()).endswith("install the app again: chat:write.customize groups:history")


@pytest.mark.parametrize("wrong", WRONG)
async def test_check_tells_a_wrong_token_from_a_server_that_is_down(
    options: SlackOptions,
    adapter: SlackAdapter,
    platform: SlackPlatform,
    wrong: Callable[[SlackOptions], SlackAdapter],
) -> None:
    async with aclosing(wrong(options)) as refused:
        with pytest.raises(AuthFailed):
            await refused.check()
    platform.fail("auth.test", "bad_gateway")
    with pytest.raises(NotDelivered, match="cannot tell"):
        await adapter.check()


async def test_check_fails_where_the_app_may_not_hear_or_speak(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.scopes -= {"chat:write", "channels:history"}
    with pytest.raises(AuthFailed, match=r"add these scopes and install the app again: channels:history chat:write$"):
        await adapter.check()


async def test_check_says_that_slack_does_not_tell_the_scopes(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.scopes.clear()
    assert (await adapter.check()).endswith("Slack does not say which scopes it has")


async def test_a_mention_that_an_edit_adds_is_answered_once(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    ts = platform.say("what is this?")
    platform.rewrite(ts, f"{BOT} what is this?")
    platform.rewrite(ts, f"{BOT} what is that?")
    async with adapter.connect() as inbound:
        _, said, changed = [await anext(inbound) for _ in range(3)]
    assert (said.act, said.addressed, said.text, said.address) == ("message", True, "what is this?", thread(ts))
    assert (changed.act, changed.text, changed.message_id) == ("edit", "what is that?", ts)


async def test_a_mention_that_an_edit_adds_to_what_was_heard_is_an_edit(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    reply = platform.say("more", thread=root)
    platform.rewrite(reply, f"{BOT} more")
    async with adapter.connect() as inbound:
        acts = [(await anext(inbound)).act for _ in range(3)]
    assert acts == ["message", "message", "edit"]
