"""What is said in private and direct rooms, at every door that shows sessions: for whom it is there."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest
from websockets.asyncio.client import connect

from gateway.features.scratch import routes as rooms
from runtime.core.address import SCRATCH, Address, address_of
from runtime.core.ids import AgentId, PersonId, SessionId
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.people import MessageHeard, PersonMet
from runtime.tape.facts.session import AgentCreated, ExchangeBegun, SessionBegun
from runtime.tape.facts.tasks import OrderTaken
from runtime.tape.tape import Fact, TapeBranch, session_tape
from runtime.tape.view import HUMAN_MESSAGE
from tests.contract.storage_samples import T0, shard_lease
from tests.fakes.pages.console import ConsoleWorld, console

pytestmark = pytest.mark.anyio

HOST, ADA = AgentId("1000"), PersonId("web:1")
SAID = "the nightingale"
OPEN, PRIVATE, DIRECT = (Address("web", name) for name in ("lobby", "private-0c1d", "direct-9ab2"))
ELSEWHERE = Address("telegram", "42")
THREAD = Address("web", "private-0c1d", "a-message")

SEARCH = "/tape/v1/search?scope=sessions.*&q=nightingale"

READS = ["events:read:>", "tapes:read:sessions.*", "gateway:read", "tasks:read:*", "gateway:write"]
CLIENTS = {"states": READS, "words": [*READS, "content"], "all": [*READS, "content", "private"]}


@dataclass(frozen=True)
class Place:
    """Where a session is, and whether what is said there is for its people alone."""

    address: Address
    closed: bool
    order: Address | None = None
    parent: SessionId | None = None


PLACES: Mapping[SessionId, Place] = {
    SessionId("open"): Place(OPEN, closed=False),
    SessionId("elsewhere"): Place(ELSEWHERE, closed=False),
    SessionId("private"): Place(PRIVATE, closed=True),
    SessionId("thread"): Place(THREAD, closed=True),
    SessionId("direct"): Place(DIRECT, closed=True),
    SessionId("open-task"): Place(address_of(SessionId("open-task")), closed=False, order=OPEN),
    SessionId("task"): Place(address_of(SessionId("task")), closed=True, order=DIRECT),
    SessionId("copy"): Place(Address(SCRATCH, "copy"), closed=True, parent=SessionId("private")),
    SessionId("open-copy"): Place(Address(SCRATCH, "open-copy"), closed=False, parent=SessionId("open")),
}
CLOSED = {id_ for id_, place in PLACES.items() if place.closed}
BASE = 5


@asynccontextmanager
async def doors(socket: Path, *, private: bool = False) -> AsyncGenerator[ConsoleWorld]:
    """A console and clients over sessions of all kinds, in each of which Ada has said the words."""
    async with console(socket, acts=True, private=private, clients=CLIENTS) as world:
        for session, place in PLACES.items():
            await _begin(world, session, place)
        yield world


async def _begin(world: ConsoleWorld, session: SessionId, place: Place) -> None:
    lease = await shard_lease(world.leases, shard=shard_of(place.address.key))
    heard = MessageHeard(f"in.{session}", HOST, ADA, "Ada", True, f"{SAID} of {session}")
    order = place.order
    own: list[FactContent] = (
        [heard]
        if place.parent is not None
        else [
            SessionBegun("digest"),
            *([] if order is None else [OrderTaken(1, SessionId("x"), order, order, 1.0, 1)]),
            AgentCreated(HOST, "Host", {"count": 1}),
            PersonMet(ADA, "Ada", 0.0),
            ExchangeBegun(4, f"{SAID} of {session}", ADA, "Ada"),
            heard,
        ]
    )
    first = BASE if place.parent is not None else 0
    parent = None if place.parent is None else TapeBranch(place.parent, first)
    facts = tuple(
        Fact(session_tape(session), number, one.kind, T0, one.data()) for number, one in enumerate(own, first + 1)
    )
    begin = SessionRecord(session, place.address, "hello", T0, first, parent=parent)
    events = ((facts[-1].seq, HUMAN_MESSAGE),)
    await world.sessions.commit(Commit(lease, session, first, facts=facts, begin=begin, events=events))


@asynccontextmanager
async def who(world: ConsoleWorld, name: str) -> AsyncGenerator[httpx.AsyncClient]:
    """A client by its token, or an owner at the console."""
    if name in CLIENTS:
        async with world.http(authorization=f"Bearer a-token-of-{name}") as http:
            yield http
    else:
        async with world.logged_in(name) as http:
            yield http


def leaked(text: str) -> set[SessionId]:
    """The sessions whose words are in an answer."""
    return {id_ for id_ in PLACES if re.search(rf"{SAID} of {id_}(?![\w-])", text)}


async def _first_lines(http: httpx.AsyncClient, path: str, mark: str, times: int = 1, **headers: str) -> str:
    """The beginning of a stream, up to the line with so many marks."""
    found = ""
    with anyio.fail_after(10):
        async with http.stream("GET", path, headers=headers) as stream:
            if stream.status_code != 200:
                return ""
            async for line in stream.aiter_lines():
                found += f"{line}\n"
                if found.count(mark) == times:
                    break
    return found


async def everything(http: httpx.AsyncClient) -> dict[str, str]:
    """What each door answers, by its path."""
    answers: dict[str, str] = {}
    for path in (
        "/bus/v1/events?after=oldest&limit=1000",
        "/bus/v1/sessions?words=1",
        "/bus/v1/meetings?over=1",
        "/bus/v1/questions",
        "/bus/v1/schedules",
        "/bus/v1/dead-letters",
        "/bus/v1/tasks",
        "/bus/v1/reports",
        "/bus/v1/usage?by=person",
        "/tape/v1/tapes?kind=journal",
        "/tape/v1/search?scope=sessions.*&q=nightingale",
    ):
        answers[path] = (await http.get(path)).text
    events = "/bus/v1/events?after=oldest"
    answers["stream"] = await _first_lines(http, events, "data: {", len(PLACES), accept="text/event-stream")
    for session, place in PLACES.items():
        tape = f"/tape/v1/tapes/sessions.{session}"
        for path in (
            f"/bus/v1/sessions/{session}",
            f"/bus/v1/sessions/{session}/export",
            f"/bus/v1/tasks/{session}",
            tape,
            f"{tape}/entries",
            f"{tape}/export",
            f"{tape}/strip",
            f"{tape}/state",
            f"{tape}/search?q=nightingale",
        ):
            answers[path] = (await http.get(path)).text
        last = BASE if place.order is None and place.parent is None else BASE + 1
        answers[f"{tape}/follow"] = await _first_lines(http, f"{tape}/follow?after=0", f"id: 0.{last}\ndata: {{")
        for path, asked in (("scratch", {"key": "k"}), ("test", {})):
            url = f"/bus/v1/sessions/{session}/{path}"
            answers[url] = (await http.post(url, json=asked)).text
    return answers


@pytest.fixture(autouse=True)
def no_node_begins_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "BEGUN_WITHIN_S", 0.01)


@pytest.mark.parametrize("private", [False, True])
async def test_each_reader_finds_the_words_of_the_rooms_that_it_may_read_and_no_others(
    valkey_socket: Path, private: bool
) -> None:
    open_ones = set(PLACES) - CLOSED
    readers = {"words": open_ones, "owner": open_ones}
    if private:
        readers = {"states": set[SessionId](), "operator": set[SessionId](), "owner": set(PLACES)}
    async with doors(valkey_socket, private=private) as world:
        for reader, reads in readers.items():
            async with who(world, reader) as http:
                answers = await everything(http)
            wrong = {path: leaked(text) - reads for path, text in answers.items()}
            assert {path: found for path, found in wrong.items() if found} == {}, reader
            for path in ("/bus/v1/events?after=oldest&limit=1000", "stream", "/bus/v1/sessions?words=1", SEARCH):
                assert leaked(answers[path]) == reads, (reader, path)
            for door in ("entries", "follow", "export", "strip"):
                own = {id_ for id_ in PLACES if id_ in leaked(answers[f"/tape/v1/tapes/sessions.{id_}/{door}"])}
                assert own == reads, (reader, door)


async def test_a_closed_room_is_seen_by_its_numbers_and_can_be_stopped(valkey_socket: Path) -> None:
    async with doors(valkey_socket) as world, who(world, "owner") as owner:
        rows = {row["session"]: row for row in (await owner.get("/bus/v1/sessions?words=1")).json()["sessions"]}
        assert set(rows) == set(PLACES)
        assert ("last" in rows["private"], "last" in rows["open"]) == (False, True)
        assert (await owner.get("/tape/v1/tapes/sessions.private/strip")).json()["marks"]
        refused = await owner.get("/tape/v1/tapes/sessions.private/state")
        assert refused.status_code == 403
        assert refused.json()["error"] == (
            "What is said in a private room is for its people. "
            "Owners read it where the settings have console.private = true."
        )
        assert (await owner.post("/bus/v1/sessions/private/stop", json={})).status_code == 202


async def test_what_died_on_its_way_to_a_closed_room_comes_without_its_words(valkey_socket: Path) -> None:
    async with doors(valkey_socket) as world:
        for address in (PRIVATE, OPEN, address_of(SessionId("task"))):
            lease = await shard_lease(world.leases, shard=shard_of(address.key))
            await world.inbox.add(InboxEvent("in.9", address, ADA, "Ada", address.key, T0))
            for entry in await world.inbox.read({lease.shard: "0"}, wait_s=0):
                await world.inbox.discard(entry, lease.token, reason=f"it raised {address.key}")
        for reader, reads in (("words", {OPEN.key}), ("all", {PRIVATE.key, OPEN.key, "task:task"})):
            async with who(world, reader) as http:
                letters = (await http.get("/bus/v1/dead-letters")).json()["letters"]
                assert {letter["text"] for letter in letters} - {None} == reads
                assert {letter["why"] for letter in letters} - {None} == {f"it raised {key}" for key in reads}


async def test_a_socket_of_the_bus_tells_no_words_of_closed_rooms(valkey_socket: Path) -> None:
    async with doors(valkey_socket) as world:
        headers = {"Authorization": "Bearer a-token-of-words"}
        url = f"{world.url.replace('http', 'ws')}/bus/v1/ws"
        async with connect(url, additional_headers=headers, proxy=None) as socket:
            data = {"types": [">"], "after": "oldest"}
            await socket.send(json.dumps({"type": "bus.subscribe", "id": "1", "source": "x", "data": data}))
            told = [await socket.recv() for _ in range(len(PLACES) + 1)]
        assert leaked("\n".join(map(str, told))) == set(PLACES) - CLOSED
