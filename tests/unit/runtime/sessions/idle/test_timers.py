"""A session that waits for a time leaves memory, and comes back when the time has come: once, whatever dies."""

import random
from datetime import timedelta
from unittest.mock import AsyncMock, patch

import pytest

from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import TIMER
from runtime.tape.journal import Journal
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.memory.timers import MemoryTimers
from tests.fakes.people.talk import Model, talking
from tests.fakes.sleepers import SHARD, Sleepers
from tests.unit.runtime.sessions.programs import MAIN, agent, program

HOUR_S = 3600.0


def sleeper(code: str) -> Program:
    """An agent that begins with `code`."""
    body = "".join(f"    {line}\n" for line in code.strip().splitlines())
    return program(agent("Main", MAIN, code=f"async def Main():\n{body}"))


NAP = sleeper("""
await Say("user", "good night")
await Sleep(7200)
await Say("user", "good morning")
await WaitForMessage("user")
""")

PATIENCE = sleeper("""
answer = await WaitForMessage("user", 7200)
await Say("user", "nobody came" if answer is None else f"you said {answer[0]['text']}")
await WaitForMessage("user")
""")


@pytest.mark.parametrize(("seconds", "shown"), [(20, True), (7200, False)])
async def test_people_see_an_agent_at_work_in_a_short_sleep_and_not_in_a_long_one(seconds: int, shown: bool) -> None:
    world = World(())
    world.clock = FakeClock()  # type: ignore[assignment]
    async with talking(sleeper(f"await Sleep({seconds})"), Model(), world=world) as talk:
        talk.post("go")
        await talk.until(lambda: any(fact.kind == "wait" for fact in world.facts))
        await talk.settled()
        await world.clock.advance(1)  # type: ignore[attr-defined]
        assert (True in world.works[-1:]) is shown


async def asleep(sleepers: Sleepers) -> None:
    """Begin, until the session has left memory."""
    await sleepers.post("1", "start")
    await sleepers.live(lambda: sleepers.asleep)


