"""Who reads events on other nodes is known here, and forgotten when its node is gone. Orders that waited begin only
while their client may still give them.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from msgspec.structs import replace

from gateway.clients.feed import VALID_S, ClientReaders, Reader, receivers
from gateway.clients.scopes import ClientScopes, refusals_of, scopes_from
from runtime.core.address import address_of
from runtime.core.cloud_event import CloudEvent
from runtime.core.ids import SessionId
from runtime.stores.inbox import TASK, InboxEvent
from runtime.stores.orders import TaskOrder
from tests.contract.storage_samples import T0
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

BUILDS = Reader(("build.>",), (">",), None)

HOME: list[str | None] = ["client", "ci", None]
LETTER = TaskOrder(0, SessionId(""), "Desk", "Fetch", {}, 60.0, 1, HOME, HOME)
ORDER = InboxEvent("t", address_of(SessionId("t")), "client:ci", "ci", str(LETTER), T0, kind=TASK, program="desk")
ON_EVENT = replace(ORDER, text=str(replace(LETTER, event="shop.stock")))

DESK = "ci has no scope any more to begin desk"
CASES = {
    "it may order": (ORDER, ["tasks:write:d*"], ""),
    "it may only look": (ORDER, ["tasks:read:desk", "triggers:desk"], DESK),
    "it may order another program": (ORDER, ["tasks:write:shop"], DESK),
    "its events may begin it": (ON_EVENT, ["triggers:desk"], ""),
    "its events may begin nothing": (ON_EVENT, ["tasks:write:desk"], DESK),
    "it is a person": (replace(ORDER, person_id="telegram:1"), [], ""),
    "an agent ordered it": (replace(ORDER, person_id=""), [], ""),
    "it is words to a task": (replace(ORDER, kind="message"), [], ""),
}


class Process:
    """One process. `here` are its readers."""

    def __init__(self, records: MemoryRecords, clock: FakeClock) -> None:
        self.here: list[Reader] = []
        self.clock = clock
        self.readers = ClientReaders(records, clock)

    async def has(self, *readers: Reader) -> None:
        """These read here now, and that is written down."""
        self.here = list(readers)
        self.readers.changed()
        await self.clock.advance(1)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.readers.run, lambda: self.here)
            await self.clock.settle()
            yield
            tasks.cancel_scope.cancel()


def event(clock: FakeClock, type_: str, subject: str | None = None) -> CloudEvent:
    return CloudEvent("1", type_, "/clients/ci", clock.now(), subject)


async def test_readers_of_other_processes_are_known_while_they_read() -> None:
    records, clock = MemoryRecords(), FakeClock()
    one, other = Process(records, clock), Process(records, clock)
    async with one.running(), other.running():
        await other.has(BUILDS, BUILDS)
        assert await one.readers.elsewhere() == [BUILDS, BUILDS]
        assert await other.readers.elsewhere() == []
        await other.has()
        assert await one.readers.elsewhere() == []
        await other.has(BUILDS)
    assert await one.readers.elsewhere() == []


async def test_a_process_that_was_killed_is_forgotten_after_a_while() -> None:
    records, clock = MemoryRecords(), FakeClock()
    one = Process(records, clock)
    killed = {"until": clock.now().timestamp() + VALID_S, "readers": [{"may": [">"], "types": ["a"], "subject": "eu"}]}
    await records.put("killed", json.dumps(killed))
    assert await one.readers.elsewhere() == [Reader((">",), ("a",), "eu")]
    await clock.advance(VALID_S + 1)
    assert await one.readers.elsewhere() == []
    assert await records.all() == {}


def test_a_reader_counts_once_for_events_that_it_may_have_and_wants() -> None:
    clock = FakeClock()
    readers = [
        BUILDS,
        Reader((">",), ("deploy.*",), None),
        Reader((">",), (">",), "eu"),
        Reader((), (">",), None),
    ]
    assert receivers(readers, [event(clock, "build.done"), event(clock, "build.begun")]) == 1
    assert receivers(readers, [event(clock, "build.done", "eu")]) == 2
    assert receivers(readers, [event(clock, "deploy.done")]) == 1
    assert receivers(readers, [event(clock, "deploy.done", "eu")]) == 2
    assert receivers(readers, [event(clock, "test.done")]) == 0


@pytest.mark.parametrize("case", CASES)
def test_an_order_begins_only_within_the_scopes_of_now(case: str) -> None:
    event, scopes, why = CASES[case]
    assert refusals_of({"ci": scopes_from(scopes)}.get, console=False)(event) == why


def test_the_order_of_a_client_that_is_gone_does_not_begin() -> None:
    assert refusals_of(dict[str, ClientScopes]().get, console=True)(ORDER) == "ci is no client any more"


@pytest.mark.parametrize("console", [True, False])
def test_what_was_ordered_at_the_console_begins_while_there_is_one(console: bool) -> None:
    why = refusals_of(dict[str, ClientScopes]().get, console=console)(replace(ORDER, person_id="client:console.owner"))
    assert (why == "") == console
