"""Task cards on Slack: what agents do for long, one card for each of them."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial

import anyio
import pytest
from msgspec.structs import replace

from adapters.slack.adapter import SlackAdapter, SlackOptions
from adapters.slack.outbound.plans import MAX_TASKS
from runtime.core.address import Address, Speaker
from runtime.core.errors import MessageGone, NotDelivered, OutcomeUncertain
from tests.contract.slack.speaking import HOST, new_adapter, thread
from tests.fakes.slack.platform import SlackPlatform

pytestmark = pytest.mark.anyio

CRITIC = Speaker("2", "Critic")


async def test_long_work_of_two_agents_is_two_cards_under_their_names_that_change_and_go(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    to = thread(platform.mention("hello"))
    critic = Speaker("2", "Critic")
    first = await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    await adapter.show_task(to, "looks for faults", speaker=critic, nonce="n2")
    assert await adapter.show_task(to, "counts words", speaker=HOST, nonce="n1", card=first) == first
    cards = [(posted.username, [block["title"] for block in posted.blocks]) for posted in platform.messages()]
    assert cards == [("Host", ["counts words"]), ("Critic", ["looks for faults"])]
    assert {posted.thread_ts for posted in platform.messages()} == {to.thread}
    await adapter.delete(to, first, speaker=HOST)
    assert len(platform.messages()) == 1


async def test_a_card_whose_posting_was_unclear_is_there_once(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    to = thread(platform.mention("hello"))
    platform.fail("chat.postMessage", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    assert len(platform.messages()) == 1


async def test_a_workspace_that_refuses_cards_is_asked_once(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    platform.conversations.unknown_blocks.add("task_card")
    to = thread(platform.mention("hello"))
    for nonce in ("n1", "n2"):
        with pytest.raises(NotDelivered):
            await adapter.show_task(to, "reads the file", speaker=HOST, nonce=nonce)
    assert len(platform.calls_of("chat.postMessage")) == 1


async def test_there_is_no_card_beside_an_open_stream_which_shows_the_task_itself(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    to = thread(platform.mention("hello"))
    async with adapter.connect() as inbound:
        await anext(inbound)
    await adapter.open_stream(to, "So far", speaker=HOST, nonce="s")
    with pytest.raises(NotDelivered):
        await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    await adapter.show_task(to, "looks for faults", speaker=Speaker("2", "Critic"), nonce="n2")
    assert len(platform.calls_of("chat.postMessage")) == 1


async def opened(adapter: SlackAdapter, platform: SlackPlatform) -> Address:
    """A thread that we opened, as for a meeting."""
    at = thread(platform.mention("hello"))
    place = await adapter.open_thread(replace(at, thread=None), "Review of the report", nonce="place")
    assert place is not None
    return place


def plan_of(platform: SlackPlatform) -> tuple[str, list[tuple[str, str]]]:
    """The title and the tasks of the only plan there is."""
    (block,) = [block for posted in platform.messages() for block in posted.blocks if block["type"] == "plan"]
    return block["title"], [(task["title"], task["status"]) for task in block["tasks"]]


async def test_in_a_thread_that_we_opened_the_work_of_all_is_one_plan_that_goes_with_the_last_of_them(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    to = await opened(adapter, platform)
    first = await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    second = await adapter.show_task(to, "looks for faults", speaker=CRITIC, nonce="n2")
    assert await adapter.show_task(to, "counts words", speaker=HOST, nonce="n1", card=first) == first
    assert plan_of(platform) == (
        "Review of the report",
        [("Host: counts words", "in_progress"), ("Critic: looks for faults", "in_progress")],
    )
    before = len(platform.messages())
    await adapter.delete(to, first, speaker=HOST)
    assert plan_of(platform)[1] == [("Host: counts words", "complete"), ("Critic: looks for faults", "in_progress")]
    await adapter.delete(to, second, speaker=CRITIC)
    assert len(platform.messages()) == before - 1
    await adapter.show_task(to, "writes it up", speaker=HOST, nonce="n3")
    assert [status for _, status in plan_of(platform)[1]] == ["complete", "complete", "in_progress"]


async def test_two_who_begin_at_once_share_one_plan(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    to = await opened(adapter, platform)
    async with anyio.create_task_group() as tasks:
        for speaker in (HOST, CRITIC):
            tasks.start_soon(partial(adapter.show_task, to, "reads", speaker=speaker, nonce=f"n{speaker.id}"))
    assert len(plan_of(platform)[1]) == 2


async def test_a_plan_holds_the_latest_tasks_of_a_long_meeting(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    to = await opened(adapter, platform)
    for number in range(MAX_TASKS + 5):
        card = await adapter.show_task(to, f"turn {number}", speaker=HOST, nonce=f"n{number}")
        await adapter.delete(to, card, speaker=HOST)
    await adapter.show_task(to, "the last", speaker=CRITIC, nonce="last")
    shown = plan_of(platform)[1]
    assert len(shown) == MAX_TASKS
    assert shown[-1] == ("Critic: the last", "in_progress")


async def test_a_plan_whose_posting_was_unclear_is_there_once(adapter: SlackAdapter, platform: SlackPlatform) -> None:
    to = await opened(adapter, platform)
    platform.fail("chat.postMessage", "bad_gateway", applied=True)
    with pytest.raises(OutcomeUncertain):
        await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    assert plan_of(platform)[1] == [("Host: reads the file", "in_progress")]


async def test_a_plan_that_somebody_deleted_is_posted_again_with_the_next_task(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    to = await opened(adapter, platform)
    first = await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    platform.remove(first.partition("#")[0])
    with pytest.raises(MessageGone):
        await adapter.show_task(to, "counts words", speaker=HOST, nonce="n1", card=first)
    await adapter.show_task(to, "looks for faults", speaker=CRITIC, nonce="n2")
    assert len(plan_of(platform)[1]) == 2


async def test_a_workspace_without_plans_shows_cards_and_is_asked_once(
    adapter: SlackAdapter, platform: SlackPlatform
) -> None:
    platform.conversations.unknown_blocks.add("plan")
    to = await opened(adapter, platform)
    asked = len(platform.calls_of("chat.postMessage"))
    for number, speaker in enumerate((HOST, CRITIC)):
        await adapter.show_task(to, "reads the file", speaker=speaker, nonce=f"n{number}")
    cards = [block["type"] for posted in platform.messages() for block in posted.blocks]
    assert cards.count("task_card") == 2
    assert len(platform.calls_of("chat.postMessage")) == asked + 3


async def test_another_process_takes_a_plan_away_that_a_crash_left(
    adapter: SlackAdapter, platform: SlackPlatform, options: SlackOptions
) -> None:
    to = await opened(adapter, platform)
    before = len(platform.messages())
    first = await adapter.show_task(to, "reads the file", speaker=HOST, nonce="n1")
    second = await adapter.show_task(to, "looks for faults", speaker=CRITIC, nonce="n2")
    async with aclosing(new_adapter(options)) as another:
        for card in (first, second):
            await another.delete(to, card, speaker=HOST)
    assert len(platform.messages()) == before
