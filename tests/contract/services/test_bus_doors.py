"""`/bus/v1` on the real web server, over a real store: who may do what, and what is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from starlette.routing import BaseRoute, Route, WebSocketRoute
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from adapters.web.adapter import WebAdapter
from gateway.assembly.doors import bus_views
from gateway.clients import bus as bus_module
from gateway.clients import bus as bus_socket
from gateway.clients import feed as feed_module
from gateway.clients.bus import PREFIX, ClientBus
from gateway.clients.feed import ClientReaders, EventFeed, Reader
from gateway.clients.journals import ClosedRooms
from gateway.clients.requests import ClientAdmission
from gateway.clients.scopes import scopes_from
from gateway.clients.tasks.service import TaskDoor, TaskService
from gateway.web.app import ServiceMount, build_web
from gateway.web.guard import health_routes
from gateway.web.server import serve
from runtime.core.address import address_of
from runtime.core.clock import SystemClock
from runtime.core.errors import InboxFull
from runtime.core.ids import AgentId, PersonId, SessionId
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.event_log import RedisEventLog
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisLeaseStore, RedisNodeStore
from runtime.storage.redis.records import RedisRecords
from runtime.storage.redis.sessions.catalog import RedisSessionCatalog
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.orders import TaskLimits, TaskOrder
from runtime.stores.sessions import SHARDS, Commit, Lease, SessionRecord
from runtime.tape.facts.people import MessageHeard
from runtime.tape.facts.tasks import OrderOver
from runtime.tape.tape import Fact, agent_tape
from runtime.tape.view import AGENT_DONE, HUMAN_MESSAGE
from tests.contract.storage_samples import NODE, T0, beginning, shard_lease
from tests.fakes.clock import FakeClock
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.pages.console import console_ground
from tests.fakes.pages.web_chat import named_alone
from tests.unit.runtime.sessions import programs as small

pytestmark = pytest.mark.anyio

DOCUMENTS = Path(bus_module.__file__).parent
LIMITS = TaskLimits(within_s=60.0, tokens=1000)
OPENAPI = json.loads((DOCUMENTS / "openapi.json").read_text())
ASYNCAPI = json.loads((DOCUMENTS / "asyncapi.json").read_text())

BOUND = 20
"""The events of one shard that are kept."""

READERS = "readers"

TASK = SessionId("a-task-of-desk")


@dataclass(frozen=True)
class World:
    url: str
    log: RedisEventLog
    sessions: RedisSessionStore
    catalog: RedisSessionCatalog
    lease: Lease
    leases: RedisLeaseStore
    inbox: RedisInbox
    feed: EventFeed
    routes: Sequence[BaseRoute]

    def http(self, name: str, **headers: str) -> httpx.AsyncClient:
        """A client of this name."""
        own = {"authorization": f"Bearer {token_of(name)}", **headers}
        hooks = {"response": [as_described]}
        base = f"{self.url}/bus/v1"
        return httpx.AsyncClient(base_url=base, headers=own, timeout=60, trust_env=False, event_hooks=hooks)

    async def ask(self, name: str, method: str, path: str, **how: Any) -> httpx.Response:
        async with self.http(name) as http:
            return await http.request(method, path, **how)


def token_of(name: str) -> str:
    return f"a-token-of-{name}-in-tests"


def schema_of(schema: dict[str, Any], document: dict[str, Any]) -> Draft202012Validator:
    """A validator of a schema of a document."""
    return Draft202012Validator({**schema, "components": document.get("components", {})})


async def as_described(response: httpx.Response) -> None:
    """An answer is one that the document describes: path, method, status, and its content."""
    path = response.request.url.path.removeprefix("/bus/v1")
    wild = re.sub(r"^/tasks/[^/]+", "/tasks/{task}", path)
    operation = OPENAPI["paths"].get(wild, {}).get(response.request.method.lower())
    assert operation is not None, f"{response.request.method} {wild} is not described"
    described = operation["responses"].get(str(response.status_code))
    assert described is not None, f"{response.status_code} of {wild} is not described"
    kind = response.headers["content-type"].partition(";")[0]
    assert kind in described["content"]
    if kind == "application/json":
        await response.aread()
        schema_of(described["content"][kind]["schema"], OPENAPI).validate(response.json())


@asynccontextmanager
async def bus(socket: Path, **clients: Sequence[str]) -> AsyncIterator[World]:
    """A server with clients and their scopes, and a task of the program desk that is over."""
    clock = SystemClock()
    scopes = {name: scopes_from(texts) for name, texts in clients.items()}
    placed = small.python("Pack", "event", "item", trigger="EVT When the event order.placed arrives")
    count = small.python("Count", trigger="EVT Whenever an event order.> comes in")
    desk = small.agent("Runner", small.python("Fetch", public=True), code="")
    shop = replace(desk, playbooks=(*desk.playbooks, placed, count))
    programs = {name: replace(small.program(one), name=f"The {name}") for name, one in (("desk", desk), ("shop", shop))}
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(open_connection(socket, patience_s=20))
        log, inbox = RedisEventLog(connection, bound=BOUND), RedisInbox(connection)
        sessions = RedisSessionStore(connection)
        catalog = RedisSessionCatalog(connection)
        feed = EventFeed(log, ClientReaders(RedisRecords(connection, READERS), clock), ClosedRooms(catalog, sessions))
        admission = ClientAdmission({name: token_of(name) for name in clients}, scopes, FakeClock())
        made = ClientBus(
            admission,
            feed,
            TaskService(feed, TaskDoor(programs, sessions, inbox, clock, LIMITS)),
            RedisNodeStore(connection).living,
            RedisNodeStore(connection, fronts=True).living,
            catalog,
            ["scout"],
            clock,
            views=bus_views(console_ground(connection), admission),
        )
        leases = RedisLeaseStore(connection)
        lease = await shard_lease(leases)
        shard = shard_of(address_of(TASK).key)
        record = SessionRecord(TASK, address_of(TASK), "desk", T0, 0)
        over = OrderOver("completed", "fetched")
        fact = Fact(agent_tape(TASK, "1000"), 1, over.kind, T0, over.data())
        task_lease = await shard_lease(leases, NODE, shard) if shard != lease.shard else lease
        await sessions.commit(Commit(task_lease, TASK, 0, facts=(fact,), begin=record))
        app = build_web(
            WebAdapter(memory_tables(), clock),
            named_alone(),
            [ServiceMount(PREFIX, made.app()), *health_routes(list, None)],
        )
        tasks = await stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(feed.run)
        port = await tasks.start(serve, app, "127.0.0.1", 0)
        yield World(f"http://127.0.0.1:{port}", log, sessions, catalog, lease, leases, inbox, feed, made.app().routes)
        tasks.cancel_scope.cancel()


def build(number: int, **more: Any) -> dict[str, Any]:
    return {"type": "build.done", "id": str(number), "data": {"number": number}, **more}


async def said(world: World, text: str) -> None:
    """A person has written something in a conversation."""
    heard = MessageHeard("in.1", AgentId("1000"), PersonId("web:1"), "Ada", True, text)
    fact = Fact(agent_tape(SessionId("s1"), "1000"), 1, heard.kind, T0, heard.data())
    await world.sessions.commit(replace(beginning(world.lease), facts=(fact,), events=((1, HUMAN_MESSAGE),)))


ORDER: dict[str, Any] = {"agent": "Runner", "playbook": "Fetch"}

Deed = Callable[[World, str], Awaitable[bool]]


def asks(method: str, path: str, wanted: int, **how: Any) -> Deed:
    """Whether a request is answered as wanted; if not, it has to be refused."""

    async def deed(world: World, name: str) -> bool:
        found = await world.ask(name, method, path, **how)
        assert found.status_code in (wanted, 403, 404), found.text
        assert found.status_code == wanted or set(found.json()) == {"error"}
        return found.status_code == wanted

    return deed


def reads(type_: str) -> Deed:
    async def deed(world: World, name: str) -> bool:
        found = await world.ask(name, "GET", "/events", params={"after": "oldest"})
        if found.status_code == 403:
            return False
        return type_ in [event["type"] for event in found.json()["events"]]

    return deed


async def reads_words(world: World, name: str) -> bool:
    found = await world.ask(name, "GET", "/events", params={"after": "oldest"})
    return "secret" in found.text


async def connects_and_reads(world: World, name: str) -> bool:
    async with socket_of(world, name) as socket:
        await socket.send(json.dumps({"type": "bus.subscribe", "id": "1", "data": {"after": "oldest"}}))
        return bool((await heard(socket))["type"] == "bus.subscribed")


async def begins(world: World, name: str) -> bool:
    found = await world.ask(name, "POST", "/events", json={"type": "order.placed", "id": "1"})
    return found.status_code == 202 and found.json()["receivers"] == 2


DEEDS: dict[str, Deed] = {
    "reads messages": reads(HUMAN_MESSAGE),
    "reads their words": reads_words,
    "reads builds": reads("build.done"),
    "subscribes": connects_and_reads,
    "sends builds": asks("POST", "/events", 202, json=build(1)),
    "sends deploys": asks("POST", "/events", 202, json={"type": "deploy.done", "id": "1"}),
    "sends as another": asks("POST", "/events", 202, json=build(1, source="/sessions/s1")),
    "has shop begin": begins,
    "orders of desk": asks("POST", "/tasks", 201, json={"program": "desk", **ORDER}),
    "orders of shop": asks("POST", "/tasks", 201, json={"program": "shop", **ORDER}),
    "sees a task of desk": asks("GET", f"/tasks/{TASK}", 200),
    "ends a task of desk": asks("POST", f"/tasks/{TASK}/cancel", 202),
    "sees a conversation": asks("GET", "/tasks/s1", 200),
    "sees who is at work": asks("GET", "/agents", 200),
}

MAY: dict[str, tuple[list[str], set[str]]] = {
    "none": ([], set()),
    "content": (["content"], set()),
    "people": (["events:read:human.*"], {"reads messages", "subscribes"}),
    "words": (["events:read:human.*", "content"], {"reads messages", "reads their words", "subscribes"}),
    "agents": (["events:read:agent.*"], {"subscribes", "sees who is at work"}),
    "builds": (["events:read:build.>"], {"reads builds", "subscribes"}),
    "all": (["events:read:>"], {"reads messages", "reads builds", "subscribes", "sees who is at work"}),
    "builder": (["events:write:build.*"], {"sends builds"}),
    "writer": (["events:write:>"], {"sends builds", "sends deploys"}),
    "trigger": (["triggers:*"], set()),
    "other trigger": (["triggers:desk", "events:write:order.*"], set()),
    "shopper": (["triggers:shop", "events:write:order.*"], {"has shop begin"}),
    "desk": (["tasks:write:desk"], {"orders of desk", "ends a task of desk"}),
    "seer": (["tasks:read:desk"], {"sees a task of desk"}),
    "shop": (["tasks:write:shop", "tasks:read:shop"], {"orders of shop"}),
    "every": (
        ["tasks:write:*", "tasks:read:*"],
        {"orders of desk", "orders of shop", "ends a task of desk", "sees a task of desk"},
    ),
}


async def test_each_scope_allows_what_it_says_and_nothing_else(valkey_socket: Path) -> None:
    clients = {name: scopes for name, (scopes, _) in MAY.items()}
    async with bus(valkey_socket, ci=["events:write:>"], **clients) as world:
        await said(world, "secret")
        assert (await world.ask("ci", "POST", "/events", json=build(0))).status_code == 202
        for name, (_, may) in MAY.items():
            assert {deed for deed, does in DEEDS.items() if await does(world, name)} == may, name


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer wrong", f"Basic {token_of('ci')}", token_of("ci")]
)
async def test_without_a_known_token_nothing_is_answered(valkey_socket: Path, authorization: str | None) -> None:
    async with bus(valkey_socket, ci=["events:read:>"]) as world:
        headers = {} if authorization is None else {"authorization": authorization}
        async with httpx.AsyncClient(base_url=f"{world.url}/bus/v1", headers=headers, trust_env=False) as http:
            for path in ("/events", "/agents", f"/tasks/{TASK}", f"/events?token={token_of('ci')}"):
                assert (await http.get(path)).status_code == 401
        with pytest.raises(InvalidStatus) as refused:
            async with connect(f"{world.url.replace('http', 'ws')}/bus/v1/ws", additional_headers=headers, proxy=None):
                pass
        assert refused.value.response.status_code == 401


async def test_who_tries_many_tokens_is_refused_for_a_while_and_known_ones_go_on(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["events:read:>"]) as world:
        async with world.http("nobody") as http:
            tried = [(await http.get("/events")).status_code for _ in range(22)]
        assert tried == [401] * 20 + [429] * 2
        assert (await world.ask("ci", "GET", "/events")).status_code == 200


async def test_the_chat_answers_as_ever_beside_the_bus(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=[]) as world, httpx.AsyncClient(base_url=world.url, trust_env=False) as http:
        assert (await http.get("/healthz")).json() == {"status": "alive"}
        assert (await http.get("/nowhere")).text.startswith("There is nothing here.")
        assert (await http.get("/bus/v1/nowhere")).json() == {"error": "Not Found"}


async def test_an_event_is_taken_once_and_says_who_reads_it(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world, world.http("ci") as http:
        assert (await http.post("/events", json=build(1))).json() == {"accepted": 1, "known": 0, "receivers": 0}
        assert (await http.post("/events", json=build(1))).json() == {"accepted": 0, "known": 1, "receivers": 0}
        async with http.stream("GET", "/events", headers={"accept": "text/event-stream"}) as stream:
            assert stream.headers["x-accel-buffering"] == "no", "nginx keeps small pieces back unless told"
            lines = stream.aiter_lines()
            await anext(lines)
            batch = [build(1), build(2)]
            assert (await http.post("/events", json=batch)).json() == {"accepted": 1, "known": 1, "receivers": 1}


async def test_an_event_begins_each_playbook_whose_trigger_names_it_once_however_often_it_is_sent(
    valkey_socket: Path,
) -> None:
    async with bus(valkey_socket, till=["events:write:order.>", "triggers:shop"]) as world, world.http("till") as http:
        placed = {"type": "order.placed", "id": "7", "data": {"item": "tea", "count": 2}}
        assert (await http.post("/events", json=placed)).json() == {"accepted": 1, "known": 0, "receivers": 2}
        again = [placed, {"type": "order.placed.late", "id": "8", "data": "tea"}]
        assert (await http.post("/events", json=again)).json() == {"accepted": 1, "known": 1, "receivers": 2}
        waiting = await world.inbox.read(dict.fromkeys(range(SHARDS), "0"), wait_s=0)
    orders = {(order.playbook, order.event): order for order in (TaskOrder.read(one.event.text) for one in waiting)}
    assert len(waiting) == len(orders) == 3
    assert {one.event.program for one in waiting} == {"shop"}
    pack = orders["Pack", "order.placed"].arguments
    assert (pack["item"], pack["event"]["source"], pack["event"]["data"]["count"]) == ("tea", "/clients/till", 2)
    assert orders["Count", "order.placed"].arguments == orders["Count", "order.placed.late"].arguments == {}


async def test_where_nothing_more_fits_an_event_is_refused_whole_and_begins_what_it_did_not_begin_later(
    valkey_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed, fits = {"type": "order.placed", "id": "7"}, [True, False]
    add = RedisInbox.add

    async def full(self: RedisInbox, event: InboxEvent, /) -> bool:
        if not fits.pop(0):
            raise InboxFull("full")
        return await add(self, event)

    async with bus(valkey_socket, till=["events:write:>", "events:read:>", "triggers:shop"]) as world:
        async with world.http("till") as http:
            with monkeypatch.context() as patch:
                patch.setattr(RedisInbox, "add", full)
                assert (await http.post("/events", json=placed)).status_code == 503
            assert (await http.get("/events", params={"after": "oldest"})).json()["events"] == []
            assert (await http.post("/events", json=placed)).json()["accepted"] == 1
        assert len(await world.inbox.read(dict.fromkeys(range(SHARDS), "0"), wait_s=0)) == 2


async def test_who_reads_at_another_node_is_counted_as_well(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["events:write:>"]) as world, open_connection(valkey_socket) as connection:
        there = ClientReaders(RedisRecords(connection, READERS), SystemClock())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(there.run, lambda: [Reader(("build.*",), (">",), None)])
            while not await RedisRecords(connection, READERS).all():
                await anyio.lowlevel.checkpoint()
            sent = await world.ask("ci", "POST", "/events", json=[build(1), build(2)])
            assert sent.json() == {"accepted": 2, "known": 0, "receivers": 1}
            tasks.cancel_scope.cancel()
        assert await RedisRecords(connection, READERS).all() == {}


@pytest.mark.parametrize(
    "body", [[], [build(1)] * 101, "text", {"type": "bus.ack", "id": "1"}, {"id": "1"}, [build(1), {"id": "2"}]]
)
async def test_what_is_no_event_is_refused_and_none_of_a_batch_is_taken(valkey_socket: Path, body: object) -> None:
    async with bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world, world.http("ci") as http:
        assert (await http.post("/events", json=body)).status_code == 422
        assert (await http.get("/events", params={"after": "oldest"})).json()["events"] == []


@pytest.mark.parametrize(
    "data", ["NaN", "-Infinity", "1e999", r'"\ud800"', r'{"\udc00": 1}', "[" * 40_000, "1" * 5_000]
)
async def test_data_that_could_not_be_given_to_a_reader_is_refused(valkey_socket: Path, data: str) -> None:
    async with bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world, world.http("ci") as http:
        refused = await http.post("/events", content=f'{{"id": "1", "type": "build.done", "data": {data}}}')
        assert refused.status_code == 400
        assert refused.json()["error"].startswith("The request is not JSON: ")
        pair = await http.post("/events", content=rb'{"id": "1", "type": "build.done", "data": "\ud83d\ude00"}')
        assert pair.json() == {"accepted": 1, "known": 0, "receivers": 0}
        assert [event["data"] for event in (await http.get("/events?after=oldest")).json()["events"]] == ["😀"]


async def test_a_number_that_json_does_not_have_is_null_for_readers(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["events:read:>", "content", "tasks:read:*"]) as world, world.http("ci") as http:
        over = OrderOver("completed", {"mean": [math.nan, 1.5, math.inf]})
        fact = Fact(agent_tape(SessionId("s1"), "1000"), 1, over.kind, T0, over.data())
        await world.sessions.commit(replace(beginning(world.lease), facts=(fact,), events=((1, AGENT_DONE),)))
        wanted = {"mean": [None, 1.5, None]}
        assert [event["data"]["value"] for event in (await http.get("/events?after=oldest")).json()["events"]] == [
            wanted
        ]
        async with http.stream("GET", "/events?after=oldest", headers={"accept": "text/event-stream"}) as stream:
            written = await anext(line async for line in stream.aiter_lines() if line.startswith("data: "))
        assert json.loads(written.removeprefix("data: "), parse_constant=pytest.fail)["data"]["value"] == wanted


async def test_a_reader_goes_on_from_its_cursor_and_waits_for_what_comes(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world, world.http("ci") as http:
        now = (await http.get("/events")).json()
        assert now["events"] == []
        await http.post("/events", json=[build(number) for number in range(5)])
        first = (await http.get("/events", params={"after": now["cursor"], "limit": 2})).json()
        second = (await http.get("/events", params={"after": first["cursor"]})).json()
        assert [event["id"] for event in first["events"] + second["events"]] == ["0", "1", "2", "3", "4"]
        found: list[Any] = []

        async def wait() -> None:
            answer = await http.get("/events", params={"after": second["cursor"], "wait_s": 60, "type": "deploy.*"})
            found.extend(answer.json()["events"])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await http.post("/events", json=build(7))
            await http.post("/events", json={"type": "deploy.done", "id": "8", "subject": "eu"})
        assert [(event["id"], event["subject"]) for event in found] == [("8", "eu")]
        chosen = await http.get("/events", params={"after": "oldest", "subject": "eu"})
        assert [event["id"] for event in chosen.json()["events"]] == ["8"]


async def test_every_page_is_full_until_the_end_however_much_lies_between_what_is_wanted(
    valkey_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "READ_AT_ONCE", 3)
    async with bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world, world.http("ci") as http:
        wanted = {"5", "6", "17"}
        events = [build(n) | ({"type": "deploy.done"} if str(n) in wanted else {}) for n in range(BOUND)]
        await http.post("/events", json=events)
        asked: dict[str, str | int] = {"type": "deploy.*", "limit": 2}
        first = (await http.get("/events", params={"after": "oldest", **asked})).json()
        second = (await http.get("/events", params={"after": first["cursor"], **asked})).json()
        assert [[event["id"] for event in page["events"]] for page in (first, second)] == [["5", "6"], ["17"]]
        assert (first["more"], second["more"]) == (True, False)
        monkeypatch.setattr(feed_module, "LOOKED_AT", 4)
        stopped = (await http.get("/events", params={"after": first["cursor"], **asked})).json()
        assert (stopped["events"], stopped["more"]) == ([], True)


async def test_who_comes_too_late_is_told_where_to_go_on(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world, world.http("ci") as http:
        start = (await http.get("/events")).json()["cursor"]
        await http.post("/events", json=[build(number) for number in range(BOUND + 1)])
        for headers in ({}, {"accept": "text/event-stream"}):
            late = await http.get("/events", params={"after": start}, headers=headers)
            assert late.status_code == 410
            rest = await http.get("/events", params={"after": late.json()["oldest"]})
            assert [event["id"] for event in rest.json()["events"]] == [str(number) for number in range(1, BOUND + 1)]


@pytest.mark.parametrize("query", ["after=x", "type=..", "wait_s=-1", "wait_s=61", "limit=x", "limit=1001"])
async def test_a_bad_question_is_refused(valkey_socket: Path, query: str) -> None:
    async with bus(valkey_socket, ci=["events:read:>"]) as world:
        found = await world.ask("ci", "GET", f"/events?{query}")
        assert found.status_code == 422
        assert set(found.json()) == {"error"}


async def test_a_stream_goes_on_after_the_last_id(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world, world.http("ci") as http:
        streams = {"accept": "text/event-stream"}
        ids: list[str] = []
        seen: list[str] = []

        async def read(count: int, headers: dict[str, str]) -> None:
            async with http.stream("GET", "/events", headers={**streams, **headers}) as stream:
                async for line in stream.aiter_lines():
                    name, _, value = line.partition(": ")
                    if name == "id":
                        ids.append(value)
                    elif name == "data":
                        seen.append(json.loads(value)["id"])
                    elif not line and len(seen) >= count:
                        return

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, 1, {})
            while not ids:
                await anyio.lowlevel.checkpoint()
            await http.post("/events", json=build(1))
        await http.post("/events", json=[build(2), build(3)])
        await read(3, {"last-event-id": ids[-1]})
        assert seen == ["1", "2", "3"]


@asynccontextmanager
async def socket_of(world: World, name: str = "ci") -> AsyncIterator[ClientConnection]:
    headers = {"authorization": f"Bearer {token_of(name)}"}
    url = world.url.replace("http", "ws")
    async with connect(f"{url}/bus/v1/ws", additional_headers=headers, proxy=None) as socket:
        yield socket


async def heard(socket: ClientConnection) -> dict[str, Any]:
    """The next frame, which has to be one that the document describes."""
    found: dict[str, Any] = json.loads(await socket.recv())
    names = [message["$ref"].rpartition("/")[2] for message in ASYNCAPI["operations"]["send"]["messages"]]
    described = [ASYNCAPI["components"]["messages"][name]["payload"] for name in names]
    assert any(schema_of(schema, ASYNCAPI).is_valid(found) for schema in described), found
    return found


async def told(socket: ClientConnection, **frame: Any) -> dict[str, Any]:
    await socket.send(json.dumps(frame))
    return await heard(socket)


async def test_a_socket_subscribes_sends_and_acknowledges(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["events:write:>", "events:read:build.*"]) as world, socket_of(world) as socket:
        subscribed = await told(socket, type="bus.subscribe", id="a", data={"types": ["build.*"]})
        assert (subscribed["type"], subscribed["correlationid"]) == ("bus.subscribed", "a")
        await socket.send(json.dumps(build(1)))
        frames = [await heard(socket) for _ in range(2)]
        ack, event = sorted(frames, key=lambda frame: frame["type"] != "bus.ack")
        assert (ack["correlationid"], ack["data"]) == ("1", {"accepted": 1, "known": 0, "receivers": 1})
        assert (event["type"], event["source"], event["data"]) == ("build.done", "/clients/ci", {"number": 1})
        assert (await world.ask("ci", "GET", "/events", params={"after": event["cursor"]})).json()["events"] == []
        foreign = await told(socket, **build(2, source="/clients/bob"))
        assert (foreign["type"], foreign["correlationid"], foreign["data"]["status"]) == ("bus.refused", "2", 403)
        unknown = await told(socket, type="bus.dance", id="b")
        assert (unknown["type"], unknown["data"]["status"]) == ("bus.refused", 422)


async def test_a_socket_goes_on_from_a_cursor(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world:
        await world.ask("ci", "POST", "/events", json=[build(number) for number in range(4)])
        async with socket_of(world) as socket:
            await told(socket, type="bus.subscribe", id="a", data={"after": "oldest"})
            seen = [await heard(socket) for _ in range(2)]
        async with socket_of(world) as socket:
            await told(socket, type="bus.subscribe", id="a", data={"after": seen[-1]["cursor"]})
            seen += [await heard(socket) for _ in range(2)]
        assert [event["id"] for event in seen] == ["0", "1", "2", "3"]


async def closing(socket: ClientConnection) -> AsyncIterator[str | bytes]:
    """What comes until the socket is closed."""
    try:
        while True:
            yield await socket.recv()
    except ConnectionClosed:
        return


async def test_who_acknowledges_nothing_is_closed_and_goes_on_where_it_was(
    valkey_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_socket, "WINDOW", 3)
    monkeypatch.setattr(bus_socket, "SLOW_S", 0.05)
    async with bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world:
        await world.ask("ci", "POST", "/events", json=[build(number) for number in range(6)])
        seen: list[dict[str, Any]] = []
        codes: list[int | None] = []
        after = "oldest"
        while len(seen) < 6:
            async with socket_of(world) as socket:
                await told(socket, type="bus.subscribe", id="a", data={"after": after})
                seen += [json.loads(frame) async for frame in closing(socket)]
            codes.append(socket.close_code)
            after = seen[-1]["cursor"]
        assert codes == [bus_socket.CLOSE_SLOW] * 2
        assert [event["id"] for event in seen] == [str(number) for number in range(6)]


async def test_who_acknowledges_gets_everything_on_one_socket(
    valkey_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_socket, "WINDOW", 3)
    async with bus(valkey_socket, ci=["events:write:>", "events:read:>"]) as world, socket_of(world) as socket:
        await world.ask("ci", "POST", "/events", json=[build(number) for number in range(9)])
        await told(socket, type="bus.subscribe", id="a", data={"after": "oldest"})
        seen = []
        for _ in range(9):
            seen.append(await heard(socket))
            await socket.send(json.dumps({"type": "bus.ack", "data": {"cursor": seen[-1]["cursor"]}}))
        assert [event["id"] for event in seen] == [str(number) for number in range(9)]


async def test_an_order_is_known_by_its_key_and_waits_in_the_inbox_of_the_task(valkey_socket: Path) -> None:
    scopes = ["tasks:write:desk", "tasks:read:desk"]
    async with bus(valkey_socket, ci=scopes, other=scopes) as world, world.http("ci") as http:
        order = {"program": "desk", **ORDER, "key": "k", "arguments": {"topic": "tides"}}
        first = await http.post("/tasks", json=order)
        again = await http.post("/tasks", json=order)
        others = await world.ask("other", "POST", "/tasks", json=order)
        assert (first.status_code, again.status_code, others.status_code) == (201, 200, 201)
        assert first.json() == again.json() != others.json()
        task = SessionId(first.json()["task"])
        shard = shard_of(address_of(task).key)
        waiting = [entry.event for entry in await world.inbox.read({shard: "0"}, wait_s=1)]
        (event,) = [event for event in waiting if event.address == address_of(task)]
        assert (event.kind, event.program, json.loads(event.text)["arguments"]) == ("task", "desk", {"topic": "tides"})
        assert (await http.get(f"/tasks/{task}")).json() == {"task": task, "status": "submitted"}
        late = await http.get(f"/tasks/{task}/result")
        assert (late.status_code, late.json()["status"]) == (202, "submitted")
        speaks = {"id": "1", "text": "and rivers"}
        assert (await http.post(f"/tasks/{task}/messages", json=speaks)).json() == {"accepted": 1, "known": 0}
        assert (await http.post(f"/tasks/{task}/messages", json=speaks)).json() == {"accepted": 0, "known": 1}


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({}, (1000, 0)),
        ({"tokens": 50, "dollars": 0.5}, (50, 0.5)),
        ({"tokens": 5000}, (1000, 0)),
    ],
)
async def test_an_order_has_limits_of_its_own_within_those_of_the_settings(
    valkey_socket: Path, limits: Mapping[str, float], kept: tuple[int, float]
) -> None:
    async with bus(valkey_socket, ci=["tasks:write:desk"]) as world, world.http("ci") as http:
        ordered = await http.post("/tasks", json={"program": "desk", **ORDER, "limits": limits})
        task = SessionId(ordered.json()["task"])
        waiting = [entry.event for entry in await world.inbox.read({shard_of(address_of(task).key): "0"}, wait_s=1)]
        (letter,) = [TaskOrder.read(event.text) for event in waiting if event.address == address_of(task)]
        assert (letter.tokens, letter.dollars, letter.root) == (*kept, task)


async def test_a_task_that_is_done_answers_at_once(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["tasks:read:desk", "tasks:write:desk"]) as world, world.http("ci") as http:
        found = await http.get(f"/tasks/{TASK}/result", params={"wait_s": 60})
        assert found.json() == {"task": TASK, "status": "completed", "value": "fetched"}
        late = await http.post(f"/tasks/{TASK}/messages", json={"id": "1", "text": "late"})
        assert late.status_code == 409


@pytest.mark.parametrize(
    "order",
    [
        [],
        {"program": "desk"},
        {"program": "desk", "agent": "Nobody", "playbook": "Fetch"},
        {"program": "desk", "agent": "Runner", "playbook": "Hide"},
        {"program": "desk", **ORDER, "arguments": []},
        {"program": "desk", **ORDER, "within_s": 0},
        {"program": "desk", **ORDER, "within_s": True},
        {"program": "desk", **ORDER, "limits": [5]},
        {"program": "desk", **ORDER, "limits": {"tokens": 0}},
        {"program": "desk", **ORDER, "limits": {"dollars": "1"}},
        {"program": "desk", **ORDER, "limits": {"depth": 9}},
        {"program": "desk", **ORDER, "key": ""},
        {"program": "desk", **ORDER, "colour": "red"},
        {"program": "nowhere", **ORDER},
    ],
)
async def test_what_is_no_order_is_refused(valkey_socket: Path, order: object) -> None:
    async with bus(valkey_socket, ci=["tasks:write:*"]) as world:
        found = await world.ask("ci", "POST", "/tasks", json=order)
        assert found.status_code == 422
        assert set(found.json()) == {"error"}


async def test_those_at_work_are_listed(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=["events:read:>", "tasks:read:*"]) as world:
        found = (await world.ask("ci", "GET", "/agents")).json()
        assert [(task["task"], task["program"]) for task in found["tasks"]] == [(TASK, "desk")]
        assert found["participants"] == [{"name": "scout"}]
        assert found["clients"] == [{"name": "ci", "connections_here": 0}]


async def test_the_documents_are_served_to_everybody_and_describe_every_route(valkey_socket: Path) -> None:
    async with bus(valkey_socket, ci=[]) as world, httpx.AsyncClient(base_url=world.url, trust_env=False) as http:
        assert (await http.get("/bus/v1/openapi.json")).json() == OPENAPI
        assert (await http.get("/bus/v1/asyncapi.json")).json() == ASYNCAPI
        routes = {
            (route.path, method.lower())
            for route in world.routes
            if isinstance(route, Route)
            for method in route.methods or ()
            if method != "HEAD"
        }
        sockets = [route.path for route in world.routes if isinstance(route, WebSocketRoute)]
    methods = ("get", "post", "put", "delete", "patch")
    described = {(path, method) for path, item in OPENAPI["paths"].items() for method in methods if method in item}
    assert routes == described
    assert sockets == [channel["address"] for channel in ASYNCAPI["channels"].values()]


@pytest.mark.parametrize("document", [OPENAPI, ASYNCAPI], ids=["openapi", "asyncapi"])
def test_every_reference_of_a_document_leads_somewhere_and_every_schema_is_one(document: dict[str, Any]) -> None:
    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if "$ref" in node:
                found: Any = document
                for part in node["$ref"].removeprefix("#/").split("/"):
                    found = found[part]
            for name in ("schema", "payload"):
                if name in node:
                    Draft202012Validator.check_schema(node[name])
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(document)
