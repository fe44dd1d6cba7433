"""What agents say appears on Slack once, in the right thread, under their names."""

from __future__ import annotations

import gc
from contextlib import aclosing, suppress

import anyio
import pytest
from msgspec.structs import replace

from adapters.capabilities import Budget
from adapters.slack.adapter import SlackAdapter, SlackOptions
from adapters.slack.api.calls import MissingScope
from runtime.core.address import GATEWAY, Speaker
from runtime.core.errors import (
    AdapterError,
    BadMarkup,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    RateLimited,
)
from tests.contract.slack.speaking import ADA, US, edit, new_adapter, send, thread
from tests.fakes.clock import FakeClock
from tests.fakes.slack.people import CHANNEL, DIRECT, FRIEND
from tests.fakes.slack.platform import FaultKind, SlackPlatform

pytestmark = pytest.mark.anyio


async def test_message_appears_formatted_in_its_thread(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.mention("hello")
    ts = await send(adapter, "some **bold** & [link](https://a.example)", to=thread(root))
    [posted] = platform.messages()
    assert (posted.ts, posted.thread_ts) == (ts, root)
    assert posted.shown == "some *bold* &amp; <https://a.example|link>"


async def test_agents_speak_under_their_own_name_and_icon(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    for number, speaker in enumerate((Speaker("1", "Writer"), Speaker("2", "Critic"), Speaker("3", "Writer"), GATEWAY)):
        await send(adapter, "hi", speaker=speaker, nonce=str(number))
    first, second, third, gateway = platform.messages(DIRECT)
    assert [m.username for m in (first, second, gateway)] == ["Writer", "Critic", None]
    assert len({first.icon_emoji, second.icon_emoji, third.icon_emoji}) == 3
    assert first.icon_emoji is not None
    assert gateway.icon_emoji is None
    assert first.shown == "hi"


async def test_name_stands_above_the_text_where_the_app_may_not_choose_names(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.scopes.remove("chat:write.customize")
    ts = await send(adapter, "hi")
    await edit(adapter, ts, "hi there")
    await send(adapter, "a notice", speaker=GATEWAY, nonce="other")
    said, notice = platform.messages(DIRECT)
    assert said.history == ["*Host*\nhi", "*Host*\nhi there"]
    assert notice.shown == "a notice"
    platform.scopes.add("chat:write.customize")
    await edit(adapter, ts, "hi again")  # Slack tells with each answer what the app may do
    await send(adapter, "now under my name", nonce="third")
    assert (platform.messages(DIRECT)[-1].shown, platform.messages(DIRECT)[-1].username) == (
        "now under my name",
        "Host",
    )


async def test_name_stands_above_the_text_after_slack_refused_the_name(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.fail("chat.postMessage", "refuse", error="missing_scope", more={"needed": "chat:write.customize"})
    await send(adapter, "hi")
    assert [message.shown for message in platform.messages(DIRECT)] == ["*Host*\nhi"]


async def test_edit_replaces_the_text_and_keeps_name_and_nonce(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    ts = await send(adapter, "one")
    await edit(adapter, ts, "*two*")
    await edit(adapter, ts, "*two*")
    [posted] = platform.messages(DIRECT)
    assert (posted.shown, posted.username) == ("_two_", "Host")
    assert posted.metadata == {"event_type": "parley_message", "event_payload": {"nonce": "page.0"}}


async def test_nobody_is_pinged(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    hostile = "@here @channel @everyone <!here> <!channel> <@U0ADA> [x](<!here>) <!subteam^S1> `<!everyone>` &lt;!here>"
    ts = await send(adapter, hostile)
    await edit(adapter, ts, hostile + " again")
    assert platform.messages(DIRECT)[0].pings == []


# Once, and not twice.


@pytest.mark.parametrize("kind", ["bad_gateway", "drop", "garbage"])
@pytest.mark.parametrize("applied", [True, False])
async def test_message_with_an_unclear_outcome_is_there_once_after_the_repetition(
    adapter: SlackAdapter, platform: SlackPlatform, kind: FaultKind, applied: bool
) -> None:
    root = platform.mention("hello")
    await send(adapter, "first", to=thread(root), nonce="first")
    platform.fail("chat.postMessage", kind, applied=applied)
    with pytest.raises(OutcomeUncertain):
        await send(adapter, "once", to=thread(root))
    ts = await send(adapter, "once, and more", to=thread(root))
    assert [message.ts for message in platform.messages()][1:] == [ts]


async def test_repetition_outside_of_threads_is_found_as_well(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.fail("chat.postMessage", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await send(adapter, "once")
    await send(adapter, "once")
    await send(adapter, "another", nonce="other")
    assert [message.shown for message in platform.messages(DIRECT)] == ["once", "another"]


async def test_post_that_was_cancelled_is_looked_for(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.fail("chat.postMessage", "hang", applied=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send, adapter, "once")
        await platform.until(lambda: bool(platform.calls_of("chat.postMessage")))
        tasks.cancel_scope.cancel()
    ts = await send(adapter, "once")
    assert [message.ts for message in platform.messages(DIRECT)] == [ts]


async def test_post_of_a_process_that_died_is_found_by_the_next(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    root = platform.mention("hello")
    found = []
    for _ in range(2):
        async with aclosing(new_adapter(options, clock=clock)) as adapter:
            found.append(await send(adapter, "once", to=thread(root)))
    assert found[0] == found[1]
    assert len(platform.messages()) == 1


async def test_post_is_found_behind_many_others(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    root = platform.mention("hello")
    await send(adapter, "first", to=thread(root), nonce="first")
    for number in range(450):
        platform.say(str(number), thread=root)
    platform.fail("chat.postMessage", "bad_gateway", applied=True)
    with suppress(OutcomeUncertain):
        await send(adapter, "once", to=thread(root))
    ts = await send(adapter, "once", to=thread(root))
    assert [message.ts for message in platform.messages()][1:] == [ts]


async def test_nothing_is_looked_for_in_a_thread_that_just_began(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.mention("hello")
    async with adapter.connect() as inbound:
        heard = await anext(inbound)
        await send(adapter, "at once", to=heard.address)
        await send(adapter, "and again", to=heard.address, nonce="next")
    assert len(platform.messages()) == 2
    assert platform.calls_of("conversations.replies") == []


async def test_what_another_node_has_posted_in_a_thread_of_ours_is_found_where_it_is_in_doubt(
    adapter: SlackAdapter, options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    root = platform.mention("hello")
    await send(adapter, "at once", to=thread(root), nonce="first")
    async with aclosing(new_adapter(options, clock=clock)) as other:
        posted = await send(other, "meanwhile", to=thread(root), nonce="second")
    adapter.doubt("second")
    assert await send(adapter, "meanwhile", to=thread(root), nonce="second") == posted
    assert [message.shown for message in platform.messages()] == ["at once", "meanwhile"]


async def test_nothing_is_posted_where_the_lease_ended_while_an_earlier_copy_was_looked_for(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root, away = platform.mention("hello"), [True, False]
    adapter.unless("page.0", lambda: away.pop(0))
    with pytest.raises(OutcomeUncertain, match="another node"):
        await send(adapter, "once", to=thread(root))
    assert platform.messages() == []
    await send(adapter, "once", to=thread(root))
    assert (len(platform.messages()), away) == (1, [])


async def test_a_post_is_found_though_our_clock_is_a_day_ahead(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    root = platform.mention("hello")
    async with aclosing(new_adapter(options, clock=clock)) as adapter:
        await send(adapter, "once", to=thread(root))
    clock.set_calendar(86_460)
    async with aclosing(new_adapter(options, clock=clock)) as adapter:
        await send(adapter, "once", to=thread(root))
    assert len(platform.messages()) == 1


async def test_nothing_is_posted_while_it_cannot_be_told_whether_it_is_there(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")
    platform.fail("conversations.replies", "flood", retry_after=9)
    with pytest.raises(RateLimited) as limited:
        await send(adapter, "later", to=thread(root))
    assert limited.value.retry_after_s == 9
    assert platform.messages() == []


async def test_message_is_posted_where_looking_is_not_allowed(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.scopes.remove("channels:history")
    await send(adapter, "all the same", to=US)
    assert [message.shown for message in platform.messages()] == ["all the same"]


# Failures.


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("channel_not_found", NotDelivered),
        ("not_in_channel", NotDelivered),
        ("is_archived", NotDelivered),
        ("restricted_action", NotDelivered),
        ("thread_not_found", NotDelivered),
        ("missing_scope", NotDelivered),
        ("invalid_auth", NotDelivered),
        ("something_new", NotDelivered),
        ("invalid_blocks", BadMarkup),
        ("internal_error", OutcomeUncertain),
        ("fatal_error", OutcomeUncertain),
        ("service_unavailable", OutcomeUncertain),
    ],
)
async def test_refusal_of_a_post_has_its_meaning(
    adapter: SlackAdapter, platform: SlackPlatform, error: str, kind: type[AdapterError]
) -> None:
    platform.fail("chat.postMessage", "refuse", error=error, times=2)  # with thumbs and without them
    with pytest.raises(kind, match=error) as refusal:
        await send(adapter, "hi")
    assert isinstance(refusal.value, MissingScope) or type(refusal.value) is kind


async def test_message_that_cannot_be_changed_any_more_is_gone(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    ts = await send(adapter, "hi")
    platform.remove(ts, channel=DIRECT)
    theirs = platform.say("mine", channel=DIRECT)
    for message in (ts, theirs):
        with pytest.raises(MessageGone):
            await edit(adapter, message, "changed")
    platform.fail("chat.update", "refuse", error="edit_window_closed")
    with pytest.raises(MessageGone):
        await edit(adapter, ts, "changed")


async def test_bot_outside_of_the_channel_is_told_what_to_do(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.conversations.open(CHANNEL).member = False
    with pytest.raises(NotDelivered, match="/invite"):
        await send(adapter, "hi", to=US)


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_flood_is_passed_on_with_its_pause_and_changes_nothing(
    adapter: SlackAdapter, platform: SlackPlatform, method: str
) -> None:
    ts = await send(adapter, "hi")
    platform.fail(method, "flood", retry_after=30)
    with pytest.raises(RateLimited) as limited:
        await (edit(adapter, ts, "more") if method == "chat.update" else send(adapter, "more", nonce="other"))
    assert limited.value.retry_after_s == 30
    assert [message.history for message in platform.messages(DIRECT)] == [["hi"]]


async def test_call_that_is_never_answered_is_given_up(
    options: SlackOptions, platform: SlackPlatform, clock: FakeClock
) -> None:
    platform.fail("chat.update", "hang")
    async with aclosing(new_adapter(replace(options, call_timeout_s=0.3), clock=clock)) as hasty:
        with pytest.raises(OutcomeUncertain, match=r"within 0\.3 s"):
            await edit(hasty, "1.000001", "x")


async def test_server_that_cannot_be_reached_is_asked_again_soon(clock: FakeClock) -> None:
    async with aclosing(new_adapter(SlackOptions(base_url="http://127.0.0.1:9/api/"), clock=clock)) as adapter:
        with pytest.raises(RateLimited) as refusal:
            await send(adapter, "hi")
    assert refusal.value.retry_after_s == 1


# Lengths, the status, budgets.


@pytest.mark.parametrize(
    "text",
    [
        "<&>" * 900,
        "👍" * 1325,
        "`<a&b>` " * 330,
        "א" * 2650,
        "```\n" + "&<\n" * 890 + "```",
        "|a|b|\n|-|-|\n" + "|x|" + "y" * 60 + "|\n" * 2 + "|1|2|\n" * 400,
    ],
)
async def test_text_within_the_limit_is_taken_whatever_its_characters_are(
    adapter: SlackAdapter, platform: SlackPlatform, text: str
) -> None:
    text = text[: adapter.capabilities.max_text]
    platform.scopes.remove("chat:write.customize")
    ts = await send(adapter, text, speaker=Speaker("1", "&" * 64))
    await edit(adapter, ts, text, speaker=Speaker("1", "&" * 64))
    assert len(platform.messages(DIRECT)[0].history) == 2


async def test_status_is_shown_in_a_thread_and_goes_with_the_end_of_the_text(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello")

    def shown() -> str:
        return platform.conversations.status(CHANNEL, root)

    await adapter.typing(thread(root), Speaker("1", "Writer"))
    assert shown() == "is thinking…"
    assert platform.calls_of("assistant.threads.setStatus")[0].params["username"] == "Writer"
    ts = await send(adapter, "some", to=thread(root))
    assert shown() == ""
    await adapter.typing(thread(root), Speaker("1", "Writer"))
    await edit(adapter, ts, "some text", to=thread(root))
    assert shown() == "is thinking…"
    platform.fail("assistant.threads.setStatus", "bad_gateway")
    await edit(adapter, ts, "some text.", to=thread(root), final=True)
    assert shown() == "is thinking…"
    for _ in range(2):
        await edit(adapter, ts, "some text.", to=thread(root), final=True)
        assert shown() == ""
    assert len(platform.calls_of("assistant.threads.setStatus")) == 4


async def test_no_status_outside_of_threads(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    await adapter.typing(ADA, Speaker("1", "Writer"))
    assert platform.calls == []


async def test_threads_of_a_channel_share_a_bucket_and_the_workspace_its_edits(adapter: SlackAdapter) -> None:
    shared = Budget(1.0, 3.0, shared=True)
    assert adapter.budget(thread("1.0")) == adapter.budget(US) == ("slack:T0001:C0GENERAL", shared)
    assert adapter.budget(ADA) == ("slack:T0001:D0ADA", Budget(1.0, 3.0))
    assert adapter.capabilities.total_budget.rate_per_s * 60 + adapter.capabilities.total_budget.burst <= 50


async def test_connections_are_closed_with_what_opened_them(options: SlackOptions, platform: SlackPlatform) -> None:
    async with aclosing(new_adapter(options)) as adapter:
        async with adapter.connect():
            await send(adapter, "hi")
        await platform.until(lambda: not platform.events.connections)
    del adapter
    gc.collect()
    assert len(platform.messages(DIRECT)) == 1


async def test_one_person_is_told_alone_in_the_channel_and_in_a_thread_once_it_has_replies(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    root = platform.mention("hello", person=FRIEND)
    await adapter.tell_alone(thread(root), f"slack:T0001:{FRIEND}", "Ask **Ada**.")
    assert platform.alone == [(FRIEND, CHANNEL, None, "Ask *Ada*.")]
    assert platform.messages() == []
    await send(adapter, "Hello!", to=thread(root))
    assert await adapter.answer_alone(thread(root), f"slack:T0001:{FRIEND}", "You used **2** models.")
    assert platform.alone[1:] == [(FRIEND, CHANNEL, root, "You used *2* models.")]


async def test_in_a_direct_conversation_an_answer_is_a_message_like_all(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    assert not await adapter.answer_alone(ADA, f"slack:T0001:{FRIEND}", "Yours.")
    assert platform.alone == []


async def test_an_answer_for_one_person_who_is_not_in_the_channel_is_refused(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    with pytest.raises(AdapterError):
        await adapter.answer_alone(thread(platform.mention("hello")), "slack:T0001:U0NOBODY", "Yours.")
