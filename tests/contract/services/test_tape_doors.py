"""`/tape/v1` on the real web server: who may do what, and what becomes of it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from starlette.routing import Route

from adapters.web.adapter import WebAdapter
from gateway.clients.journals import TAPES, ClientJournals
from gateway.clients.requests import ClientAdmission
from gateway.clients.scopes import scopes_from
from gateway.features.notebooks.door import DOCUMENT, TapeService
from gateway.features.notebooks.search import routes as journal_search
from gateway.features.notebooks.search import routes as search_routes
from gateway.features.notebooks.search.search import NotebookSearch
from gateway.features.notebooks.tapes import NamedTapes
from gateway.overview.session_views import SessionViews
from gateway.web.app import ServiceMount, build_web
from gateway.web.guard import health_routes
from gateway.web.server import serve
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.ids import SessionId
from runtime.sessions.versions import NoVersions
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore
from runtime.stores.inbox import FORK_WANTED
from runtime.stores.kept import ModelCall
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.snapshot import Snapshot, TapeMoments
from tests.contract.sessions.test_lineage import facts_of
from tests.contract.storage_samples import HERE, SESSION, SHARD, T0, beginning, shard_lease
from tests.fakes.clock import FakeClock
from tests.fakes.memory.catalog import MemorySessionCatalog
from tests.fakes.memory.notebooks import MemoryNotebooks
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.memory.sessions import OpenSessionStore
from tests.fakes.pages.web_chat import named_alone

pytestmark = pytest.mark.anyio

OPENAPI = json.loads(DOCUMENT.read_text())
JOURNAL = f"sessions.{SESSION}"
ALL = ["tapes:read:*", "tapes:write:*", "tapes:read:sessions.*", "tapes:write:sessions.*", "content"]


@dataclass(frozen=True)
class World:
    url: str
    notebooks: MemoryNotebooks
    sessions: OpenSessionStore
    inbox: MemoryInbox
    lease: Lease
    routes: Sequence[Any]

    def http(self, name: str = "ci", **headers: str) -> httpx.AsyncClient:
        own = {"authorization": f"Bearer {token_of(name)}", **headers}
        hooks = {"response": [as_described]}
        base = f"{self.url}/tape/v1"
        # A context for TLS, which is not spoken here, takes long to make.
        return httpx.AsyncClient(
            base_url=base, headers=own, timeout=20, trust_env=False, verify=False, event_hooks=hooks
        )

    async def ask(self, method: str, path: str, name: str = "ci", **how: Any) -> httpx.Response:
        async with self.http(name) as http:
            return await http.request(method, path, **how)

    async def post(self, path: str, data: Any, status: int = 201) -> Any:
        answer = await self.ask("POST", path, json=data)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def get(self, path: str, **params: Any) -> Any:
        answer = await self.ask("GET", path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def write(self, tape: str, *texts: str, **more: Any) -> Any:
        return await self.post(f"/tapes/{tape}/entries", {"entries": [note(text) for text in texts], **more})

    async def texts(self, tape: str, **params: Any) -> list[str]:
        found = await self.get(f"/tapes/{tape}/entries", **params)
        return [f"{entry['id']} {entry['payload'].get('text')}" for entry in found["entries"]]


def token_of(name: str) -> str:
    return f"a-token-of-{name}-in-tests"


def note(text: str) -> dict[str, Any]:
    return {"kind": "message", "payload": {"role": "user", "text": text}}


class NoCalls:
    """A store of calls that has none."""

    async def keep(self, call: ModelCall, /) -> None:
        raise AssertionError("nothing asks a model here")

    async def spend(self, session: SessionId, amounts: Mapping[str, float], /) -> None:
        raise AssertionError("nothing asks a model here")

    async def between(self, session: SessionId, after: int, until: int, /) -> Sequence[ModelCall]:
        return []


async def no_snapshot(session: SessionId, version: str, seq: int) -> Snapshot | None:
    return None


async def as_described(response: httpx.Response) -> None:
    """An answer is one that the document describes: path, method, status, and its content."""
    path = response.request.url.path.removeprefix("/tape/v1")
    wild = re.sub(r"^/tapes/[^/]+", "/tapes/{tape}", path)
    operation = OPENAPI["paths"].get(wild, {}).get(response.request.method.lower())
    assert operation is not None, f"{response.request.method} {wild} is not described"
    described = operation["responses"].get(str(response.status_code))
    assert described is not None, f"{response.status_code} of {wild} is not described"
    kind = response.headers["content-type"].partition(";")[0]
    assert kind in described["content"]
    if kind == "application/json":
        await response.aread()
        schema = {**described["content"][kind]["schema"], "components": OPENAPI["components"]}
        Draft202012Validator(schema).validate(response.json())


@asynccontextmanager
async def service(
    clients: Mapping[str, Sequence[str]] | None = None, *, notebooks: int = 20, entries: int = 10_000
) -> AsyncIterator[World]:
    clock, leases = SystemClock(), MemoryLeaseStore(SystemClock())
    inbox, kept = MemoryInbox(leases), MemoryNotebooks(notebooks=notebooks, entries=entries)
    sessions = OpenSessionStore(leases, inbox)
    catalog, lease = MemorySessionCatalog(sessions, leases), await shard_lease(leases)
    await sessions.commit(replace(beginning(lease), facts=facts_of(SESSION, 1, "one", "two")))
    scopes = {name: scopes_from(texts) for name, texts in {"ci": ALL, **(clients or {})}.items()}
    admission = ClientAdmission({name: token_of(name) for name in scopes}, scopes, FakeClock())
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        search = stack.enter_context(closing(NotebookSearch(kept, folder / "index")))
        tapes, journals = NamedTapes(kept, catalog, sessions), ClientJournals(catalog, inbox, clock)
        moments = TapeMoments(sessions, no_snapshot)
        views = SessionViews(admission, catalog, sessions, moments, {}, NoVersions(), NoCalls())
        made = TapeService(admission, tapes, journals, search, clock, views.routes())
        app = build_web(
            WebAdapter(memory_tables(), clock),
            named_alone(),
            [ServiceMount(TAPES, made.app()), *health_routes(list, None)],
        )
        tasks = await stack.enter_async_context(anyio.create_task_group())
        port = await tasks.start(serve, app, "127.0.0.1", 0)
        yield World(f"http://127.0.0.1:{port}", kept, sessions, inbox, lease, made.app().routes)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def stream(world: World, path: str, **headers: str) -> AsyncIterator[AsyncIterator[dict[str, str]]]:
    """Server-sent events, each as its fields."""
    async with world.http(**headers) as http, http.stream("GET", path) as response:
        assert response.headers["x-accel-buffering"] == "no", "nginx keeps small pieces back unless told"
        assert response.status_code == 200, await response.aread()
        yield _events(response)


async def _events(response: httpx.Response) -> AsyncIterator[dict[str, str]]:
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif fields:
            yield fields
            fields = {}


async def next_of(events: AsyncIterator[dict[str, str]], count: int) -> list[dict[str, str]]:
    with anyio.fail_after(20):
        return [await anext(events) for _ in range(count)]


async def test_entries_are_appended_guarded_by_the_head_and_known_by_their_key() -> None:
    async with service() as world:
        assert await world.write("plan", "a", "b", expect="none", key="k") == {"first": 1, "last": 2}
        again = {"entries": [note("a"), note("b")], "expect": "none", "key": "k"}
        assert await world.post("/tapes/plan/entries", again, 200) == {"first": 1, "last": 2}
        assert await world.write("plan", "c", expect=2) == {"first": 3, "last": 3}
        moved = await world.post("/tapes/plan/entries", {"entries": [note("d")], "expect": 2}, 412)
        assert moved["head"] == 3
        await world.post("/tapes/plan/entries", {"entries": [note("d")], "expect": "none"}, 412)
        found = await world.get("/tapes/plan/entries", after=2)
        assert found["entries"][0] == {**note("c"), "id": 3, "meta": {}, "date": found["entries"][0]["date"]}
        assert (found["head"], found["branch"], found["next"]) == (3, 0, None)


async def test_entries_are_read_by_range_in_reverse_by_kind_and_in_pages() -> None:
    async with service() as world:
        await world.write("plan", *"abcdefgh")
        await world.post("/tapes/plan/entries", {"entries": [{"kind": "event", "payload": {"text": "e"}}]})
        assert await world.texts("plan", after=2, until=4) == ["3 c", "4 d"]
        assert await world.texts("plan", reverse=1, limit=2) == ["9 e", "8 h"]
        assert await world.texts("plan", kinds="event,error") == ["9 e"]
        pages = [await world.get("/tapes/plan/entries", limit=4)]
        while pages[-1]["next"] is not None:
            pages.append(await world.get("/tapes/plan/entries", after=pages[-1]["next"], limit=4))
        assert [[entry["id"] for entry in page["entries"]] for page in pages] == [[1, 2, 3, 4], [5, 6, 7, 8], [9]]
        back = await world.get("/tapes/plan/entries", reverse="true", limit=8)
        assert (await world.get("/tapes/plan/entries", reverse="true", until=back["next"]))["entries"][0]["id"] == 1
        assert (await world.ask("GET", "/tapes/plan/entries", params={"limit": "all"})).status_code == 422
        assert (await world.ask("GET", "/tapes/none/entries")).status_code == 404


async def test_a_summary_is_in_the_context_after_a_compaction() -> None:
    async with service() as world:
        await world.write("plan", "a", "b")
        done = await world.post("/tapes/plan/compact", {"summary": "a and b", "state": {"owner": "ada"}})
        assert done == {"anchor": 3, "range": [1, 2]}
        await world.write("plan", "c")
        context = (await world.get("/tapes/plan/entries", since="*"))["entries"]
        assert [entry["id"] for entry in context] == [3, 4]
        assert context[0]["payload"] == {
            "name": "compact",
            "state": {"owner": "ada", "summary": "a and b", "range": [1, 2]},
        }
        await world.post("/tapes/plan/compact", {"summary": "c", "name": "phase"})
        assert [one[0] for one in await world.texts("plan", since="compact")] == ["3", "4", "5"]
        assert [one[0] for one in await world.texts("plan", since="phase")] == ["5"]
        assert len(await world.texts("plan", since="unknown")) == 5
        await world.post("/tapes/plan/compact", {"summary": "late", "expect": 2}, 412)


async def test_forks_and_rollbacks_keep_what_is_behind_them_and_list_it() -> None:
    async with service() as world:
        await world.write("plan", *"abc")
        assert await world.post("/tapes/plan/fork", {"name": "try", "at": 2}) == {"tape": "try", "head": 2}
        await world.post("/tapes/plan/fork", {"name": "try", "at": 2}, 200)
        await world.post("/tapes/plan/fork", {"name": "try", "at": 1}, 409)
        await world.post("/tapes/plan/fork", {"name": "far", "at": 4}, 404)
        moved = await world.post("/tapes/plan/rollback", {"to": 1, "expect": 2}, 412)
        assert moved["head"] == 3
        assert await world.post("/tapes/plan/rollback", {"to": 1, "expect": 3}, 200) == {"head": 1, "branch": 1}
        await world.write("plan", "x")
        assert await world.texts("plan") == ["1 a", "2 x"]
        assert await world.texts("plan", branch=0) == ["1 a", "2 b", "3 c"]
        assert await world.texts("try") == ["1 a", "2 b"]
        await world.post("/tapes/plan/fork", {"name": "back", "branch": 0})
        assert await world.texts("back") == ["1 a", "2 b", "3 c"]
        about = await world.get("/tapes/plan")
        assert about["branches"] == [
            {"branch": 0, "from": None, "at": 0, "head": 3},
            {"branch": 1, "from": 0, "at": 1, "head": 2},
        ]
        manifest = (await world.get("/manifest"))["tapes"]
        assert manifest["plan"]["forks"] == ["back", "try"]
        assert manifest["try"]["fork_of"] == {"tape": "plan", "at": 2}
        assert (await world.get("/tapes", limit=2)) == {"tapes": ["back", "plan"], "next": "plan"}
        assert (await world.get("/tapes", after="plan")) == {"tapes": ["try"], "next": None}


async def test_what_a_fork_gains_is_merged_once() -> None:
    async with service() as world:
        await world.write("plan", "a")
        await world.post("/tapes/plan/fork", {"name": "try"})
        await world.write("try", "b", "c")
        merged = await world.post("/tapes/plan/merge", {"from": "try", "as": "entries", "moved": "fail"})
        assert merged == {"merged": 2, "first": 2, "last": 3, "head": 3}
        assert (await world.post("/tapes/plan/merge", {"from": "try", "as": "entries"}, 200))["merged"] == 0
        await world.write("try", "d")
        await world.post("/tapes/plan/merge", {"from": "try", "as": "entries", "moved": "fail"})
        assert await world.texts("plan") == ["1 a", "2 b", "3 c", "4 d"]
        found = (await world.get("/tapes/plan/entries", after=3))["entries"][0]
        assert found["meta"] == {"from_tape": "try", "from_id": 4}
        await world.write("try", "e", "result")
        await world.write("plan", "mine")
        moved = await world.post("/tapes/plan/merge", {"from": "try", "moved": "fail"}, 412)
        assert moved["head"] == 5
        await world.post("/tapes/plan/merge", {"from": "try", "as": "result"})
        last = (await world.get("/tapes/plan/entries", after=5))["entries"]
        assert [(one["payload"]["text"], one["meta"]) for one in last] == [
            ("result", {"from_tape": "try", "from_ids": [5, 6]})
        ]
        await world.post("/tapes/try/rollback", {"to": 5}, 200)
        await world.post("/tapes/plan/merge", {"from": "try"}, 409)


async def test_a_fork_that_is_merged_and_rebased_goes_on_from_where_it_was_merged() -> None:
    async with service() as world:
        await world.write("plan", "a")
        await world.post("/tapes/plan/fork", {"name": "try"})
        await world.write("try", "b")
        await world.write("plan", "mine")
        for text, merged in (("c", 2), ("d", 1)):
            await world.write("try", text)
            how = {"from": "try", "as": "entries", "moved": "rebase"}
            assert (await world.post("/tapes/plan/merge", how))["merged"] == merged
            assert (await world.post("/tapes/plan/merge", how, 200))["merged"] == 0
            assert await world.texts("try") == await world.texts("plan")
        assert await world.texts("plan") == ["1 a", "2 mine", "3 b", "4 c", "5 d"]
        assert await world.texts("try", branch=0) == ["1 a", "2 b", "3 c"]
        await world.write("try", "e")
        await world.post("/tapes/plan/merge", {"from": "try", "as": "entries", "moved": "fail"})


async def test_who_follows_a_notebook_hears_what_comes_and_that_the_head_moved_back() -> None:
    async with service() as world:
        await world.write("plan", "a", "b")
        async with stream(world, "/tapes/plan/follow?after=1") as events:
            assert [event["id"] for event in await next_of(events, 2)] == ["0.1", "0.2"]
            await world.write("plan", "c")
            heard = await next_of(events, 1)
            assert json.loads(heard[0]["data"])["payload"]["text"] == "c"
            await world.post("/tapes/plan/rollback", {"to": 1}, 200)
            assert await next_of(events, 1) == [{"event": "rollback", "id": "1.1", "data": '{"head":1,"branch":1}'}]
            await world.write("plan", "x")
            assert [event["id"] for event in await next_of(events, 1)] == ["1.2"]
        async with stream(world, "/tapes/plan/follow", **{"last-event-id": "0.3"}) as events:
            again = await next_of(events, 3)
            assert [(event["id"], event.get("event")) for event in again] == [
                ("0.3", None),
                ("1.1", "rollback"),
                ("1.2", None),
            ]
        refused = await world.ask("GET", "/tapes/plan/follow", headers={"last-event-id": "7.1"})
        assert refused.status_code == 422


async def test_a_notebook_is_followed_before_its_first_entry() -> None:
    async with service() as world, stream(world, "/tapes/diary/follow") as events:
        assert [event["id"] for event in await next_of(events, 1)] == ["0.0"]
        await world.write("diary", "a", "b")
        assert [event["id"] for event in await next_of(events, 2)] == ["0.1", "0.2"]
        for path in ("/tapes/diary", "/tapes/poems"):
            refused = await world.ask("GET", f"{path}/follow?branch=7")
            assert refused.status_code == 404
        assert (await world.ask("GET", f"/tapes/{JOURNAL}x/follow")).status_code == 404


async def test_the_journal_of_a_session_is_read_and_followed_but_never_appended() -> None:
    async with service({"deaf": ["tapes:read:sessions.*"], "narrow": ["tapes:read:*"]}) as world:
        found = await world.get(f"/tapes/{JOURNAL}/entries")
        assert [(entry["id"], entry["kind"]) for entry in found["entries"]] == [(1, "said"), (2, "said")]
        assert "one" in json.dumps(found)
        silent = await world.ask("GET", f"/tapes/{JOURNAL}/entries", "deaf")
        assert silent.status_code == 200
        assert "one" not in silent.text
        assert (await world.ask("GET", f"/tapes/{JOURNAL}/entries", "narrow")).status_code == 403
        assert (await world.get("/tapes", kind="journal"))["tapes"] == [JOURNAL]
        async with stream(world, f"/tapes/{JOURNAL}/follow?after=0") as events:
            assert [event["id"] for event in await next_of(events, 3)] == ["0.0", "0.1", "0.2"]
            await world.sessions.commit(Commit(world.lease, SESSION, 2, facts=facts_of(SESSION, 3, "three")))
            assert json.loads((await next_of(events, 1))[0]["data"])["id"] == 3
        for path, data in (
            ("entries", {"entries": [note("a")]}),
            ("compact", {"summary": "short"}),
            ("merge", {"from": "plan"}),
        ):
            refused = await world.ask("POST", f"/tapes/{JOURNAL}/{path}", json=data)
            assert refused.status_code == 409, path
        assert "event" in (await world.ask("POST", f"/tapes/{JOURNAL}/entries", json={})).json()["error"]
        exported = await world.ask("GET", f"/tapes/{JOURNAL}/export")
        assert [json.loads(line)["id"] for line in exported.text.splitlines()] == [1, 2, 3]


async def test_a_rollback_or_fork_of_a_journal_is_asked_of_the_session_once() -> None:
    async with service() as world:
        for path, data in (("rollback", {"exchanges": 2, "key": "k"}), ("fork", {"title": "Elsewhere", "key": "k"})):
            assert await world.post(f"/tapes/{JOURNAL}/{path}", data, 202) == {"accepted": 1, "known": 0}
            assert await world.post(f"/tapes/{JOURNAL}/{path}", data, 202) == {"accepted": 0, "known": 1}
        waiting = [entry.event for entry in await world.inbox.read({SHARD: "0-0"}, wait_s=0)]
        assert [(event.kind, event.text, event.by_owner) for event in waiting] == [
            ("undo", "2", True),
            (FORK_WANTED, "Elsewhere", True),
        ]
        await world.post("/tapes/sessions.nobody/rollback", {}, 404)


MAY: dict[str, set[str]] = {
    "tapes:read:plan": {"read"},
    "tapes:write:plan": {"write"},
    "tapes:read:p*": {"read"},
    "tapes:read:other": set(),
    "tapes:read:sessions.*": {"journal"},
    "tapes:write:*": {"write"},
    "content": set(),
    "events:read:>": set(),
}


async def test_each_scope_allows_what_it_says_and_nothing_else() -> None:
    clients = {f"c{number}": [scope] for number, scope in enumerate(MAY)}
    async with service(clients) as world:
        await world.write("plan", "a")
        for name, may in zip(clients, MAY.values(), strict=True):
            asked = {
                "read": await world.ask("GET", "/tapes/plan/entries", name),
                "write": await world.ask("POST", "/tapes/plan/entries", name, json={"entries": [note("b")]}),
                "journal": await world.ask("GET", f"/tapes/{JOURNAL}", name),
                "undo": await world.ask("POST", f"/tapes/{JOURNAL}/rollback", name, json={}),
            }
            assert {what for what, answer in asked.items() if answer.status_code != 403} == may, clients[name]
            listed = (await world.ask("GET", "/tapes", name)).json()["tapes"]
            assert listed == (["plan"] if "read" in may else [])
        assert (await world.ask("GET", "/tapes", "unknown")).status_code == 401


async def test_a_fork_or_merge_needs_scopes_for_both_tapes() -> None:
    async with service({"it": ["tapes:read:plan", "tapes:write:my.*"]}) as world:
        await world.write("plan", "a")
        assert (await world.ask("POST", "/tapes/plan/fork", "it", json={"name": "my.try"})).status_code == 201
        assert (await world.ask("POST", "/tapes/plan/fork", "it", json={"name": "try"})).status_code == 403
        assert (await world.ask("POST", "/tapes/plan/merge", "it", json={"from": "my.try"})).status_code == 403
        assert (await world.ask("POST", "/tapes/my.try/merge", "it", json={"from": "plan"})).status_code == 200


REFUSED: list[tuple[str, Any, int]] = [
    ("/tapes/plan/entries", {"entries": []}, 422),
    ("/tapes/plan/entries", {"entries": [{"payload": 1}]}, 422),
    ("/tapes/plan/entries", {"entries": [{"kind": "a", "more": 1}]}, 422),
    ("/tapes/plan/entries", {"entries": [{"kind": "a"}], "expect": "all"}, 422),
    ("/tapes/plan/entries", {"entries": [{"kind": "a"}], "expect": -1}, 422),
    ("/tapes/plan/entries", {"entries": [{"kind": "a", "payload": "x" * 300_000}]}, 413),
    ("/tapes/-plan/entries", {"entries": [{"kind": "a"}]}, 422),
    ("/tapes/plan/entries", {"entries": [{"kind": "a"}] * 3}, 507),
    ("/tapes/plan/rollback", {}, 422),
    ("/tapes/plan/rollback", {"to": 9}, 404),
    ("/tapes/plan/fork", {}, 422),
    ("/tapes/plan/merge", {"from": "plan", "as": "all"}, 422),
    ("/tapes/plan/compact", {}, 422),
    ("/tapes/none/compact", {"summary": "a"}, 404),
]


async def test_what_is_refused_is_refused_in_a_sentence() -> None:
    async with service(entries=3) as world:
        await world.write("plan", "a")
        for path, data, status in REFUSED:
            answer = await world.post(path, data, status)
            assert answer["error"].endswith("."), answer
        assert await world.texts("plan") == ["1 a"]


async def test_what_no_text_can_have_is_refused_and_read_from_files_without_harm() -> None:
    entry = '{"entries": [{"kind": "a", "payload": %s}], "key": "%s"}'
    async with service() as world:
        for payload, key in (('"\\ud800"', "k"), ("NaN", "k"), ("-Infinity", "k"), ("1", "\\ud800")):
            content = (entry % (payload, key)).encode()
            refused = await world.ask("POST", "/tapes/plan/entries", content=content)
            assert refused.status_code == 400, content
        line = b'{"id":1,"kind":"message","payload":{"text":"half \\ud800","size":NaN}}\n'
        assert (await load(world, line))["unreadable"] == []
        assert (await world.get("/tapes/bub/entries"))["entries"][0]["payload"] == {"text": "half \ud800", "size": None}
        await world.write("plan", "a")
        await world.post("/tapes/plan/merge", {"from": "bub", "as": "entries"})
        assert await world.texts("plan", after=1) == ["2 half \ud800"]
        assert len((await world.get("/search", q="half"))["hits"]) == 2
        assert (await world.ask("GET", "/tapes/bub/export")).content == line


async def test_the_document_is_served_to_everybody_and_describes_every_route() -> None:
    async with service() as world, httpx.AsyncClient(base_url=world.url, trust_env=False) as http:
        assert (await http.get("/tape/v1/openapi.json")).json() == OPENAPI
        routes = {
            (route.path, method.lower())
            for route in world.routes
            if isinstance(route, Route)
            for method in route.methods or ()
            if method != "HEAD"
        }
        described = {
            (path, method) for path, item in OPENAPI["paths"].items() for method in ("get", "post") if method in item
        }
        assert routes == described


async def test_notebooks_are_searched_and_the_entries_themselves_come_back() -> None:
    async with service({"it": ["tapes:read:other"]}) as world:
        await world.write("plan", "The database migration is planned", "数据库迁移完成")
        await world.write("other", "another migration")
        await world.post("/tapes/plan/entries", {"entries": [{"kind": "event", "payload": {"name": "migration"}}]})
        hits = (await world.get("/search", q="databse migraton"))["hits"]
        assert [(hit["tape"], hit["entry"]["id"]) for hit in hits] == [("plan", 1)]
        assert hits[0]["entry"]["payload"]["text"] == "The database migration is planned"
        found = await world.get("/tapes/plan/search", q="数据")
        assert [hit["entry"]["id"] for hit in found["hits"]] == [2]
        assert (found["behind"], found["sealed"]) == (False, 0)
        assert len((await world.get("/search", q="migration"))["hits"]) == 3
        assert [hit["entry"]["id"] for hit in (await world.get("/search", q="migration", kinds="event"))["hits"]] == [3]
        assert [hit["tape"] for hit in (await world.get("/search", q="migration", scope="o*"))["hits"]] == ["other"]
        theirs = (await world.ask("GET", "/search", "it", params={"q": "migration"})).json()["hits"]
        assert [hit["tape"] for hit in theirs] == ["other"]
        assert (await world.get("/search", q="migration", until="2026-01-01"))["hits"] == []
        for path, params in (("/search", {}), ("/search", {"q": "a", "from": "soon"})):
            assert (await world.ask("GET", path, params=params)).status_code == 422
        assert (await world.ask("GET", "/tapes/none/search", params={"q": "a"})).status_code == 404


# Files.

BUB = "\n".join(
    [
        '{"id":1,"kind":"anchor","payload":{"name":"session/start","state":{"owner":"human"}},"meta":{},"date":"2026"}',
        '{"id": 2, "kind": "message", "payload": {"role": "user", "content": "\\u6570据 1.0e3"}, "date": "x", "n": 1}',
        '{"kind":"not.known","payload":[1,2.50],"meta":{"context":false},"date":"2026","id":3}',
        '{"id":4,"kind":"mess{"id":4,"kind":"message"}',
        "",
        '{"id":4,"kind":"error","payload":{"message":"503"},"meta":{},"date":"2026"}',
        "",
    ]
).encode()


async def load(world: World, content: bytes, tape: str = "bub", status: int = 201) -> Any:
    answer = await world.ask("POST", "/import", params={"tape": tape}, content=content)
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_file_comes_back_byte_for_byte_also_what_is_not_known_in_it() -> None:
    async with service() as world:
        assert await load(world, BUB) == {"tape": "bub", "last": 6, "unreadable": [4, 5], "torn": None}
        exported = await world.ask("GET", "/tapes/bub/export")
        assert exported.content == BUB
        found = (await world.get("/tapes/bub/entries"))["entries"]
        assert [entry["kind"] for entry in found] == [
            *("anchor", "message", "not.known", "unreadable", "unreadable", "error")
        ]
        assert found[1]["payload"]["content"] == "数据 1.0e3"
        assert found[1]["n"] == 1
        await world.write("bub", "more")
        lines = (await world.ask("GET", "/tapes/bub/export")).text.splitlines()
        assert json.loads(lines[-1]) == {**note("more"), "id": 7, "meta": {}, "date": json.loads(lines[-1])["date"]}


async def test_a_file_that_is_cut_off_at_any_byte_gives_its_whole_lines_and_says_what_is_torn() -> None:
    async with service(notebooks=200) as world:
        whole = BUB.splitlines(keepends=True)[1]
        for cut in range(1, len(whole) + 1):
            found = await load(world, BUB.splitlines(keepends=True)[0] + whole[:cut], f"bub.{cut}")
            kept = cut >= len(whole) - 1
            assert found["last"] == 1 + kept
            assert found["torn"] == (None if kept else {"line": 2, "bytes": cut})
            assert found["unreadable"] == []
        refused = await load(world, b"\xff\n", "bad", 422)
        assert "line 1" in refused["error"]


async def test_a_file_that_is_sent_again_goes_on_where_it_was_cut_off() -> None:
    lines = [json.dumps({"id": number, "kind": "message", "payload": {}}) for number in range(1, 1_301)]
    content = "".join(f"{line}\n" for line in lines).encode()
    async with service() as world:
        part = "".join(f"{line}\n" for line in lines[:1_000]).encode()
        assert (await load(world, part))["last"] == 1_000
        assert (await load(world, content))["last"] == 1_300
        assert (await load(world, content))["last"] == 1_300
        assert (await world.ask("GET", "/tapes/bub/export")).content == content
        await load(world, BUB, status=412)


async def test_an_upload_that_broke_off_is_finished_by_sending_the_file_again() -> None:
    lines = [json.dumps({"id": number, "kind": "message", "payload": {}}) for number in range(1, 1_301)]
    content = "".join(f"{line}\n" for line in lines).encode()

    async def cut_off() -> AsyncIterator[bytes]:
        yield content[: len(content) * 2 // 3]
        raise OSError("the line is cut")

    async with service() as world:
        with pytest.raises(OSError, match="cut"):
            await world.ask("POST", "/import", params={"tape": "bub"}, content=cut_off())
        with anyio.fail_after(20):
            while (kept := await world.notebooks.find("bub")) is None or kept.head < 500:
                await anyio.lowlevel.checkpoint()
        assert kept.head == 500
        assert (await load(world, content))["last"] == 1_300
        assert (await world.ask("GET", "/tapes/bub/export")).content == content


async def test_journals_are_searched_and_raw_facts_come_back_to_who_may_read_words() -> None:
    clients = {"deaf": ["tapes:read:sessions.*"], "other": ["tapes:read:*", "content"]}
    async with service(clients) as world:
        more = facts_of(SESSION, 3, "the databse migration", "数据库迁移", "one more")
        await world.sessions.commit(Commit(world.lease, SESSION, 2, facts=more))
        (hit,) = (await world.get(f"/tapes/{JOURNAL}/search", q="migraton"))["hits"]
        assert (hit["tape"], hit["entry"]["id"]) == (JOURNAL, 3)
        read = await world.get(f"/tapes/{JOURNAL}/entries", after=2, limit=1)
        assert hit["entry"] == read["entries"][0]
        everywhere = await world.get("/search", q="one", scope="sessions.*")
        assert [hit["entry"]["id"] for hit in everywhere["hits"]] == [5, 1]
        assert (everywhere["behind"], everywhere["sealed"]) == (False, 0)
        assert [hit["entry"]["id"] for hit in (await world.get("/search", q="数据", scope="sessions.*"))["hits"]] == [4]
        assert (await world.get("/search", q="one"))["hits"] == []
        assert (await world.get("/search", q="one", scope="sessions.other*"))["hits"] == []
        assert (await world.get("/search", q='"more one"', scope="sessions.*"))["hits"] == []
        assert (await world.get(f"/tapes/{JOURNAL}/search", q="one", kinds="none"))["hits"] == []
        assert (await world.ask("GET", "/tapes/sessions.none/search", params={"q": "a"})).status_code == 404
        for path, params in ((f"/tapes/{JOURNAL}/search", {}), ("/search", {"scope": "sessions.*"})):
            refused = await world.ask("GET", path, "deaf", params={"q": "one", **params})
            assert (refused.status_code, "content" in refused.json()["error"]) == (403, True)
        theirs = await world.ask("GET", "/search", "other", params={"q": "one", "scope": "sessions.*"})
        assert theirs.json()["hits"] == []


async def test_a_search_of_journals_looks_at_a_bounded_number_of_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_search, "LOOKED_AT", 2)
    async with service() as world:
        await world.sessions.commit(Commit(world.lease, SESSION, 2, facts=facts_of(SESSION, 3, "three", "one")))
        found = await world.get(f"/tapes/{JOURNAL}/search", q="one")
        assert ([hit["entry"]["id"] for hit in found["hits"]], found["behind"]) == ([4], True)
        rest = await world.get(f"/tapes/{JOURNAL}/search", q="one", after=found["next"])
        assert ([hit["entry"]["id"] for hit in rest["hits"]], rest["behind"], rest["next"]) == ([1], False, None)


async def test_a_search_of_sessions_goes_on_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_routes, "MAX_SESSIONS", 2)
    monkeypatch.setattr(journal_search, "LOOKED_AT", 3)
    async with service() as world:
        for number in range(4):
            id_ = SessionId(f"more{number}")
            record = SessionRecord(id_, Address("web", f"room{number}"), "tour", T0, 0)
            facts = facts_of(id_, 1, f"one of {number}", "two", "one cake")
            await world.sessions.commit(Commit(world.lease, id_, 0, facts=facts, begin=record))
        for limit in (1, 2, 20):
            met: list[tuple[str, int]] = []
            query: dict[str, Any] = {"q": "one", "scope": "sessions.*", "limit": limit}
            while True:
                found = await world.get("/search", **query)
                met += [(hit["conversation"], hit["entry"]["id"]) for hit in found["hits"]]
                assert found["behind"] == (found["next"] is not None)
                if found["next"] is None:
                    break
                query["after"] = found["next"]
            assert len(met) == len(set(met)), "everything is found once"
            assert {place for place in met if place[0] != HERE.key} == {
                (f"web:room{number}", seq) for number in range(4) for seq in (1, 3)
            }
        for after in ("nonsense", "~~x"):
            response = await world.ask("GET", "/search", params={"q": "a", "scope": "sessions.*", "after": after})
            assert response.status_code == 422, after
