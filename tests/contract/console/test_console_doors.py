"""`/console` on the real web server, over a real store: who gets in, what they may, and how that ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import anyio
import httpx
import pytest
from jsonschema import Draft202012Validator

from gateway.console.door import ASKS, COOKIE, LASTS_S, LINK_LASTS_S, LINKS_TABLE, MAX_LOGINS, ConsoleLogins, LoginLinks
from gateway.features.notebooks import door as tapes_module
from gateway.web.logins.door import LOGINS
from runtime.core.ids import AgentId, PersonId, SessionId, TapeId
from runtime.storage.redis.client.connection import open_connection
from runtime.storage.redis.leases import RedisNodeStore
from runtime.storage.redis.records import RedisRecords
from runtime.storage.redis.sessions.kept import RedisModelCalls
from runtime.stores.sessions import Commit, LeaseHolder, SessionRecord
from runtime.tape.facts.people import MessageHeard
from runtime.tape.tape import Fact, session_tape
from tests.contract.console.console_answers import said, told_of
from tests.contract.storage_samples import HERE, NODE, SESSION, SHARD, T0, shard_lease
from tests.contract.stores.test_model_calls import call
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.pages.console import PASSWORDS, console

pytestmark = pytest.mark.anyio

TAPES = json.loads(tapes_module.DOCUMENT.read_text())


async def test_who_knows_the_password_gets_a_cookie_that_no_script_and_no_other_site_can_use(
    valkey_socket: Path,
) -> None:
    async with console(valkey_socket) as world, world.http() as http:
        refused = await http.post("/console/login", json={"password": "wrong"})
        assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
        answer = await http.post("/console/login", json={"password": PASSWORDS["owner"]})
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert (await http.get("/console/session")).json() | {"until": ""} == {
            "role": "owner",
            "name": "",
            "until": "",
            "from_chat": False,
            "words": True,
            "acts": False,
            "private": False,
        }
        assert [event.name for event in world.told if event.name.startswith("console")] == [
            "console.refused",
            "console.entered",
        ]


async def test_an_owner_of_the_chat_is_one_here_until_they_are_removed(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.http() as http:
        await said(world)
        person = (await http.post("/login", json={"name": "Ada"})).json()["person"]["id"]
        assert (await http.get("/console/session")).json() == {"role": None}
        assert (await http.get("/bus/v1/status")).status_code == 401
        world.owners.add(person)
        session = (await http.get("/console/session")).json()
        assert (session["role"], session["name"], session["from_chat"]) == ("owner", "Ada", True)
        assert "a secret" in (await http.get(f"/tape/v1/tapes/sessions.{SESSION}/entries")).text
        fork = f"/tape/v1/tapes/sessions.{SESSION}/fork"
        assert (await http.post(fork, json={}, headers={ASKS: ""})).status_code == 202
        del http.headers[ASKS]  # which no foreign page can send
        assert (await http.post(fork, json={})).status_code == 403
        async with http.stream("GET", f"/tape/v1/tapes/sessions.{SESSION}/follow?after=0") as stream:
            lines = stream.aiter_lines()
            while "a secret" not in await anext(lines):
                pass
            world.owners.clear()
            lease = await shard_lease(world.leases)
            heard = MessageHeard("in.2", AgentId("1000"), PersonId("web:1"), "Ada", True, "another secret")
            fact = Fact(session_tape(SESSION), 2, heard.kind, T0, heard.data())
            await world.sessions.commit(Commit(lease, SESSION, 1, facts=(fact,)))
            with anyio.fail_after(20):
                assert "another secret" not in "".join([line async for line in lines])
        assert (await http.get("/console/session")).json() == {"role": None}
        assert (await http.get("/bus/v1/status")).status_code == 401


async def test_a_link_lets_in_one_owner_once_on_two_nodes_and_within_an_hour(valkey_socket: Path) -> None:
    async with open_connection(valkey_socket, patience_s=20) as connection:
        clock = FakeClock()
        here, there = (LoginLinks(RedisRecords(connection, LINKS_TABLE), clock) for _ in range(2))
        link, later = await here.new(), await here.new()
        assert link not in json.dumps(dict(await RedisRecords(connection, LINKS_TABLE).all()))
        came: list[bool] = []

        async def follow(links: LoginLinks) -> None:
            came.append(await links.follow(link))

        async with anyio.create_task_group() as tasks:
            for links in (here, there) * 5:
                tasks.start_soon(follow, links)
        assert sorted(came) == [False] * 9 + [True]
        assert not await LoginLinks(RedisRecords(connection, LINKS_TABLE), clock).follow(link)
        await clock.advance(LINK_LASTS_S)
        assert not await there.follow(later)
        assert not await there.follow("guessed")
        newest = await there.new()
        assert not await here.follow(link)
        assert await here.follow(newest)


async def test_who_follows_the_link_is_an_owner_where_there_is_no_password(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world, world.http() as http:
        refused = await http.post("/console/login", json={"link": "guessed", "password": PASSWORDS["owner"]})
        assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
        link = await world.links.new()
        assert (await http.post("/console/login", json={"link": link})).json() == {"role": "owner"}
        assert (await http.get("/bus/v1/status")).status_code == 200
        async with world.http() as other:
            assert (await other.post("/console/login", json={"link": link})).status_code == 403
    logins = ConsoleLogins({}, records := MemoryRecords(), FakeClock())
    secret = await logins.begin("owner")
    assert await logins.find(secret) is not None
    assert logins.role_of("") is None
    assert await ConsoleLogins({"owner": PASSWORDS["owner"]}, records, FakeClock()).find(secret) is None


async def test_without_a_log_in_nothing_is_answered(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world, world.http() as http:
        assert (await http.get("/console/session")).json() == {"role": None}
        for cookie in ({}, {"cookie": f"{COOKIE}=guessed"}):
            for path in ("/bus/v1/status", "/bus/v1/sessions", "/bus/v1/events", f"/tape/v1/tapes/sessions.{SESSION}"):
                assert (await http.get(path, headers=cookie)).status_code == 401, path


@pytest.mark.parametrize("path", ["/bus/v1/events?type=>", "/bus/v1/agents", "/bus/v1/tasks/t", "/tape/v1/tapes"])
async def test_who_comes_without_the_consoles_cookie_is_admitted_by_the_bus_and_the_tapes(
    valkey_socket: Path, path: str
) -> None:
    async with console(valkey_socket) as world, httpx.AsyncClient(base_url=world.url, trust_env=False) as http:
        refused = await http.get(path)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        stale = await http.get(path, headers={"cookie": f"{COOKIE}=guessed"})
        assert stale.json() == {"error": "Log in to the console."}


@pytest.mark.parametrize("path", ["/bus/v1/openapi.json", "/bus/v1/asyncapi.json", "/tape/v1/openapi.json"])
async def test_the_documents_for_tools_are_open_to_everybody(valkey_socket: Path, path: str) -> None:
    async with console(valkey_socket) as world, httpx.AsyncClient(base_url=world.url, trust_env=False) as http:
        assert (await http.get(path)).status_code == 200


async def test_who_guesses_waits(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world, world.http() as http:
        tries = [await http.post("/console/login", json={"password": "x"}) for _ in range(int(LOGINS.burst) + 1)]
        assert [each.status_code for each in tries] == [403] * int(LOGINS.burst) + [429]
        right = await http.post("/console/login", json={"password": PASSWORDS["owner"]})
        assert right.status_code == 429


async def test_owners_read_words_and_other_roles_do_not(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world:
        await said(world)
        async with world.logged_in() as owner, world.logged_in("operator") as operator:
            entries = f"/tape/v1/tapes/sessions.{SESSION}/entries"
            assert "a secret" in (await owner.get(entries)).text
            seen = await operator.get(entries)
            assert (seen.status_code, "a secret" in seen.text) == (200, False)
            rows = (await told_of(world, owner, "/sessions", words=1))["sessions"]
            assert rows[0]["last"] == {"who": "Ada", "text": "a secret"}
            assert rows[0]["first"] == (await told_of(world, owner, f"/sessions/{SESSION}"))["first"] == "a secret"
            assert "first" not in await told_of(world, operator, f"/sessions/{SESSION}")
            rows = (await told_of(world, operator, "/sessions", words=1))["sessions"]
            assert [row["session"] for row in rows] == [SESSION]
            assert {"first", "last"}.isdisjoint(rows[0])


@pytest.mark.parametrize(
    ("texts", "pressed", "first"),
    [
        (("Hello!",), "", "Hello!"),
        (("Hello!", "Where is my order?"), "", "Where is my order?"),
        (("Hello!",), "Program", "Program"),
    ],
)
async def test_a_session_is_called_by_the_first_words_that_a_person_chose(
    texts: Sequence[str], pressed: str, first: str, valkey_socket: Path
) -> None:
    async with console(valkey_socket) as world, world.logged_in() as owner:
        await said(world, *texts, pressed=pressed)
        assert (await told_of(world, owner, f"/sessions/{SESSION}"))["first"] == first


async def test_only_an_owner_changes_something_and_only_where_the_settings_say_so(valkey_socket: Path) -> None:
    fork = f"/tape/v1/tapes/sessions.{SESSION}/fork"
    async with console(valkey_socket) as world:
        await said(world)
        async with world.logged_in() as owner:
            assert (await owner.post(fork, json={})).status_code == 403
    async with console(valkey_socket, acts=True) as world:
        async with world.logged_in("operator") as operator:
            assert (await operator.post(fork, json={})).status_code == 403
        async with world.logged_in() as owner:
            assert (await owner.post(fork, json={})).status_code == 202
        acted = [event.data for event in world.told if event.name == "console.acted"]
        assert acted == [{"role": "owner", "action": "POST", "target": fork, "who": "Olga"}]


async def test_what_a_foreign_page_sends_changes_nothing(valkey_socket: Path) -> None:
    fork = f"/tape/v1/tapes/sessions.{SESSION}/fork"
    async with console(valkey_socket, acts=True) as world:
        await said(world)
        async with world.logged_in() as owner:
            del owner.headers[ASKS]  # which no foreign page can send
            assert (await owner.post(fork, json={})).status_code == 403
            assert (await owner.post("/bus/v1/tasks", json={})).status_code == 403


async def test_a_log_out_holds_at_once_for_streams_that_are_open_too(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world:
        await said(world)
        async with world.logged_in() as owner, world.logged_in() as elsewhere:
            follow = f"/tape/v1/tapes/sessions.{SESSION}/follow?after=0"
            async with elsewhere.stream("GET", follow) as stream:
                lines = stream.aiter_lines()
                while "a secret" not in await anext(lines):
                    pass
                await owner.post("/console/logout", json={"everywhere": "yes"})
                lease = await shard_lease(world.leases)
                heard = MessageHeard("in.2", AgentId("1000"), PersonId("web:1"), "Ada", True, "another secret")
                fact = Fact(session_tape(SESSION), 2, heard.kind, T0, heard.data())
                await world.sessions.commit(Commit(lease, SESSION, 1, facts=(fact,)))
                with anyio.fail_after(20):
                    assert "another secret" not in "".join([line async for line in lines])
            assert (await elsewhere.get("/bus/v1/status")).status_code == 401
            assert (await elsewhere.get("/console/session")).json() == {"role": None}


async def test_a_log_in_ends_by_itself_and_with_its_password() -> None:
    clock, records = FakeClock(), MemoryRecords()
    logins = ConsoleLogins(PASSWORDS, records, clock)
    secret = await logins.begin("owner")
    assert (await logins.find(secret)) is not None
    assert await ConsoleLogins({**PASSWORDS, "owner": "a new password of owners"}, records, clock).find(secret) is None
    assert await ConsoleLogins({"operator": PASSWORDS["operator"]}, records, clock).find(secret) is None
    await clock.advance(timedelta(seconds=LASTS_S).total_seconds())
    assert await logins.find(secret) is None
    assert secret not in json.dumps(dict(await records.all()))


async def test_log_ins_are_bounded_and_the_oldest_goes_first() -> None:
    clock, records = FakeClock(), MemoryRecords()
    logins = ConsoleLogins(PASSWORDS, records, clock)
    made = []
    for _ in range(MAX_LOGINS + 1):
        made.append(await logins.begin("operator"))
        await clock.advance(1)
    assert await logins.find(made[0]) is None
    assert await logins.find(made[1]) is not None
    assert len(await records.all()) == MAX_LOGINS


async def test_the_strip_is_for_all_and_the_state_for_owners(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world:
        await said(world)
        async with world.logged_in() as owner, world.logged_in("operator") as operator:
            await RedisModelCalls(world.ground.connection).keep(call(0, 1, SESSION, reply="a secret"))
            for http, kind, status in (
                *((owner, "strip", 200), (owner, "state", 200), (owner, "calls", 200), (operator, "strip", 200)),
            ):
                answer = await http.get(f"/tape/v1/tapes/sessions.{SESSION}/{kind}")
                assert answer.status_code == status
                schema = TAPES["paths"][f"/tapes/{{tape}}/{kind}"]["get"]["responses"]["200"]["content"]
                found = {**schema["application/json"]["schema"], "components": TAPES["components"]}
                Draft202012Validator(found).validate(answer.json())
                assert ("a secret" in answer.text) == (http is owner)
            for kind in ("state", "calls"):
                assert (await operator.get(f"/tape/v1/tapes/sessions.{SESSION}/{kind}")).status_code == 403
            assert (await owner.get("/tape/v1/tapes/sessions.nobody/strip")).status_code == 404


async def test_a_task_that_was_ordered_before_a_strip_begins_ends_in_it_as_itself(valkey_socket: Path) -> None:
    order = {"agent": "1000", "class": "Cook", "pb": "Bake", "args": {}, "due": 9.0, "deliver": "caller", "depth": 1}
    told = [
        ("1000", "spawn", {**order, "task": "t-1"}),
        ("1000", "spawn", {**order, "task": "t-2"}),
        ("session", "task_over", {"task": 2, "status": "failed", "first": 0, "last": 0}),
    ]
    async with console(valkey_socket) as world:
        await said(world)
        lease = await shard_lease(world.leases)
        facts = tuple(
            Fact(TapeId(f"{SESSION}/{tape}"), 2 + at, kind, T0, data) for at, (tape, kind, data) in enumerate(told)
        )
        await world.sessions.commit(Commit(lease, SESSION, 1, facts=facts))
        async with world.logged_in() as owner:
            path = f"/tape/v1/tapes/sessions.{SESSION}/strip"
            (before,), later = [
                (await owner.get(path, params=part)).json()["marks"]
                for part in ({"until": 2, "limit": 1}, {"until": 4, "limit": 2})
            ]
            ends = {mark["key"]: (mark["first"], mark["last"]) for mark in later}
            assert before["key"] not in ends
            assert ends == {later[0]["key"]: (3, 4)}


async def test_the_status_has_what_waits_and_who_is_at_work(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world:
        await said(world)
        async with world.logged_in("operator") as http:
            status = await told_of(world, http, "/status")
            assert status["sessions"] == {"all": 1, "at_work": 1}
            assert status["shards"] == {"all": 64, "held": 1}
            assert status["waiting"] == {"events": 0, "pages": 0}


async def test_sessions_come_in_pages_and_are_found_by_state_program_and_text(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world, world.logged_in() as http:
        lease = await shard_lease(world.leases, NODE, SHARD)
        for number in range(5):
            id_ = SessionId(f"s{number}")
            record = SessionRecord(id_, HERE, f"program-{number % 2}", T0, 0)
            ended = number < 4
            fact = Fact(session_tape(id_), 1, "ended", T0 + timedelta(seconds=number), {})
            await world.sessions.commit(Commit(lease, id_, 0, facts=(fact,), begin=record, end=ended, awake=not ended))
        first = await told_of(world, http, "/sessions", limit=3)
        second = await told_of(world, http, "/sessions", limit=3, after=first["next"])
        ids = [row["session"] for row in first["sessions"] + second["sessions"]]
        assert (sorted(ids), second["next"], first["all"]) == (["s0", "s1", "s2", "s3", "s4"], None, 5)

        async def found(**query: str) -> list[str]:
            return sorted(row["session"] for row in (await told_of(world, http, "/sessions", **query))["sessions"])

        assert await found(state="working") == ["s4"]
        assert await found(program="program-1") == ["s1", "s3"]
        assert await found(text="S2") == ["s2"]
        assert await found(text="TELEGRAM:42", state="ended") == ["s0", "s1", "s2", "s3"]
        assert (await http.get("/bus/v1/sessions?after=nonsense")).status_code == 422
        assert (await told_of(world, http, "/sessions/s2"))["program"] == "program-0"
        assert (await http.get("/bus/v1/sessions/nobody")).status_code == 404


async def test_what_looks_into_failures_is_listed_where_there_are_several_nodes_or_who_asks_for_it(
    valkey_socket: Path,
) -> None:
    async with console(valkey_socket) as world, world.logged_in() as owner:
        lease = await shard_lease(world.leases)
        for program in ("parley-debug", "shop"):
            record = SessionRecord(SessionId(f"about-{program}"), HERE, program, T0, 0)
            await world.sessions.commit(Commit(lease, record.id, 0, begin=record))

        async def listed(**query: str) -> list[str]:
            return sorted(one["program"] for one in (await told_of(world, owner, "/sessions", **query))["sessions"])

        nodes = RedisNodeStore(world.ground.connection)
        await nodes.announce(LeaseHolder("a", 60))
        assert (await listed(), await listed(program="parley-debug")) == (["shop"], ["parley-debug"])
        for text in ("parley-debug", " Parley-Debug", "about-parley-debug"):
            assert await listed(text=text) == ["parley-debug"]
        for text in ("about", "e", HERE.key):
            assert await listed(text=text) == ["shop"]
        await nodes.announce(LeaseHolder("b", 60))
        assert await listed() == ["parley-debug", "shop"]


async def test_clients_need_the_scope_of_the_gateway(valkey_socket: Path) -> None:
    async with console(valkey_socket, clients={"ci": ["events:read:>", "content"], "watch": ["gateway:read"]}) as world:
        for name, status in (("ci", 403), ("watch", 200)):
            async with world.http(authorization=f"Bearer a-token-of-{name}") as http:
                assert (await http.get("/bus/v1/status")).status_code == status
                assert (await http.get("/bus/v1/sessions")).status_code == status


async def test_one_person_who_logs_in_again_and_again_does_not_log_others_out() -> None:
    clock, records = FakeClock(), MemoryRecords()
    logins = ConsoleLogins(PASSWORDS, records, clock)
    owner, bo = await logins.begin("owner"), await logins.begin("operator", "Bo")
    for _ in range(MAX_LOGINS + 5):
        await clock.advance(1)
        newest = await logins.begin("operator", "Eve")
    assert [await logins.find(secret) is not None for secret in (owner, bo, newest)] == [True, True, True]
    assert len(await records.all()) == MAX_LOGINS
