"""Schedules made with /schedule: each text comes once at its time, whatever dies meanwhile."""

from datetime import UTC, datetime
from typing import Self

import anyio
import pytest
from msgspec.structs import replace

from gateway.features.schedules.node import ScheduleAnswers
from gateway.features.schedules.schedules import Runs, Schedules
from gateway.features.schedules.settings import ScheduleSettings
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import LeaseLost
from runtime.core.texts import english
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import NOTICE, InboxEvent, shard_of
from runtime.stores.sessions import Lease, LeaseHolder
from tests.fakes.clock import FakeClock
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.memory.schedule_runs import MemoryRuns
from tests.fakes.memory.schedules import MemorySchedules
from tests.fakes.sleepers import Sleepers
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

DAY_S = 86_400.0
SHARD = shard_of(ADDRESS.key)


def echo(*, trigger: str | None = None) -> Program:
    """Says what it is told, and by whom; with a time trigger also what time it is then."""
    code = """
async def Main():
    await Say("user", "begun: " + (variables.get("startup_message") or "-"))
    await Listen()

async def Listen():
    for message in await WaitForMessage("user"):
        await Say("user", message["name"] + ": " + message["text"])
    return Again()

async def Clock():
    await Say("user", "it is " + str(await Now()))
"""
    timed = (python("Clock", trigger=trigger),) if trigger else ()
    return program(agent("Echo", MAIN, python("Listen"), *timed, code=code))


async def as_it_is(message: InboxEvent) -> InboxEvent:
    return message


class Desk:
    """A node's schedules on stores in memory, and the commands that people give it."""

    def __init__(self, start: str, **limits: object) -> None:
        self.clock = FakeClock(datetime.fromisoformat(start).replace(tzinfo=UTC))
        self.leases = MemoryLeaseStore(self.clock)
        self.inbox = MemoryInbox(self.leases)
        self.store = MemorySchedules(self.leases)
        self.limits = ScheduleSettings(**limits)
        self.runs = MemoryRuns()
        self.schedules = self.node()
        self.lease = Lease(SHARD, 0)
        self._count = 0

    def node(self, clock: Clock | None = None) -> Schedules:
        runs = Runs(self.runs, clock or self.clock)
        return Schedules(self.store, self.inbox, clock or self.clock, self.limits, as_it_is, runs)

    @classmethod
    async def opened(cls, start: str = "2026-11-23T12:00", **limits: object) -> Self:
        """A desk whose node has the shard."""
        made = cls(start, **limits)
        token = await made.leases.acquire(f"shard:{SHARD}", LeaseHolder("a", ttl_s=1e9))
        assert token is not None
        made.lease = Lease(SHARD, token)
        await made.schedules.watch(made.lease)
        return made

    async def says(self, text: str, *, name: str = "Ada") -> str:
        self._count += 1
        event = InboxEvent(str(self._count), ADDRESS, f"test:{name}", name, text, self.clock.now(), program="test")
        return await self.take(event)

    async def take(self, event: InboxEvent) -> str:
        said, alone = await ScheduleAnswers(self.schedules).answer(event, english())
        changes = (
            "schedules.added",
            "schedules.removed",
            "schedules.paused",
            "schedules.resumed",
            "schedules.zone_set",
        )
        done = any(said.startswith(english()._texts[key].partition("{")[0]) for key in changes)
        assert alone != done, "all read what was done, and only who wanted it that nothing was"
        return said

    async def come(self) -> list[tuple[str, str, str]]:
        """What has come into the conversation: when it was due, of whom, and what."""
        entries = await self.inbox.read({SHARD: "0"}, wait_s=0)
        return [(one.event.sent_at.strftime("%m-%d %H:%M"), one.event.person_name, one.event.text) for one in entries]

    async def passes(self, seconds: float, *nodes: Schedules) -> list[tuple[str, str, str]]:
        async with anyio.create_task_group() as tasks:
            for node in nodes or (self.schedules,):
                tasks.start_soon(node.run)
            await self.clock.advance(seconds)
            tasks.cancel_scope.cancel()
        return await self.come()


