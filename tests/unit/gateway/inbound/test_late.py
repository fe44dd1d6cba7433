"""What people write while nothing answers: they are told once, and late messages are summed up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import anyio
import pytest
from msgspec.structs import replace

from adapters.adapter import Inbound
from gateway.cluster.roster import ClusterRoster
from gateway.inbound.late import NOTICE_AFTER_S, QUIET_S, RECENTLY_S, AbsenceNotices, LateMessages
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.errors import InboxFull
from runtime.core.message import Choice
from runtime.core.texts import english
from runtime.events.happening import Happening
from runtime.events.service import AgentsAbsent, AgentsPresent
from runtime.stores.inbox import NOTICE, InboxEvent
from runtime.stores.sessions import LeaseHolder
from tests.fakes.clock import FakeClock
from tests.fakes.memory.nodes import MemoryNodeStore
from tests.fakes.observing.records import MemoryRecords
from tests.unit.gateway.inbound.arrivals import TEXTS, Door, Kept, event, opened

HOUR_S = 3600.0

TTL_S = 3.0
NODE = LeaseHolder("a", TTL_S)


def _old(text: str, *, hours: float = 2, **more: Any) -> Inbound:
    said = event(text, **more)
    return replace(said, sent_at=said.sent_at - timedelta(hours=hours))


class Late:
    """Late messages of one process, over what may be an earlier one's records and inbox."""

    def __init__(self, earlier: Late | None = None, *, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.records: MemoryRecords = earlier.records if earlier is not None else MemoryRecords()
        self.inbox: Kept = earlier.inbox if earlier is not None else Kept()
        self.late = LateMessages(self.records, cast("Any", self.inbox), self.clock, TEXTS, HOUR_S)

    async def takes(self, *events: Inbound) -> list[bool]:
        return [await self.late.takes(each) for each in events]

    async def quiet(self) -> None:
        """It runs until nothing more is to be told."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.late.run)
            await self.clock.advance(QUIET_S + 1)
            tasks.cancel_scope.cancel()

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(kept.address.key, kept.text) for kept in self.inbox.events if kept.kind == NOTICE]


async def test_seven_messages_of_three_people_are_one_sentence() -> None:
    late = Late()
    people = ("1", "2", "3", "1", "1", "2", "1")
    old = [_old(f"m{number}", person=who, private=False) for number, who in enumerate(people)]
    assert await late.takes(*old) == [True] * 7
    await late.quiet()
    assert [text.partition(". ")[0] for _, text in late.told] == ["While I was away: 7 messages from 3 people"]
    assert late.records.records == {}


async def test_what_is_heard_before_it_runs_again_is_told_as_well() -> None:
    late = Late()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(late.late.run)
        await late.clock.settle()
        await late.takes(_old("a"))
        tasks.cancel_scope.cancel()  # another node has the bot
    assert await late.takes(_old("b")) == [True]  # and gives it back
    await late.quiet()
    assert late.told == [("test:1", TEXTS("late.of_one", messages=2))]


async def test_messages_of_one_person_and_a_single_one_are_told_in_their_own_words() -> None:
    late = Late()
    await late.takes(_old("a"), _old("b"), _old("c", chat="2"))
    await late.quiet()
    assert dict(late.told) == {"test:1": TEXTS("late.of_one", messages=2), "test:2": TEXTS("late.one")}


async def test_what_is_young_enough_is_not_taken() -> None:
    late = Late()
    assert await late.takes(event("now"), _old("just so", hours=1), _old("too old", hours=1.01)) == [False, False, True]


async def test_reactions_and_deletions_pass_and_old_edits_and_presses_are_dropped_uncounted() -> None:
    late = Late()
    acts = [_old("x", act=act, id=act) for act in ("reaction", "deletion", "edit", "choice")]
    assert await late.takes(*acts) == [False, False, True, True]
    await late.quiet()
    assert late.told == []


async def test_a_message_that_comes_again_is_counted_once_also_after_a_crash() -> None:
    before = Late()
    await before.takes(_old("a"), _old("b"))
    after = Late(before)
    await after.takes(_old("b"), _old("c", person="7"))
    await after.quiet()
    assert after.told == [("test:1", TEXTS("late.several", messages=3, people=2))]


async def test_what_an_earlier_process_counted_is_told_by_the_next() -> None:
    before = Late()
    await before.takes(_old("a"))
    after = Late(before)
    await after.quiet()
    assert after.told == [("test:1", TEXTS("late.one"))]


async def test_a_crash_after_the_sentence_is_kept_tells_it_under_the_same_id() -> None:
    before = Late()
    await before.takes(_old("a"), _old("b"))
    kept = dict(before.records.records)
    await before.quiet()
    before.records.records = kept
    after = Late(before)
    await after.quiet()
    assert len({kept.id for kept in after.inbox.events}) == 1


async def test_the_sentence_comes_before_the_first_message_that_is_answered() -> None:
    late = Late()
    await late.takes(_old("a"))
    assert await late.takes(event("now")) == [False]
    assert late.told == [("test:1", TEXTS("late.one"))]
    await late.quiet()
    assert len(late.told) == 1


async def test_messages_that_begin_threads_are_told_of_in_the_channel_and_replies_in_their_thread() -> None:
    late = Late()
    await late.takes(
        _old("a", thread="m1", message_id="m1"),
        _old("b", thread="m2", message_id="m2"),
        _old("c", thread="m0", message_id="m3"),
    )
    await late.quiet()
    assert dict(late.told) == {"test:1": TEXTS("late.of_one", messages=2), "test:1#m0": TEXTS("late.one")}


async def test_a_full_inbox_is_told_later() -> None:
    late = Late()
    late.inbox.fault = InboxFull("full")
    await late.takes(_old("a"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(late.late.run)
        await late.clock.advance(QUIET_S + 1)
        late.inbox.fault = None
        await late.clock.advance(QUIET_S + 1)
        tasks.cancel_scope.cancel()
    assert late.told == [("test:1", TEXTS("late.one"))]


async def test_a_late_message_reaches_no_session_and_no_command_is_carried_out() -> None:
    late = Late()
    door = Door(await opened("open"), late=late.late)
    await door.take(_old("hello"), _old("", command="help"), event("now"))
    assert (door.kept, door.said) == ([("message", "now", "one")], [])


@dataclass
class Watch:
    """A front over nodes that the test lets come and go."""

    clock: FakeClock
    nodes: MemoryNodeStore
    absence: AbsenceNotices
    said: list[tuple[str, str]]
    told: list[Happening] = field(default_factory=list)

    def writes(self, room: str, kind: str = "message", place: Address | None = None) -> None:
        event = InboxEvent("e", Address("web", room), "web:1", "Ada", "hi", self.clock.now(), kind=kind, place=place)
        self.absence.note(event)


@asynccontextmanager
async def watch() -> AsyncIterator[Watch]:
    clock, said = FakeClock(), list[tuple[str, str]]()
    bus, nodes = Bus(clock), MemoryNodeStore(clock)
    roster = ClusterRoster(nodes, LeaseHolder("front", TTL_S), clock, enters=False)

    async def say(to: Address, text: str, _: Sequence[Choice] = (), /) -> None:
        said.append((to.conversation, text))

    made = Watch(clock, nodes, AbsenceNotices(roster, clock, say, english(), bus), said)
    for kind in (AgentsAbsent, AgentsPresent):
        bus.hear(kind, lambda what, _: made.told.append(what))
    await roster.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(roster.run)
        tasks.start_soon(made.absence.run)
        await clock.settle()
        yield made
        tasks.cancel_scope.cancel()


async def test_who_writes_while_nobody_answers_is_told_once_and_after_a_while() -> None:
    async with watch() as front:
        front.writes("lobby")
        await front.clock.advance(NOTICE_AFTER_S - 1)
        assert front.said == []
        await front.clock.advance(1)
        assert front.said == [("lobby", english()("inbound.nobody"))]
        front.writes("lobby")
        front.writes("den")
        await front.clock.settle()
        assert [room for room, _ in front.said] == ["lobby", "den"]


async def test_a_node_that_is_soon_back_is_not_missed() -> None:
    async with watch() as front:
        front.writes("lobby")
        await front.clock.advance(NOTICE_AFTER_S - 1)
        await front.nodes.announce(NODE)
        await front.clock.advance(1)
        assert (front.said, front.told) == ([], [])


async def test_who_wrote_shortly_before_the_last_node_died_is_told_and_who_wrote_long_before_is_not() -> None:
    async with watch() as front:
        await front.nodes.announce(LeaseHolder("a", RECENTLY_S + 10))
        front.writes("long ago")
        await front.clock.advance(RECENTLY_S)
        front.writes("just now")
        await front.clock.advance(10 + TTL_S + NOTICE_AFTER_S)
        assert [room for room, _ in front.said] == ["just now"]


async def test_a_later_absence_is_told_again_with_its_length_in_the_log() -> None:
    async with watch() as front:
        front.writes("lobby")
        await front.clock.advance(NOTICE_AFTER_S + 5)
        await front.nodes.announce(NODE)
        await front.clock.settle()
        assert front.told == [AgentsAbsent(), AgentsPresent(NOTICE_AFTER_S + 5)]
        await front.nodes.leave(NODE)
        front.writes("lobby")
        await front.clock.advance(NOTICE_AFTER_S)
        assert [room for room, _ in front.said] == ["lobby", "lobby"]


@pytest.mark.parametrize("kind", ["reaction", "deletion"])
async def test_nobody_is_told_for_what_gets_no_answer(kind: str) -> None:
    async with watch() as front:
        front.writes("lobby", kind)
        await front.clock.advance(2 * NOTICE_AFTER_S)
        assert front.said == []


async def test_who_writes_in_the_place_of_a_meeting_is_told_there() -> None:
    async with watch() as front:
        front.writes("lobby", place=Address("web", "side"))
        await front.clock.advance(NOTICE_AFTER_S)
        assert [room for room, _ in front.said] == ["side"]
