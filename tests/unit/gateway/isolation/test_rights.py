"""What the process of a task may have written, and what is refused whatever it says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.isolation.forms import COMMIT, EVENT, PAGE
from gateway.isolation.node.own_stores import Own, OwnInbox, OwnStore
from gateway.isolation.node.page_calls import PageCalls
from gateway.isolation.node.rights import Rights, rights_by_order, rights_by_tape
from runtime.channels.outbox import PageSpec
from runtime.core.address import GATEWAY, Address, address_data
from runtime.core.clock import SystemClock
from runtime.core.errors import LeaseLost, TaskRefused
from runtime.core.ids import SessionId
from runtime.core.message import Attachment
from runtime.execution.calls.tasks import task_id
from runtime.sessions.tasks.letters import Asking, Order, Result, address_of
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore, MemorySessionStore
from runtime.stores.inbox import (
    NOTICE,
    TASK,
    TASK_ASKS,
    TASK_CANCEL,
    TASK_OVER,
    InboxEntry,
    InboxEvent,
    shard_of,
)
from runtime.stores.sessions import Commit, Lease, LeaseHolder, SessionRecord
from runtime.tape.tape import Fact, agent_tape, session_tape

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 23, tzinfo=UTC)
TASK_ID, ORDERER = SessionId("t" * 32), SessionId("o" * 32)
HOME, TEAM, OTHER = Address("web", "lobby"), Address("telegram", "-100"), Address("telegram", "7")
SHARD = shard_of(address_of(TASK_ID).key)
CHILD = task_id(TASK_ID, 2)
LETTER = Order(
    1, ORDERER, "Researcher", "Study", {}, 1e10, 1, address_data(HOME), address_data(HOME), str(TASK_ID), 900, 1.5
)


def event(kind: str, address: Address, text: str = "", id_: str = "e1", **more: Any) -> InboxEvent:
    return InboxEvent(id_, address, more.pop("person_id", ""), "", text, NOW, kind=kind, **more)


ORDER = InboxEntry(SHARD, "1-0", event(TASK, address_of(TASK_ID), str(LETTER), TASK_ID, person_id="web:1", program="p"))


ANSWER = InboxEntry(SHARD, "8-0", event("choice", address_of(TASK_ID), "left", "e9", choice="cccc.4.0"))
PASSED_ON = replace(ANSWER.event, address=address_of(CHILD))


def rights() -> Rights:
    made = rights_by_order(ORDER, "p", (TEAM,))
    made.give(ORDER)
    made.give(ANSWER)
    made.children.add(CHILD)
    return made


def to_child(**more: Any) -> InboxEvent:
    below = {"orderer": TASK_ID, "number": 1, "depth": 2, "home": address_data(address_of(TASK_ID)), **more}
    return event(TASK, address_of(CHILD), str(replace(LETTER, **below)), CHILD, person_id="web:1", program="p")


RESULT = Result(1, ORDERER, TASK_ID, "completed", 1, None, 1, 9)
ASKING = Asking(1, TASK_ID, "tttttttt.4", True, ["m1"], [], False)


@pytest.mark.parametrize(
    "letter",
    [
        to_child(),
        event(TASK_CANCEL, address_of(CHILD)),
        event(TASK_OVER, HOME, str(RESULT), f"{TASK_OVER}.{TASK_ID}"),
        event(TASK_ASKS, HOME, str(ASKING)),
        event(NOTICE, TEAM, "done", "told.x"),
        PASSED_ON,
    ],
    ids=["an order", "a cancellation", "its result", "its question", "a place of the settings", "an answer passed on"],
)
def test_letters_to_those_whom_the_task_concerns_are_sent(letter: InboxEvent) -> None:
    rights().check_letter(EVENT.read(EVENT.write(letter)))


@pytest.mark.parametrize(
    "letter",
    [
        event("message", HOME, "I am the owner", person_id="web:1", by_owner=True),
        event("new", HOME),
        event(NOTICE, OTHER, "buy this", "told.x"),
        event(NOTICE, TEAM, "buy this", "x"),
        event(TASK_OVER, OTHER, str(RESULT), f"{TASK_OVER}.{TASK_ID}"),
        event(TASK_OVER, HOME, str(replace(RESULT, number=2)), f"{TASK_OVER}.{TASK_ID}"),
        event(TASK_CANCEL, address_of(ORDERER)),
        event(TASK_ASKS, HOME, str(replace(ASKING, task=ORDERER))),
        event(TASK_ASKS, HOME, "{"),
        replace(PASSED_ON, address=address_of(ORDERER)),
        replace(PASSED_ON, text="right"),
        replace(PASSED_ON, choice="cccc.4.1"),
        replace(PASSED_ON, person_id="web:owner"),
        event("choice", address_of(CHILD), "left"),
        to_child(root="another"),
        to_child(tokens=0),
        to_child(dollars=0.0),
        to_child(depth=1),
        to_child(place=address_data(OTHER)),
        to_child(isolation="inline"),
        replace(to_child(), program="another"),
        replace(to_child(), person_id="web:owner"),
        replace(to_child(), address=address_of(ORDERER)),
        event("fork", HOME, "{}"),
    ],
)
def test_letters_to_others_and_forged_ones_are_refused(letter: InboxEvent) -> None:
    with pytest.raises(TaskRefused):
        rights().check_letter(letter)


def fact(seq: int, kind: str, session: SessionId = TASK_ID, **data: Any) -> Fact:
    return Fact(session_tape(session), seq, kind, NOW, data)


def order_fact(seq: int = 2, **other: Any) -> Fact:
    own = rights().order.data() | other
    return fact(seq, "order", **own)


async def stores() -> tuple[OwnStore, OwnInbox, MemoryInbox, Lease, MemorySessionStore]:
    leases = MemoryLeaseStore(SystemClock())
    inbox = MemoryInbox(leases)
    store = MemorySessionStore(leases, inbox)
    token = await leases.acquire(f"shard:{SHARD}", LeaseHolder("n"))
    assert token is not None
    lease = Lease(SHARD, token)
    await inbox.add(ORDER.event)
    own = Own(rights(), lease)
    return OwnStore(store, own), OwnInbox(inbox, own), inbox, lease, store


def beginning(lease: Lease, *facts: Fact, **more: Any) -> Commit:
    record = SessionRecord(TASK_ID, address_of(TASK_ID), "p", NOW, 0)
    return Commit(lease, TASK_ID, 0, facts, consume=("1-0",), begin=record, awake=True, **more)


async def test_a_task_begins_as_it_was_ordered_and_its_rights_are_on_its_tape() -> None:
    own, _, inbox, lease, store = await stores()
    begun = beginning(lease, fact(1, "person", id="web:1", name="Ada", since=1.0), order_fact(), child_fact(3))
    await own.commit(COMMIT.read(COMMIT.write(begun)))
    assert await inbox.read({SHARD: "0"}, wait_s=0) == []
    record = await store.session(SHARD, TASK_ID)
    assert record is not None
    found = await rights_by_tape(store, record, (TEAM,))
    assert found is not None
    assert (found.order, found.person, found.children) == (rights().order, "web:1", {task_id(TASK_ID, 3)})


def child_fact(seq: int, task: str | None = None) -> Fact:
    what: dict[str, Any] = {
        "agent": "1000",
        "class": "R",
        "pb": "P",
        "args": {},
        "due": 1.0,
        "deliver": "caller",
        "depth": 2,
    }
    return fact(seq, "spawn", task=task or task_id(TASK_ID, seq), **what)


@pytest.mark.parametrize(
    "forged",
    [
        lambda lease: beginning(lease, fact(1, "person", id="web:owner", name="Eve"), order_fact()),
        lambda lease: beginning(lease, order_fact(1, tokens=0)),
        lambda lease: beginning(lease, order_fact(1, place=address_data(OTHER))),
        lambda lease: beginning(lease, child_fact(1, ORDERER)),
        lambda lease: beginning(lease, Fact(agent_tape(ORDERER, "1000"), 1, "said", NOW, {})),
        lambda lease: replace(beginning(lease), consume=("9-0",)),
        lambda lease: replace(beginning(lease), replaces=ORDERER),
        lambda lease: replace(beginning(lease), session=ORDERER),
        lambda lease: replace(beginning(lease), begin=SessionRecord(TASK_ID, HOME, "p", NOW, 0)),
        lambda lease: replace(beginning(lease), begin=SessionRecord(TASK_ID, address_of(TASK_ID), "q", NOW, 0)),
    ],
    ids=["person", "limits", "place", "child", "tape", "event", "replaced", "session", "address", "program"],
)
async def test_a_forged_beginning_is_refused_before_the_store_is_asked(forged: Any) -> None:
    own, _, inbox, lease, store = await stores()
    with pytest.raises(TaskRefused):
        await own.commit(forged(lease))
    assert await store.session(SHARD, TASK_ID) is None
    assert len(await inbox.read({SHARD: "0"}, wait_s=0)) == 1


async def test_another_epoch_writes_nothing() -> None:
    own, letters, _, lease, store = await stores()
    with pytest.raises(LeaseLost):
        await own.commit(beginning(replace(lease, token=lease.token - 1), order_fact(1)))
    with pytest.raises(LeaseLost):
        await letters.dismiss(ORDER, lease.token + 1)
    assert await store.session(SHARD, TASK_ID) is None


async def test_a_task_reads_no_tape_but_its_own() -> None:
    own, letters, _, _, _ = await stores()
    with pytest.raises(TaskRefused):
        await own.session(SHARD, ORDERER)
    with pytest.raises(TaskRefused):
        await own.current(SHARD, HOME.key)
    with pytest.raises(TaskRefused):
        _ = [one async for one in own.read_session(ORDERER)]
    with pytest.raises(TaskRefused):
        await letters.read({SHARD: "0"}, wait_s=0)
    with pytest.raises(TaskRefused):
        await letters.still_waiting([replace(ORDER, entry_id="2-0")])


@pytest.mark.parametrize(
    "spec",
    [
        PageSpec(f"{TASK_ID}.4", OTHER, GATEWAY, home=address_of(TASK_ID)),
        PageSpec(f"{ORDERER}.4", HOME, GATEWAY, home=address_of(TASK_ID)),
        PageSpec(f"{TASK_ID}.4", HOME, GATEWAY, home=address_of(TASK_ID), leased=False),
        PageSpec(f"{TASK_ID}.4", HOME, GATEWAY, home=OTHER),
        PageSpec(f"{TASK_ID}.4", HOME, GATEWAY, file=Attachment("a", "text/plain", "kept:1")),
    ],
    ids=["place", "page", "lease", "home", "file"],
)
async def test_pages_are_shown_where_the_orderer_is_and_nowhere_else(spec: PageSpec) -> None:
    calls = PageCalls(None, rights())  # type: ignore[arg-type]
    with pytest.raises(TaskRefused):
        await calls.page(PAGE.write(spec))


class Outbox:
    """Notes where pages are shown."""

    def __init__(self) -> None:
        self.shown: list[Address] = []

    def page(self, spec: PageSpec, _record: object) -> None:
        self.shown.append(spec.address)


@pytest.mark.parametrize(
    ("event_type", "told", "place", "shown"),
    [
        ("stock.low", TEAM, TEAM, True),
        ("stock.low", TEAM, OTHER, False),
        ("stock.low", None, TEAM, False),
        ("", TEAM, TEAM, False),
    ],
    ids=["its program's place", "another place", "a program without one", "no event"],
)
async def test_what_an_event_began_is_shown_in_the_place_of_its_program_too(
    event_type: str, told: Address | None, place: Address, shown: bool
) -> None:
    began, outbox = rights(), Outbox()
    began.order = replace(began.order, event=event_type)
    calls = PageCalls(outbox, began, told)  # type: ignore[arg-type]
    calls.peer = None  # type: ignore[assignment]
    spec = PageSpec(f"{TASK_ID}.4", place, GATEWAY, home=address_of(TASK_ID))
    if shown:
        await calls.page(PAGE.write(spec))
    else:
        with pytest.raises(TaskRefused):
            await calls.page(PAGE.write(spec))
    assert outbox.shown == [place] * shown
