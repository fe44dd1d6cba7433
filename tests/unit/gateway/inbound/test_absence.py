"""What people read who write while no node serves conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from gateway.cluster.roster import Roster
from gateway.inbound.late import NOTICE_AFTER_S, RECENTLY_S, Absence
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.message import Choice
from runtime.core.texts import english
from runtime.events.happening import Happening
from runtime.events.service import AgentsAbsent, AgentsPresent
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import LeaseHolder
from tests.fakes.clock import FakeClock
from tests.fakes.memory.nodes import MemoryNodeStore

pytestmark = pytest.mark.anyio

TTL_S = 3.0
NODE = LeaseHolder("a", TTL_S)


@dataclass
class Watch:
    """A front over nodes that the test lets come and go."""

    clock: FakeClock
    nodes: MemoryNodeStore
    absence: Absence
    said: list[tuple[str, str]]
    told: list[Happening] = field(default_factory=list)

    def writes(self, room: str, kind: str = "message", place: Address | None = None) -> None:
        event = InboxEvent("e", Address("web", room), "web:1", "Ada", "hi", self.clock.now(), kind=kind, place=place)
        self.absence.note(event)


@asynccontextmanager
async def watch() -> AsyncIterator[Watch]:
    clock, said = FakeClock(), list[tuple[str, str]]()
    bus, nodes = Bus(clock), MemoryNodeStore(clock)
    roster = Roster(nodes, LeaseHolder("front", TTL_S), clock, enters=False)

    async def say(to: Address, text: str, _: Sequence[Choice] = (), /) -> None:
        said.append((to.conversation, text))

    made = Watch(clock, nodes, Absence(roster, clock, say, english(), bus), said)
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