async def test_a_session_that_sleeps_leaves_memory_and_a_restart_does_not_load_it(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(NAP, sandbox)
    await asleep(sleepers)
    assert await sleepers.store.unfinished(SHARD) == {}
    assert await sleepers.timers.first(SHARD) == sleepers.clock.now().timestamp() + 2 * HOUR_S
    sleepers.events.clear()
    await sleepers.clock.advance(HOUR_S)
    await sleepers.live(lambda: True)
    assert "session.restored" not in sleepers.events


async def test_its_timer_brings_it_back_once(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(NAP, sandbox)
    await asleep(sleepers)
    assert await sleepers.live(lambda: "good morning" in sleepers.chat, pass_s=600)
    assert await sleepers.timers.first(SHARD) is None
    await sleepers.live(lambda: True)
    assert sleepers.chat == ["good night", "good morning"]


async def test_a_time_that_passed_while_everything_was_down_comes_at_the_start(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(NAP, sandbox)
    await asleep(sleepers)
    await sleepers.clock.advance(24 * HOUR_S)
    assert await sleepers.live(lambda: "good morning" in sleepers.chat)


async def test_an_answer_in_time_is_taken_and_the_timer_does_nothing_more(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(PATIENCE, sandbox)
    await asleep(sleepers)
    await sleepers.clock.advance(HOUR_S)
    await sleepers.post("2", "here I am")
    assert await sleepers.live(lambda: len(sleepers.chat) == 1)
    assert await sleepers.timers.first(SHARD) is None
    await sleepers.clock.advance(2 * HOUR_S)
    await sleepers.live(lambda: True)
    assert sleepers.chat == ["you said here I am"]


async def test_a_message_to_a_sleeper_waits_and_lets_it_sleep_on_out_of_memory(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(NAP, sandbox)
    await asleep(sleepers)
    await sleepers.post("2", "wake up!")
    sleepers.events.clear()
    assert await sleepers.live(lambda: {"message.received", "session.rested"} <= set(sleepers.events))
    assert sleepers.asleep
    assert await sleepers.live(lambda: "good morning" in sleepers.chat, pass_s=600)
    assert sleepers.chat == ["good night", "good morning"]


async def test_a_session_that_nobody_spoke_with_leaves_memory_soon(sandbox: MontySandbox) -> None:
    naps = sleeper("""
await Say("user", "good night")
for _ in range(2):
    await Sleep(7200)
await WaitForMessage("user")
""")
    sleepers = Sleepers(naps, sandbox)
    await asleep(sleepers)
    sleepers.idle_s = 900.0
    await sleepers.clock.advance(2 * HOUR_S)
    sleepers.events.clear()
    with patch("runtime.sessions.rest.UNATTENDED_IDLE_S", 0.0):
        assert await sleepers.live(lambda: {"session.restored", "session.rested"} <= set(sleepers.events))
    assert await sleepers.timers.first(SHARD) == sleepers.clock.now().timestamp() + 2 * HOUR_S


@pytest.mark.parametrize("steps", range(1, 14))
async def test_a_time_that_comes_while_the_session_leaves_memory_is_noticed(sandbox: MontySandbox, steps: int) -> None:
    blink = sleeper("""
await Sleep(20)
await Say("user", "good morning")
await WaitForMessage("user")
""")
    sleepers = Sleepers(blink, sandbox)
    resting = Journal.rest
    left = 0

    async def late(journal: Journal) -> None:
        nonlocal left
        left += 1
        await resting(journal)
        if left == 1:
            with patch("tests.fakes.clock._SETTLE_ROUNDS", steps):
                await sleepers.clock.advance(20)

    await sleepers.post("1", "start")
    with patch.object(Journal, "rest", late):
        assert await sleepers.live(lambda: "good morning" in sleepers.chat and not sleepers.asleep)
    await sleepers.live(lambda: True)
    assert sleepers.chat == ["good morning"]
    assert not sleepers.asleep


async def test_a_timer_that_cannot_be_set_keeps_the_session_in_memory(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(NAP, sandbox)
    await sleepers.post("1", "start")
    with patch.object(MemoryTimers, "set", AsyncMock(return_value=False)) as refusing:
        assert await sleepers.live(lambda: refusing.await_count >= 2)
    assert await sleepers.store.unfinished(SHARD)
    assert await sleepers.live(lambda: "good morning" in sleepers.chat, pass_s=600)


async def test_nobody_in_time_is_noticed_once(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(PATIENCE, sandbox)
    await asleep(sleepers)
    assert await sleepers.live(lambda: bool(sleepers.chat), pass_s=600)
    assert sleepers.chat == ["nobody came"]


async def test_a_timer_that_rings_too_early_is_set_again(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(NAP, sandbox)
    await asleep(sleepers)
    due_s = await sleepers.timers.first(SHARD)
    event = InboxEvent("early", ADDRESS, "", "", "", sleepers.clock.now(), kind=TIMER)
    await sleepers.inbox.add(event)
    sleepers.events.clear()
    assert await sleepers.live(lambda: "session.restored" in sleepers.events and sleepers.asleep)
    assert await sleepers.timers.first(SHARD) == due_s
    assert sleepers.chat == ["good night"]
    assert await sleepers.live(lambda: "good morning" in sleepers.chat, pass_s=600)


async def test_a_full_inbox_makes_a_timer_ring_later(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(NAP, sandbox)
    await asleep(sleepers)
    await sleepers.clock.advance(2 * HOUR_S)
    sleepers.inbox.bound = 0
    await sleepers.live(lambda: True)
    assert sleepers.asleep
    assert not await sleepers.inbox.read({SHARD: "0"}, wait_s=0)
    sleepers.inbox.bound = 10
    assert await sleepers.live(lambda: "good morning" in sleepers.chat, pass_s=1)


async def test_a_clock_that_is_set_back_makes_nobody_wake_twice(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(NAP, sandbox)
    await asleep(sleepers)
    ahead = FakeClock(sleepers.clock.now() + timedelta(hours=3))
    assert await sleepers.live(lambda: "good morning" in sleepers.chat, node_clock=ahead)
    assert await sleepers.live(lambda: not sleepers.asleep, pass_s=HOUR_S)
    assert sleepers.chat == ["good night", "good morning"]


async def test_a_timer_of_a_session_that_is_gone_does_nothing(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(NAP, sandbox)
    await asleep(sleepers)
    await sleepers.post("2", "", kind="new")
    assert await sleepers.live(lambda: sleepers.chat.count("good night") == 2)
    await sleepers.clock.advance(24 * HOUR_S)
    assert await sleepers.live(lambda: "good morning" in sleepers.chat)
    assert sleepers.chat.count("good morning") == 1
    assert sleepers.inbox.dead == []


@pytest.mark.parametrize("shape", [NAP, PATIENCE], ids=["sleep", "patience"])
async def test_whatever_moment_the_process_dies_at_the_time_comes_once(sandbox: MontySandbox, shape: Program) -> None:
    last = "good morning" if shape is NAP else "nobody came"
    point, deaths = 0, 0
    while point <= deaths:
        point += 1
        sleepers = Sleepers(shape, sandbox, World((), crashes=[point]))
        await _to_the_end(sleepers, last)
        deaths += sleepers.world.deaths
        assert sleepers.chat.count(last) == 1, f"killed at point {point}: {sleepers.chat}"
        assert sleepers.inbox.dead == []
    assert deaths > 20


@pytest.mark.parametrize("seed", range(12))
async def test_however_often_the_process_dies_the_time_comes_once(sandbox: MontySandbox, seed: int) -> None:
    crashes = random.Random(seed).sample(range(1, 60), 15)
    sleepers = Sleepers(PATIENCE, sandbox, World((), crashes=crashes))
    await _to_the_end(sleepers, "nobody came")
    assert sleepers.world.deaths >= 2, f"seed {seed} kills too few"
    assert sleepers.chat.count("nobody came") == 1, f"seed {seed}: {sleepers.chat}"


async def _to_the_end(sleepers: Sleepers, last: str) -> None:
    """One process after the other, until the last thing was said and nothing goes on."""
    await sleepers.post("1", "start")
    while not await sleepers.live(lambda: last in sleepers.chat, pass_s=600):
        pass
    while not await sleepers.live(lambda: True):
        pass
