"""How much a person and a conversation may use. Limits of single people, in place of what the settings have for
everybody.
"""

from collections.abc import Sequence
from typing import Any

import anyio
from msgspec.structs import replace

from gateway.access.people import Role
from gateway.inbound.usage_limits import TOLD_EVERY_S, PersonLimits, UsageLimits
from gateway.settings.operation import LimitSettings
from runtime.core.address import Address
from runtime.core.texts import english
from runtime.events.frames import LLMAnswered
from runtime.stores.orders import ModelSpending
from tests.fakes.clock import FakeClock
from tests.fakes.memory.counters import MemoryCounters
from tests.fakes.observing.records import MemoryRecords
from tests.unit.gateway.inbound.arrivals import Door, event, opened, people


async def door(clock: FakeClock, **limits: float) -> Door:
    store = people(clock, _1=Role.OWNER)
    return Door(await opened("open", store, clock), store=store, limits=limits, clock=clock)


def answer(conversation: str = "test:1", **data: Any) -> LLMAnswered:
    told: dict[str, Any] = {
        "tokens_in": 0,
        "tokens_out": 0,
        "tokens_cached": 0,
        "cost_usd": 0.0,
        "participant_id": None,
    }
    at = ("s", "1000.0", "1000", "Main", "scripted", "execute", "well", 1.0, None)
    return LLMAnswered(*at, conversation=conversation, **(told | data))


async def test_messages_over_the_limit_of_a_minute_are_not_taken_and_people_are_told_once() -> None:
    clock = FakeClock()
    at = await door(clock, person_messages_per_minute=2)
    await at.take(*[event(f"m{n}", message_id=f"p{n}") for n in range(5)])
    assert [text for _, text, _ in at.kept] == ["m0", "m1"]
    assert at.said == ["You may send 2 messages a minute, so I did not accept this one. Try again in 60 seconds."]
    assert at.marks == [("p2", "failed"), ("p3", "failed"), ("p4", "failed")]
    await at.take(event("from somebody else", person="7"))
    await clock.advance(60)
    await at.take(event("later"))
    assert [text for _, text, _ in at.kept][2:] == ["from somebody else", "later"]


async def test_a_conversation_has_a_limit_of_its_own() -> None:
    at = await door(FakeClock(), conversation_messages_per_minute=1)
    await at.take(event("a"), event("b", person="7"), event("c", chat="2"))
    assert [text for _, text, _ in at.kept] == ["a", "c"]
    assert at.said == [
        "This conversation may have 1 messages a minute, so I did not accept this one. Try again in 60 seconds."
    ]


async def test_somebody_over_the_limit_of_a_day_is_told_again_every_hour_until_midnight() -> None:
    clock = FakeClock()
    at = await door(clock, person_messages_per_day=1)
    await at.take(event("a"), event("b"), event("c"))
    assert at.said == [
        "You may send 1 messages a day, so I did not accept this one. Try again in 24 hours, at 00:00 UTC."
    ]
    await clock.advance(TOLD_EVERY_S)
    await at.take(event("d"))
    assert at.said[1].endswith("Try again in 23 hours, at 00:00 UTC.")
    await clock.advance(23 * 3600)
    await at.take(event("e"))
    assert [text for _, text, _ in at.kept] == ["a", "e"]


async def test_an_event_that_comes_again_is_counted_once() -> None:
    at = await door(FakeClock(), person_messages_per_minute=2)
    await at.take(event("a"), event("a"), event("b"))
    assert [text for _, text, _ in at.kept] == ["a", "a", "b"]


async def test_what_was_taken_is_not_refused_when_it_comes_again_at_the_limit() -> None:
    at = await door(FakeClock(), person_messages_per_minute=1)
    await at.take(event("a"), event("a"))
    assert [text for _, text, _ in at.kept] == ["a", "a"]
    assert (at.said, at.marks) == ([], [])
    await at.take(event("b"), event("b"))
    assert len(at.kept) == 2


async def test_one_id_in_several_conversations_is_counted_in_each() -> None:
    at = await door(FakeClock(), person_messages_per_minute=2)
    await at.take(*[event("a", chat=str(chat), id="same") for chat in range(4)])
    assert len(at.kept) == 2


async def test_messages_that_arrive_at_several_nodes_at_once_do_not_pass_the_limit_together() -> None:
    clock = FakeClock()
    counters = MemoryCounters(clock)
    nodes = [await door(clock, person_messages_per_minute=2) for _ in range(5)]
    all_read = anyio.Event()
    waiting = 0

    class Slow(MemoryCounters):
        async def read(self, names: Sequence[str], /) -> Sequence[float]:
            nonlocal waiting
            found = await counters.read(names)
            waiting += 1
            if waiting == len(nodes):
                all_read.set()
            await all_read.wait()
            return found

        async def add(self, name: str, amount: float, /, *, once: str, ttl_s: int) -> float:
            return await counters.add(name, amount, once=once, ttl_s=ttl_s)

    async with anyio.create_task_group() as tasks:
        for number, node in enumerate(nodes):
            node.limits.counters = Slow(clock)
            tasks.start_soon(node.take, event(f"m{number}"))
    assert sum(len(node.kept) for node in nodes) == 2


async def test_what_is_refused_does_not_use_up_the_day() -> None:
    clock = FakeClock()
    at = await door(clock, person_messages_per_minute=1, person_messages_per_day=2)
    await at.take(*[event(f"m{n}") for n in range(5)])
    await clock.advance(60)
    await at.take(event("later"))
    assert [text for _, text, _ in at.kept] == ["m0", "later"]