async def test_a_schedule_is_made_listed_and_removed() -> None:
    desk = await Desk.opened(timezone="Europe/Berlin")
    assert await desk.says("every weekday at 9 ask everybody what they are at") == (
        "🗓 Schedule 1: every weekday at 9. Next: 2026-11-24 09:00 (Europe/Berlin). /schedule remove 1 ends it."
    )
    await desk.says("in 20 minutes look at the cake", name="Bob")
    listed = (
        "Scheduled here, in the time zone Europe/Berlin:\n"
        "- 1: every weekday at 9 · next 2026-11-24 09:00 · “ask everybody what they are at” · Ada\n"
        "- 2: in 20 minutes · next 2026-11-23 13:20 · “look at the cake” · Bob"
    )
    assert await desk.says("list") == await desk.says("") == listed
    assert await desk.says("remove 1") == "Schedule 1 has ended."
    assert await desk.says("remove 1") == "There is no schedule 1 here. /schedule list shows them."
    assert await desk.passes(DAY_S) == [("11-23 12:20", "Bob", "look at the cake")]
    assert (await desk.says("list")).startswith("Nothing is scheduled here.")


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("someday ask how it goes", "I cannot find a time in “someday ask how it goes”. Write /schedule"),
        ("every day at 9", "I understand the time, every day at 9, but not what to say then."),
        ("today at 9 say hello", "today at 9 has passed: it is 2026-11-23 12:00 now (UTC)."),
        ("every 5 seconds ring", "A schedule can come once a minute at most."),
        ("every second ring", "A schedule can come once a minute at most."),
        ("remove", "Say which schedule by its number: /schedule remove 1."),
        ("remove all", "Say which schedule by its number"),
        ("remove " + "9" * 30, "Say which schedule by its number"),
        ("pause", "Say which schedule by its number: /schedule pause 1."),
        ("Resume it", "Say which schedule by its number: /schedule resume 1."),
        ("pause 1", "There is no schedule 1 here."),
        ("zone Berlin", "I know no time zone “Berlin”. Write a name such as Europe/Berlin"),
        ("zone", "Times here are in the time zone UTC, where it is 2026-11-23 12:00 now."),
        ("list", "Nothing is scheduled here."),
    ],
)
async def test_what_is_not_understood_is_answered_with_what_would_be(text: str, begins: str) -> None:
    desk = await Desk.opened()
    assert (await desk.says(text)).startswith(begins)
    assert await desk.store.all(ADDRESS) == []


async def test_the_forms_in_the_answers_are_understood() -> None:
    desk = await Desk.opened()
    forms = [line.removeprefix("- /schedule ") for line in (await desk.says("?")).splitlines() if line[0] == "-"]
    assert len(forms) > 4
    for form in forms:
        assert (await desk.says(form.replace(" (five fields of crontab)", ""))).startswith("🗓 Schedule")


def test_the_answers_name_the_command_as_the_platform_writes_it() -> None:
    marked = english().marked("!")
    assert "!schedule in 20 minutes" in marked("schedules.usage", said="x")
    assert not [key for key in english() if key.startswith("schedules.") and "/schedule" in marked._texts[key]]


async def test_a_lost_shard_leaves_the_command_to_the_next_node() -> None:
    desk = await Desk.opened()
    desk.schedules.forget(SHARD)
    with pytest.raises(LeaseLost):
        await desk.says("every hour x")
    assert await desk.store.all(ADDRESS) == []


async def test_more_than_the_bound_are_not_kept() -> None:
    desk = await Desk.opened(per_conversation=2)
    for _ in range(2):
        await desk.says("every hour x")
    assert (await desk.says("every hour x")).startswith("There are 2 schedules here, and I keep no more.")


async def test_each_time_comes_once_and_a_single_one_never_again() -> None:
    desk = await Desk.opened()
    await desk.says("every 20 minutes look")
    await desk.says("at 13:05 rise", name="Bob")
    assert await desk.passes(5000) == [
        ("11-23 12:20", "Ada", "look"),
        ("11-23 12:40", "Ada", "look"),
        ("11-23 13:00", "Ada", "look"),
        ("11-23 13:05", "Bob", "rise"),
        ("11-23 13:20", "Ada", "look"),
    ]


async def test_a_command_that_is_carried_out_again_makes_no_second_schedule() -> None:
    desk = await Desk.opened()
    asked = InboxEvent("e", ADDRESS, "test:Ada", "Ada", "in 20 minutes x", desk.clock.now(), program="test")
    assert await desk.take(asked) == await desk.take(asked)
    assert [text for _, _, text in await desk.passes(2000)] == ["x"]
    await desk.take(asked)  # the process died for so long that its time has come and gone
    assert [text for _, _, text in await desk.passes(2000)] == ["x"]


async def test_two_nodes_that_both_believe_to_hold_the_shard_say_it_once() -> None:
    desk = await Desk.opened()
    other = desk.node()
    await desk.says("every 20 minutes x")
    await other.watch(desk.lease)
    assert [due for due, _, _ in await desk.passes(3700, desk.schedules, other)] == [
        "11-23 12:20",
        "11-23 12:40",
        "11-23 13:00",
    ]


async def test_of_many_times_that_passed_while_no_node_ran_one_is_made_up_for() -> None:
    desk = await Desk.opened()
    await desk.says("every day at 13 x")
    await desk.clock.advance(5 * DAY_S)
    again = desk.node()
    await again.watch(desk.lease)
    assert [due for due, _, _ in await desk.passes(1, again)] == ["11-23 13:00"]
    assert [due for due, _, _ in await desk.passes(DAY_S, again)] == ["11-23 13:00", "11-28 13:00"]


