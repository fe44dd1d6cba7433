"""What people change, take back, mark and reply to, and our marks and deletions."""

from __future__ import annotations

from contextlib import aclosing

import anyio
import pytest
from msgspec.structs import replace

from adapters.adapter import CanDelete, CanReact
from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from adapters.discord.limits import MARKS
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.presenter import PagePresenter
from runtime.channels.outbox import UNRECORDED
from runtime.core.address import GATEWAY
from runtime.core.clock import SystemClock
from runtime.core.message import Choice
from runtime.core.page import PageSpec
from tests.contract.discord.speaking import HOST, edit, general, listening, new_adapter, private, send
from tests.fakes.discord.wire import DiscordPlatform

pytestmark = pytest.mark.anyio


async def test_edit_and_deletion_of_what_a_person_said_are_told(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world, people = platform.world, platform.world.people
    async with listening(adapter, platform) as inbound:
        for where in (world.private(), world.general):
            said = world.say(f"<@{world.bot}> one", where)
            first = await anext(inbound)
            people.change(where, said, f"<@{world.bot}> two")
            changed = await anext(inbound)
            people.take_back(where, said)
            gone = await anext(inbound)
            assert [item.act for item in (first, changed, gone)] == ["message", "edit", "deletion"]
            assert [item.text for item in (first, changed, gone)] == ["one", "two", ""]
            assert {item.message_id for item in (first, changed, gone)} == {said}
            assert {item.person_id for item in (first, changed, gone)} == {f"discord:{world.ada.id}"}
            assert first.address == changed.address == gone.address
            assert len({item.event_id for item in (first, changed, gone)}) == 3


async def test_changes_of_our_own_messages_and_of_webhooks_are_nothing_to_us(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    async with listening(adapter, platform) as inbound:
        for to in (private(platform), general(platform)):
            message = await send(adapter, "one", to=to, nonce=to.key)
            await edit(adapter, message, "two", to=to)
            await adapter.delete(to, message, speaker=GATEWAY)
        platform.world.say("a person")
        assert (await anext(inbound)).text == "a person"


async def test_marks_of_people_are_told_with_our_id_of_the_message(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world, people, us = platform.world, platform.world.people, general(platform)
    async with listening(adapter, platform) as inbound:
        message = await send(adapter, "shall we?", to=us)
        number = message.partition("@")[0]
        people.mark(world.bob, world.general, number, "👍")
        put = await anext(inbound)
        people.unmark(world.bob, world.general, number, "👍")
        taken = await anext(inbound)
        people.mark(world.bob, world.general, number, "👍")
        again = await anext(inbound)
    assert [(item.act, item.text) for item in (put, taken, again)] == [("reaction", text) for text in ("👍", "", "👍")]
    assert {item.message_id for item in (put, taken, again)} == {message}
    assert {(item.person_id, item.person_name, item.addressed) for item in (put, taken, again)} == {
        (f"discord:{world.bob.id}", "Bob", True)
    }
    assert len({item.event_id for item in (put, taken, again)}) == 3


async def test_our_mark_replaces_the_one_before_and_goes_away(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    assert isinstance(adapter, CanReact)
    ada = private(platform)
    said = platform.world.say("hello", platform.world.private())

    def marks() -> list[str]:
        message = platform.world.backend.get_message(int(platform.world.private()), int(said))
        return [reaction.emoji for reaction in message.reactions]

    await adapter.react(ada, said, "queued")
    await adapter.react(ada, said, "queued")
    assert marks() == [MARKS["queued"]]
    await adapter.react(ada, said, "seen")
    assert marks() == [MARKS["seen"]]
    await adapter.react(ada, said, None)
    assert marks() == []
    await adapter.react(ada, said, None)


async def test_mark_from_before_a_restart_is_taken_away(options: DiscordOptions, platform: DiscordPlatform) -> None:
    world = platform.world
    said = world.say("hello", world.private())
    async with aclosing(new_adapter(options)) as adapter:
        await adapter.react(private(platform), said, "queued")
    async with aclosing(new_adapter(options)) as adapter:
        await adapter.react(private(platform), said, None)
    assert world.backend.get_message(int(world.private()), int(said)).reactions == []


async def test_mark_on_the_message_that_a_thread_begins_with_stands_in_its_channel(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    asked = world.say(f"<@{world.bot}> hello")
    await adapter.react(replace(general(platform), thread=asked), asked, "seen")
    assert [each.emoji for each in world.backend.get_message(int(world.general), int(asked)).reactions] == ["👀"]


async def test_our_marks_are_not_told_to_ourselves(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    async with listening(adapter, platform) as inbound:
        said = platform.world.say("hello", platform.world.private())
        await anext(inbound)
        await adapter.react(private(platform), said, "seen")
        platform.world.say("next", platform.world.private())
        assert (await anext(inbound)).text == "next"


@pytest.mark.parametrize("place", [private, general])
async def test_our_message_is_taken_away_and_taking_it_twice_is_no_error(
    adapter: DiscordAdapter, platform: DiscordPlatform, place: object
) -> None:
    assert isinstance(adapter, CanDelete)
    to = private(platform) if place is private else general(platform)
    message = await send(adapter, "hi", to=to)
    for _ in range(2):
        await adapter.delete(to, message, speaker=GATEWAY)
    assert platform.world.messages(to.conversation.removeprefix("dm:")) == []


async def test_reply_of_a_person_carries_what_it_answers(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    async with listening(adapter, platform) as inbound:
        message = await send(adapter, "shall **we**?", to=general(platform))
        platform.world.say("yes", reply_to=message.partition("@")[0])
        item = await anext(inbound)
    assert item.quote is not None
    assert (item.quote.message_id, item.quote.author, item.quote.text) == (message, "Host", "shall **we**?")


async def test_bot_answers_by_a_reply_also_where_the_question_is_gone(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    ada, world = private(platform), platform.world
    asked = world.say("well?", world.private())
    for _ in range(2):
        await adapter.send(ada, "yes", speaker=GATEWAY, nonce=f"{_}.0", final=True, reply_to=asked)
        world.delete(world.private(), asked) if not _ else None
    assert [each.answers for each in world.messages(world.private())] == [asked, asked]
    assert all(not each.pings for each in world.messages(world.private()))


async def test_webhook_says_by_a_link_what_it_answers_and_keeps_it_when_it_goes_on(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    us, world = general(platform), platform.world
    asked = world.say("well?")
    message = await adapter.send(us, "yes", speaker=HOST, nonce="a.0", final=False, reply_to=asked)
    await adapter.edit(us, message, "yes, indeed", speaker=HOST, nonce="a.0", final=True)
    link = f"https://discord.com/channels/{world.guild.id}/{world.general}/{asked}"
    [posted] = world.messages(world.general)
    assert posted.history == [f"-# ↪ [in answer]({link})\nyes", f"-# ↪ [in answer]({link})\nyes, indeed"]


async def test_message_keeps_what_it_answers_when_another_process_goes_on_with_it_and_closes_its_question(
    adapter: DiscordAdapter, platform: DiscordPlatform, options: DiscordOptions
) -> None:
    us, world, clock = general(platform), platform.world, SystemClock()
    asked = world.say("well?")
    message = await adapter.send(us, "yes", speaker=HOST, nonce="a.0", final=False, reply_to=asked)
    choices = (Choice("1", "so"), Choice("2", "not so"))
    spec = PageSpec("a", us, HOST, {0: message}, asked, choices=choices, stands="yes")
    async with aclosing(new_adapter(options)) as later, anyio.create_task_group() as tasks:
        presenter = PagePresenter(
            later, EditScheduler(later.capabilities.total_budget, clock, tasks), clock, tasks=tasks
        )
        page = presenter.page(spec, UNRECORDED)
        assert await page.finish("yes, indeed")
        async with aclosing(new_adapter(options)) as last:
            scheduler = EditScheduler(last.capabilities.total_budget, clock, tasks)
            await PagePresenter(last, scheduler, clock, tasks=tasks).settle(spec, "yes, indeed", "✓ so")
        tasks.cancel_scope.cancel()
    above = f"-# ↪ [in answer](https://discord.com/channels/{world.guild.id}/{world.general}/{asked})\n"
    [posted] = world.messages(world.general)
    assert all(text.startswith(above) for text in posted.history)
    assert posted.text == f"{above}yes, indeed\n\n✓ so"


async def test_first_answer_in_a_thread_needs_no_link_to_what_the_thread_begins_with(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    async with listening(adapter, platform) as inbound:
        asked = world.say(f"<@{world.bot}> well?")
        item = await anext(inbound)
    await adapter.send(item.address, "yes", speaker=HOST, nonce="a.0", final=True, reply_to=asked)
    assert [each.text for each in world.messages(asked)] == ["yes"]


async def test_a_mention_that_an_edit_adds_is_answered_once(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world, people = platform.world, platform.world.people
    async with listening(adapter, platform) as inbound:
        ts = world.say("what is this?")
        assert not (await anext(inbound)).addressed
        people.change(world.general, ts, f"<@{world.bot}> what is this?")
        said = await anext(inbound)
        people.change(world.general, ts, f"<@{world.bot}> what is that?")
        changed = await anext(inbound)
    assert (said.act, said.addressed, said.text, said.address.thread) == ("message", True, "what is this?", ts)
    assert (changed.act, changed.text, changed.address) == ("edit", "what is that?", said.address)