async def test_edits_count_and_stopping_and_reacting_do_not() -> None:
    at = await door(FakeClock(), person_messages_per_minute=1)
    await at.take(event("a"), event("b", act="edit"), event("", command="stop"), event("👍", act="reaction"))
    assert [kind for kind, *_ in at.kept] == ["message", "stop", "reaction"]
    await at.take(event("", command="new"))
    assert len(at.kept) == 3


async def test_owners_have_no_limit() -> None:
    at = await door(FakeClock(), person_messages_per_minute=1, conversation_messages_per_day=1)
    await at.take(*[event(f"m{n}", person="1") for n in range(3)])
    assert len(at.kept) == 3


async def test_spending_is_counted_for_the_conversation_and_who_is_named_or_spoke_last() -> None:
    clock = FakeClock()
    at = await door(clock, person_usd_per_day=1, conversation_tokens_per_day=100)
    await at.take(event("a"))
    await at.limits.spend(answer(cost_usd=0.6, tokens_in=10, tokens_out=20))
    await at.limits.spend(answer(cost_usd=0.6, participant_id="test:7"))
    await at.take(event("b"))
    await at.limits.spend(answer(cost_usd=0.6))
    await at.take(event("c"), event("c elsewhere", chat="2"), event("d", person="7"))
    assert [text for _, text, _ in at.kept] == ["a", "b", "d"]
    assert at.said[0].startswith("You have used up what you may spend in a day. Try again in 24 hours")
    await at.limits.spend(answer(tokens_in=70))
    await at.take(event("e", person="8"))
    assert at.said[2].startswith("This conversation has used up what it may spend in a day")
    await clock.advance(24 * 3600)
    await at.take(event("f"))
    assert at.kept[-1][1] == "f"


async def test_what_a_task_spends_is_counted_by_the_task_that_all_came_of() -> None:
    at = await door(FakeClock())
    await at.limits.spend(answer(tokens_in=10, tokens_out=5, cost_usd=0.5, task="t"))
    await at.limits.spend(answer(tokens_in=1, task="t"))
    await at.limits.spend(answer(tokens_in=7))
    assert await at.limits.spent("t") == ModelSpending(16, 0.5)
    assert await at.limits.spent("u") == ModelSpending(0, 0)


async def test_a_model_is_not_called_any_more_once_the_money_is_spent_except_for_owners() -> None:
    at = await door(FakeClock(), person_tokens_per_day=10, conversation_usd_per_day=1, person_messages_per_day=1)
    here, elsewhere = Address("test", "1"), Address("test", "2")
    assert await at.limits.allowance(here, "test:42") is None
    await at.limits.spend(answer(tokens_in=10, cost_usd=0.5, participant_id="test:42"))
    why = await at.limits.allowance(elsewhere, "test:42")
    assert why == "You have used up what you may spend in a day. Try again in 24 hours, at 00:00 UTC."
    assert await at.limits.allowance(here, "test:7") is None
    assert await at.limits.allowance(here, None) is None
    await at.limits.spend(answer(cost_usd=0.5))
    why = await at.limits.allowance(here, None)
    assert why == "This conversation has used up what it may spend in a day. Try again in 24 hours, at 00:00 UTC."
    assert await at.limits.allowance(here, "test:1") is None


async def test_answers_of_models_are_heard_on_the_bus() -> None:
    at = await door(FakeClock(), conversation_tokens_per_day=100)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(at.limits.follow, at.bus)
        await anyio.wait_all_tasks_blocked()
        at.bus.publish(answer(tokens_in=99, tokens_out=1))
        at.bus.publish(answer("test:9", tokens_in=5, tokens_out=5))
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    await at.take(event("a"), event("b", chat="2"))
    assert [text for _, text, _ in at.kept] == ["b"]


async def nobody(_person: str) -> bool:
    return False


def limits(**settings: Any) -> tuple[UsageLimits, PersonLimits]:
    clock, own = FakeClock(), PersonLimits(MemoryRecords())
    return UsageLimits(LimitSettings(**settings), MemoryCounters(clock), nobody, english(), clock, own), own


async def test_a_limit_of_ones_own_counts_from_the_next_message_and_for_nobody_else() -> None:
    found, own = limits()
    ada, bob = event("a", person="1"), event("b", person="2")
    assert await found.take(ada, Role.MEMBER) is None
    await own.set(ada.person_id, {"messages_per_day": 1})
    assert await found.take(replace(ada, event_id="2"), Role.MEMBER) is None
    assert await found.take(replace(ada, event_id="3"), Role.MEMBER) is not None
    assert await found.take(replace(bob, event_id="4"), Role.MEMBER) is None
    await own.set(ada.person_id, {})
    assert await found.take(replace(ada, event_id="5"), Role.MEMBER) is None


async def test_it_stands_in_the_place_of_the_settings_and_zero_lifts_theirs() -> None:
    found, own = limits(person_messages_per_day=1, conversation_messages_per_day=3)
    ada = event("a", person="1")
    await own.set(ada.person_id, {"messages_per_day": 0})
    taken = [await found.take(replace(ada, event_id=str(number)), Role.MEMBER) for number in range(4)]
    assert [over is None for over in taken] == [True, True, True, False]  # the conversation's stays


async def test_spending_of_a_person_ends_at_the_limit_of_their_own() -> None:
    found, own = limits()
    ada = event("a", person="1")
    await own.set(ada.person_id, {"usd_per_day": 0.5})
    assert await found.allowance(ada.address, ada.person_id) is None
    await found.spend(answer(cost_usd=0.5, participant_id=ada.person_id))
    assert "may spend in a day" in str(await found.allowance(ada.address, ada.person_id))
    assert await found.allowance(ada.address, "test:2") is None
