"""Sessions in threads: begun from the menu or by a mention, and who takes part in them."""

from __future__ import annotations

from contextlib import aclosing

import anyio
import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from runtime.core.address import GATEWAY, Address
from runtime.core.errors import NotDelivered
from runtime.core.markup import MarkdownPart
from runtime.core.message import Choice
from runtime.core.texts import english
from tests.contract.discord.speaking import GUEST, HOST, general, listening, new_adapter, private, send
from tests.fakes.discord.wire import DiscordPlatform

pytestmark = pytest.mark.anyio

SAY = english()


async def test_session_begins_in_a_thread_named_after_its_topic_with_its_person_in_it(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    world = platform.world
    async with (
        aclosing(new_adapter(replace(options, programs=("poker", "chess")))) as adapter,
        listening(adapter, platform) as inbound,
    ):
        chosen = world.people.session(world.ada, world.general, "start", program="poker", topic="Friday night")
        item = await anext(inbound)
        [(thread, name)] = world.people.threads().items()
        world.say("hi all", thread, world.bob)
        later = await anext(inbound)
        await platform.until(lambda: world.receipt(chosen) is not None)
    assert item.address == Address("discord", world.general, thread) == later.address
    assert (item.command, item.program, item.text) == ("new", "poker", "Friday night")
    assert (item.person_id, item.space, item.language) == (f"discord:{world.ada.id}", str(world.guild.id), "en-US")
    assert name == "Friday night"
    assert world.people.members(thread) >= {world.bot, str(world.ada.id)}
    assert (later.addressed, later.person_name) == (True, "Bob")
    assert world.receipt(chosen) == SAY("sessions.there", place=MarkdownPart(f"<#{thread}>"))


async def test_session_in_a_thread_or_in_private_begins_where_it_was_asked_for(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    there = world.thread("Plans")
    async with listening(adapter, platform) as inbound:
        world.people.session(world.ada, there, "start")
        world.people.session(world.ada, world.private(), "start")
        items = [await anext(inbound) for _ in range(2)]
    assert [item.address for item in items] == [replace(general(platform), thread=there), private(platform)]
    assert platform.calls_of("open_thread") == []


async def test_session_that_may_not_open_a_thread_says_so_and_is_no_item(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    world.forbid("create_public_threads")
    async with listening(adapter, platform) as inbound:
        chosen = world.people.session(world.ada, world.general, "start")
        world.say("after that", world.private())
        assert (await anext(inbound)).text == "after that"
        await platform.until(lambda: bool(world.receipt(chosen)))
    assert "lacks a permission" in (world.receipt(chosen) or "")


async def test_event_that_comes_twice_opens_one_thread(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    async with listening(adapter, platform) as inbound:
        world.people.session(world.ada, world.private(), "start")
        await anext(inbound)
        begun = world.people.session(world.ada, world.general, "start")
        one = await anext(inbound)
        frames = next(iter(platform.gateway.sessions.values())).frames
        twice = next(frame for frame in frames if frame["d"].get("id") == begun)
        for session in platform.gateway.sessions.values():
            session.push(twice["t"], twice["d"])
        two = await anext(inbound)
    assert (one.address, one.event_id) == (two.address, two.event_id)
    assert len(platform.calls_of("open_thread")) == 1


async def test_who_and_stop_are_commands_of_the_thread(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    there = world.thread("Plans", by_bot=True)
    async with listening(adapter, platform) as inbound:
        for part in ("who", "stop"):
            world.people.session(world.ada, there, part)
        items = [await anext(inbound) for _ in range(2)]
    expected = replace(general(platform), thread=there)
    assert [(item.command, item.address) for item in items] == [("who", expected), ("stop", expected)]


async def test_somebody_says_there_who_of_the_program_they_are(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    there = world.thread("Plans")
    async with listening(adapter, platform) as inbound:
        world.people.session(world.ada, there, "iam", name=" Alice ")
        item = await anext(inbound)
    assert (item.command, item.text, item.address) == ("iam", "Alice", replace(general(platform), thread=there))


async def test_invited_person_is_brought_into_the_thread_and_pinged(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    there = world.thread("Plans", by_bot=True)
    async with listening(adapter, platform):
        chosen = world.people.session(world.ada, there, "invite", person=str(world.bob.id))
        await platform.until(lambda: bool(world.receipt(chosen)))
    assert str(world.bob.id) in world.people.members(there)
    record = world.backend.interactions[int(chosen)]
    assert not record.ephemeral
    said = world.backend.get_message(int(there), record.message_id or 0)
    assert said.content == SAY("sessions.invited", person=MarkdownPart(f"<@{world.bob.id}>"))
    assert list(said.ping_user_ids) == [world.bob.id]


async def test_nobody_is_invited_outside_threads(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    async with listening(adapter, platform):
        chosen = world.people.session(world.ada, world.general, "invite", person=str(world.bob.id))
        await platform.until(lambda: bool(world.receipt(chosen)))
    assert world.receipt(chosen) == SAY("sessions.not_here")
    assert platform.calls_of("add") == []


async def test_programs_are_suggested_while_one_is_typed(options: DiscordOptions, platform: DiscordPlatform) -> None:
    people, world = platform.world.people, platform.world
    choosing = replace(options, programs=("poker", "chess"))
    async with aclosing(new_adapter(choosing)) as adapter, listening(adapter, platform):
        typing = people.suggest(world.ada, world.general, "CH")
        await platform.until(lambda: people.suggested(typing) is not None)
    assert people.suggested(typing) == ["chess"]


async def test_mention_is_answered_in_a_thread_that_begins_with_it(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    async with listening(adapter, platform) as inbound:
        asked = world.say(f"<@{world.bot}> what is the plan?")
        item = await anext(inbound)
        assert world.people.threads() == {}
        await send(adapter, "This one.", to=item.address)
        await send(adapter, "Yes.", to=item.address, speaker=GUEST, nonce="b.0")
        world.say("thanks", asked, world.bob)
        later = await anext(inbound)
    assert item.address == replace(general(platform), thread=asked)
    assert world.people.threads() == {asked: "what is the plan?"}
    assert [(each.author, each.text) for each in world.messages(asked)] == [("Host", "This one."), ("Guest", "Yes.")]
    assert world.people.members(asked) >= {world.bot, str(world.ada.id)}
    assert (later.address, later.addressed) == (item.address, True)


async def test_thread_of_a_mention_is_opened_also_after_a_restart(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    async with aclosing(new_adapter(options)) as adapter, listening(adapter, platform) as inbound:
        platform.world.say(f"<@{platform.world.bot}> hello")
        item = await anext(inbound)
    async with aclosing(new_adapter(options)) as adapter:
        await send(adapter, "hi", to=item.address)
    assert [each.text for each in platform.world.messages(item.message_id or "")] == ["hi"]


async def test_thread_that_was_opened_meanwhile_is_taken(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    async with listening(adapter, platform) as inbound:
        asked = world.say(f"<@{world.bot}> hello")
        item = await anext(inbound)
        world.backend.create_thread(int(world.general), "Theirs", world.ada.id, message_id=int(asked))
        await send(adapter, "hi", to=item.address)
    assert [each.text for each in world.messages(asked)] == ["hi"]


async def test_thread_that_is_gone_for_good_is_not_opened_anew(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    there = platform.world.thread("Plans", by_bot=True)
    platform.world.backend.delete_channel(int(there))
    with pytest.raises(NotDelivered, match="gone"):
        await send(adapter, "hi", to=replace(general(platform), thread=there))


async def test_typing_opens_the_thread_as_well(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    async with listening(adapter, platform) as inbound:
        asked = world.say(f"<@{world.bot}> hello")
        item = await anext(inbound)
        await adapter.typing(item.address, HOST)
    assert world.typing == [asked]


@pytest.mark.parametrize("how", ["setting", "permission"])
async def test_mention_is_answered_below_it_where_no_thread_is_wanted_or_allowed(
    options: DiscordOptions, platform: DiscordPlatform, how: str
) -> None:
    if how == "permission":
        platform.world.forbid("create_public_threads")
    wanted = replace(options, mention="reply") if how == "setting" else options
    async with aclosing(new_adapter(wanted)) as adapter, listening(adapter, platform) as inbound:
        platform.world.say(f"<@{platform.world.bot}> hello")
        item = await anext(inbound)
    assert (item.address, item.addressed) == (general(platform), True)


async def test_mention_in_a_post_of_a_forum_is_answered_there(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    async with listening(adapter, platform) as inbound:
        post = world.people.forum_post(world.guild.id, world.ada, "An idea", f"<@{world.bot}> what of this?")
        item = await anext(inbound)
        await send(adapter, "Good.", to=item.address)
    assert (item.address.thread, item.text) == (post, "what of this?")
    assert [(each.author, each.text) for each in world.messages(post)] == [("Host", "Good.")]
    assert platform.calls_of("open_thread") == []


async def test_conversations_of_two_threads_do_not_meet(adapter: DiscordAdapter, platform: DiscordPlatform) -> None:
    world = platform.world
    async with listening(adapter, platform) as inbound:
        for text in ("one", "two"):
            world.say(f"<@{world.bot}> {text}")
        items = [await anext(inbound) for _ in range(2)]
        async with anyio.create_task_group() as tasks:
            for item in items:

                async def answer(to: Address, text: str) -> None:
                    await send(adapter, f"to {text}", to=to, nonce=f"{text}.0")

                tasks.start_soon(answer, item.address, item.text)
    shown = [[each.text for each in world.messages(item.message_id or "")] for item in items]
    assert shown == [["to one"], ["to two"]]


async def test_notice_of_the_gateway_in_a_thread_is_the_bots_own(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    there = platform.world.thread("Plans", by_bot=True)
    await send(adapter, "a notice", to=replace(general(platform), thread=there), speaker=GATEWAY)
    assert [each.author for each in platform.world.messages(there)] == ["TestBot"]


# Strangers. `admits` knows Bob only.


async def _only_bob(event: Inbound) -> str | None:
    return None if event.person_name == "Bob" else f"not you: /{event.command}"


async def test_stranger_is_told_for_themselves_alone_and_opens_no_thread(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    world = platform.world
    async with (
        aclosing(new_adapter(replace(options, admits=_only_bob))) as adapter,
        listening(adapter, platform) as inbound,
    ):
        chosen = world.people.session(world.ada, world.general, "start", topic="free beer")
        within = world.people.session(world.ada, world.thread("Plans"), "stop")
        world.people.session(world.bob, world.general, "start", topic="work")
        item = await anext(inbound)
        await platform.until(lambda: None not in (world.receipt(chosen), world.receipt(within)))
    assert (item.person_name, item.text) == ("Bob", "work")
    assert (world.receipt(chosen), world.receipt(within)) == ("not you: /new", "not you: /stop")
    assert world.backend.interactions[int(chosen)].ephemeral
    assert "work" in world.people.threads().values()
    assert "free beer" not in world.people.threads().values()
    assert len(platform.calls_of("open_thread")) == 1


async def test_stranger_brings_nobody_in_and_sees_no_programs(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    world = platform.world
    there = world.thread("Plans", by_bot=True)
    choosing = replace(options, admits=_only_bob, programs=("poker", "chess"))
    async with aclosing(new_adapter(choosing)) as adapter, listening(adapter, platform):
        chosen = world.people.session(world.ada, there, "invite", person=str(world.bob.id))
        typing = world.people.suggest(world.ada, world.general, "c")
        await platform.until(lambda: bool(world.receipt(chosen)) and world.people.suggested(typing) is not None)
    assert world.receipt(chosen) == "not you: /invite"
    assert world.people.suggested(typing) == []
    assert platform.calls_of("add") == []


async def test_stranger_in_private_reaches_the_gateway_which_may_pair_them(
    options: DiscordOptions, platform: DiscordPlatform
) -> None:
    world = platform.world
    async with (
        aclosing(new_adapter(replace(options, admits=_only_bob))) as adapter,
        listening(adapter, platform) as inbound,
    ):
        world.people.session(world.ada, world.private(), "start")
        assert (await anext(inbound)).private


# What Discord refuses.


@pytest.mark.parametrize("code", [40060, 10062], ids=["answered before", "too late"])
async def test_command_whose_receipt_is_refused_is_taken_all_the_same(
    adapter: DiscordAdapter, platform: DiscordPlatform, code: int
) -> None:
    world = platform.world
    there = world.thread("Plans", by_bot=True)
    platform.fail("respond", "refuse", status=400 if code == 40060 else 404, code=code)
    async with listening(adapter, platform) as inbound:
        world.people.session(world.ada, there, "who")
        assert (await anext(inbound)).command == "who"
        world.people.session(world.ada, there, "stop")
        assert (await anext(inbound)).command == "stop"
        world.say("after that", world.private())
        await anext(inbound)
        await platform.until(lambda: len(platform.calls_of("respond")) == 2)
    assert len(platform.calls_of("complete")) == 0


async def test_press_that_is_acknowledged_too_late_still_counts(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    message = await send(adapter, "May I?", to=private(platform))
    yes = [Choice("q1.yes", "Yes")]
    await adapter.offer(private(platform), message, "May I?", yes, speaker=HOST, nonce="page.0")
    platform.fail("respond", "refuse", status=404, code=10062)
    async with listening(adapter, platform) as inbound:
        world.people.press(world.ada, world.private(), message, "Yes")
        assert (await anext(inbound)).choice == "q1.yes"


async def test_session_where_there_are_too_many_threads_says_so(
    adapter: DiscordAdapter, platform: DiscordPlatform
) -> None:
    world = platform.world
    platform.fail("open_thread", "refuse", status=400, code=160006)
    async with listening(adapter, platform) as inbound:
        chosen = world.people.session(world.ada, world.general, "start")
        world.say("after that", world.private())
        assert (await anext(inbound)).text == "after that"
        await platform.until(lambda: bool(world.receipt(chosen)))
    assert "The server has as many threads as it may have" in (world.receipt(chosen) or "")
