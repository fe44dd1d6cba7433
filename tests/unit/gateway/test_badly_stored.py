"""What is stored badly ends nobody's start or work: it is left out, and the rest is there."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, cast

import anyio
import pytest

from gateway.access.owner_notices import OwnerNotices
from gateway.clients.readers import Readers
from gateway.features.a2a.messages import Mark
from gateway.features.a2a.push import Push, Pushes
from gateway.features.feedback.ledger import Feedback
from gateway.inbound.late import LateMessages
from gateway.overview.sharing import SharedView
from gateway.programs.pins import Pins
from gateway.programs.versions import KeptVersions
from gateway.web.pushes.subscriptions import KEY, Subscription, Subscriptions, Wishes
from runtime.core.texts import english
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio

BAD = ["", "[]", "[[]]", "{}", "null", "1e999", '"text"', "{not json", '{"at": [], "by": {}, "name": 1}', "[" * 50_000]
each_bad = pytest.mark.parametrize("bad", BAD, ids=lambda text: text[:12])


@each_bad
async def test_people_whose_wishes_can_be_read_are_told(bad: str) -> None:
    good = Wishes("Ada", (Subscription("https://fcm.googleapis.com/x", "p", "a"),))
    subscriptions = Subscriptions(MemoryRecords({"web:bob": bad, "web:ada": good.text()}), FakeClock())
    assert await subscriptions.all() == [("web:ada", good)]
    assert (await subscriptions.of("web:bob")).browsers == ()
    await subscriptions.show("web:bob", shows=True)
    assert (await subscriptions.of("web:bob")).shows


@each_bad
async def test_a_key_for_pushes_that_cannot_be_read_is_made_anew(bad: str) -> None:
    subscriptions = Subscriptions(MemoryRecords({KEY: bad}), FakeClock())
    assert (await subscriptions.key()).text == (await subscriptions.key()).text


@each_bad
async def test_notifications_of_tasks_that_can_be_read_are_sent(bad: str) -> None:
    good = Push("c", "t", "1", "https://x.example", "", "", "", "t", Mark(0, "working", None))
    records, unused = MemoryRecords({"t/2": bad, good.name: str(good)}), cast("Any", None)
    assert await Pushes(unused, unused, records, ["x.example"], unused, FakeClock())._all() == [good]


@each_bad
async def test_a_program_is_served_by_the_pins_and_versions_that_can_be_read(bad: str) -> None:
    pin = {"version": "a", "instead_of": "b", "by": "ada", "at": 1.0}
    taken = MemoryRecords({"c": bad, "a": json.dumps({"name": "desk", "at": 0.5})})
    pins = Pins(MemoryRecords({"shop": bad, "desk": json.dumps(pin)}), taken, FakeClock())
    assert list(await pins.in_force()) == ["desk"]
    assert await pins.kept("desk") == ["a"]
    await KeptVersions(taken, MemoryRecords(), FakeClock())._drop()
    assert "a" in await taken.all()


@each_bad
async def test_readers_that_can_be_read_are_counted(bad: str) -> None:
    clock = FakeClock()
    until = (clock.now() + timedelta(seconds=60)).timestamp()
    good = json.dumps({"until": until, "readers": [{"may": [">"], "types": [">"], "subject": None}]})
    readers = Readers(MemoryRecords({"one": bad, "two": good}), clock)
    assert [reader.types for reader in await readers.elsewhere()] == [(">",)]


@each_bad
async def test_what_other_nodes_have_seen_and_can_be_read_is_shown(bad: str) -> None:
    unused, clock = cast("Any", None), FakeClock()
    kept = MemoryRecords({"bad": bad, "good": json.dumps({"at": clock.now().timestamp(), "calls": [1]})})
    assert await SharedView("calls", unused, kept, "here", clock).others(["bad", "good"]) == [[1]]


@each_bad
async def test_ratings_that_can_be_read_are_counted(bad: str) -> None:
    clock = FakeClock()
    good = json.dumps([clock.now().date().isoformat(), "desk", "Main", "test/model", "up"])
    rows = await Feedback(MemoryRecords({"bad": bad, "good": good}), clock).rows(7)
    assert len(rows) == 1


@each_bad
async def test_owners_whose_place_can_be_read_are_told(bad: str) -> None:
    clock = FakeClock()
    inbox = MemoryInbox(MemoryLeaseStore(clock))
    places = MemoryRecords({"web:bob": bad, "web:ada": json.dumps(["web", "den", None])})

    async def is_owner(_person: str) -> bool:
        return True

    assert await OwnerNotices(places, is_owner, inbox, {"web": english()}, clock).tell("1", "usage.none", days=1)


@each_bad
async def test_conversations_whose_late_messages_can_be_read_are_told(bad: str) -> None:
    clock = FakeClock()
    inbox = MemoryInbox(MemoryLeaseStore(clock))
    good = json.dumps({"at": ["test", "1", None], "by": "test:ada"})
    records = MemoryRecords({"test:1\n1.000000\na": good, "test:1\n2.000000\nb": bad})
    late = LateMessages(records, inbox, clock, english(), 60.0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(late.run)
        await clock.advance(3_600)
        tasks.cancel_scope.cancel()
    assert "test:1\n1.000000\na" not in await records.all()