async def test_a_change_of_the_clocks_neither_loses_nor_doubles_a_time() -> None:
    for start, expected in (
        ("2026-03-28T12:00", ["03-29 01:00", "03-30 00:30"]),
        ("2026-10-24T12:00", ["10-25 00:30", "10-26 01:30"]),
    ):
        desk = await Desk.opened(start, timezone="Europe/Berlin")
        await desk.says("every day at 2:30 x")
        assert [due for due, _, _ in await desk.passes(1.8 * DAY_S)] == expected


async def test_another_zone_moves_the_times_of_the_day_and_no_others() -> None:
    desk = await Desk.opened()
    await desk.says("every day at 15:00 daily")
    await desk.says("today at 14:30 once")
    await desk.says("every 50 minutes often")
    answer = await desk.says("zone Europe/Berlin")
    assert answer == "From now on, times here are in the time zone Europe/Berlin, where it is 2026-11-23 13:00 now."
    assert [(due, text) for due, _, text in await desk.passes(3 * 3600)] == [
        ("11-23 12:50", "often"),
        ("11-23 13:40", "often"),
        ("11-23 14:00", "daily"),
        ("11-23 14:30", "once"),
        ("11-23 14:30", "often"),
    ]


async def test_a_full_inbox_is_tried_again() -> None:
    desk = await Desk.opened()
    await desk.says("in 1 minute x")
    desk.inbox = MemoryInbox(desk.leases, bound=1)
    node = desk.node()
    await node.watch(desk.lease)
    await desk.inbox.add(InboxEvent("busy", ADDRESS, "test:Bob", "Bob", "hello", desk.clock.now()))
    assert [text for _, _, text in await desk.passes(90, node)] == ["hello"]
    (waiting,) = await desk.inbox.read({SHARD: "0"}, wait_s=0)
    await desk.inbox.dismiss(waiting, desk.lease.token)
    assert [text for _, _, text in await desk.passes(3, node)] == ["x"]


async def test_a_schedule_whose_maker_may_not_make_any_ends_with_a_word(sandbox: MontySandbox) -> None:
    async def attend(message: InboxEvent) -> InboxEvent:
        return replace(message, kind=NOTICE, text=f"{message.person_name} may not")

    sleepers = Sleepers(echo(), sandbox, attend=attend)
    await sleepers.post("1", "every 20 minutes x", "schedule")
    assert await sleepers.live(lambda: len(sleepers.chat) == 2, pass_s=300)
    assert sleepers.chat[1] == "Ada may not"
    assert await sleepers.schedules.all(ADDRESS) == []


async def test_it_comes_where_no_session_lives_and_outlasts_those_that_end(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(echo(), sandbox)
    await sleepers.post("1", "every 20 minutes ring", "schedule")
    assert await sleepers.live(lambda: len(sleepers.chat) == 3, pass_s=300)
    assert sleepers.chat[0].startswith("🗓 Schedule 1: every 20 minutes.")
    assert sleepers.chat[1:] == ["begun: ring", "Ada: ring"]
    await sleepers.post("2", "", "new")
    await sleepers.post("3", "list", "schedule")
    assert await sleepers.live(lambda: len(sleepers.chat) == 6, pass_s=300)
    assert "begun: -" in sleepers.chat[3:]
    assert [text for text in sleepers.chat[3:] if "every 20 minutes · next 2026-01-01 01:00" in text]
    assert sleepers.chat[5] == "Ada: ring"


async def test_crashes_anywhere_neither_lose_nor_double_a_schedule(sandbox: MontySandbox) -> None:
    point, deaths = 0, 0
    while point <= deaths:
        point += 1
        sleepers = Sleepers(echo(), sandbox, World((), crashes=[point]))
        await sleepers.post("1", "in 10 minutes ring", "schedule")
        await sleepers.post("2", "every day at 10 gone", "schedule")
        await sleepers.post("3", "remove 2", "schedule")
        await _until_it_rang(sleepers)
        deaths += sleepers.world.deaths
        assert sleepers.chat.count("begun: ring") == 1, f"killed at point {point}: {sleepers.chat}"
        assert "Ada: ring" not in sleepers.chat, f"killed at point {point}: {sleepers.chat}"
        assert sleepers.schedules.count == 0, f"killed at point {point}"
    assert deaths > 20


async def _until_it_rang(sleepers: Sleepers) -> None:
    while not await sleepers.live(lambda: "begun: ring" in sleepers.chat, pass_s=300):
        pass
    while not await sleepers.live(lambda: True):
        pass


async def test_times_of_triggers_are_those_of_the_conversation(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(echo(trigger="EVT Every day at 09:00"), sandbox)
    await sleepers.post("1", "hello")
    await sleepers.post("2", "zone America/New_York", "schedule")
    assert await sleepers.live(lambda: len(sleepers.chat) > 2, pass_s=1800)
    assert sleepers.chat[2].startswith("it is 2026-01-01T14:00")


async def test_places_do_not_share_schedules() -> None:
    desk = await Desk.opened()
    await desk.says("every hour x")
    assert await desk.store.all(Address("test", "2")) == []
