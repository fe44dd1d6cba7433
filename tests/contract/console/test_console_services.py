"""What the console shows of programs, models and tools, over a real store."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from adapters.records import Records
from gateway.assembly.stores import records_in
from gateway.features.feedback.ledger import FEEDBACK_TABLE
from gateway.features.reports.redis import RedisReports, Report
from gateway.features.usage.ledger import RedisUsage, Used
from gateway.models.answers import ModelAmounts
from gateway.programs.loading import compile_one
from gateway.programs.reloading import PROGRAM_NEWS
from gateway.programs.versions import VERSIONS_TABLE
from gateway.settings.tree import Settings
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.errors import LLMKeyRefused
from runtime.core.ids import AgentId, PersonId, SessionId
from runtime.events.frames import LLMAnswered, LLMAnsweredInPart, LLMBrokeOff
from runtime.events.service import ModelFellBack, ProgramRefused, ProgramReloaded
from runtime.events.sessions import RemoteConnected, RemoteReturned, RemoteUnreachable
from runtime.language.program import Program
from runtime.llm.answering import AnsweringClient
from runtime.llm.chain import ModelCooldowns
from runtime.llm.client import ModelOptions
from runtime.llm.models import DEFAULT, ModelRegistry, NoModelClient
from runtime.storage.redis.rooms import RedisRoomNews
from runtime.stores.inbox import shard_of
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import FrameStarted
from runtime.tape.facts.meetings import (
    MeetingBegun,
    MeetingCreated,
    MeetingEnded,
    ParticipantAsked,
    ParticipantJoined,
    StateShared,
)
from runtime.tape.facts.people import PersonMet
from runtime.tape.facts.session import AgentCreated
from runtime.tape.tape import Fact, session_tape
from tests.contract.console.console_answers import acted, told_of
from tests.contract.storage_samples import HERE, SESSION, T0, beginning, shard_lease
from tests.fakes.models.providers import ScriptedProvider, chain_of
from tests.fakes.pages.console import ConsoleWorld, console

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[3] / "examples"


async def weather() -> Program:
    return replace(await compile_one(Settings(), [EXAMPLES / "weather.pb"]), name="weather")


def answered(model: str, seconds: float, kind: type[LLMAnswered] = LLMAnswered) -> LLMAnswered:
    told = ("s", "1", "1000", "Main", model, "execute", "hi", seconds, 0.2, 10, 2, 0, 0.1, "web:x", "web:1")
    return kind(*told)


async def test_models_are_shown_with_their_chains_and_who_cools_down(valkey_socket: Path) -> None:
    clock = SystemClock()
    cooldowns = ModelCooldowns(clock)
    chain = chain_of(clock, {"default": ScriptedProvider(), "spare": ScriptedProvider()}, cooldowns=cooldowns)
    models = ModelRegistry({DEFAULT: chain, "fast": NoModelClient("It has no key.")}, cooldowns)
    await cooldowns.begin("default", LLMKeyRefused("no"))
    async with console(valkey_socket, models=models) as world, world.logged_in("operator") as http:
        found = await told_of(world, http, "/models")
        default, fast = found["models"]
        assert (default["name"], default["purposes"], default["missing"]) == (DEFAULT, ["execute"], None)
        assert [(one["entry"], one["model"]) for one in default["chain"]] == [
            ("default", "openai/default"),
            ("spare", "openai/spare"),
        ]
        assert default["chain"][0]["cooling"]["why"] == "LLMKeyRefused"
        assert default["chain"][1]["cooling"] is None
        assert (fast["purposes"], fast["missing"], fast["chain"]) == (["decide"], "It has no key.", [])


async def test_models_are_shown_with_what_they_took_and_cost(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world, world.logged_in() as owner, world.logged_in("operator") as operator:
        bus, today = world.ground.bus, world.ground.clock.now().date()
        for seconds in (1.0, 9.0, 2.0):
            bus.publish(answered("m1", seconds))
        bus.publish(answered("m1", 99.0, LLMAnsweredInPart))
        bus.publish(LLMBrokeOff("s", "1", "1000", "Main", "m1", "execute", "a secret: timed out", 30.0))
        bus.publish(ModelFellBack("m2", "m1", "overloaded"))
        bus.publish(ModelFellBack("m2", None, "broke off, which is told by itself"))
        await RedisUsage(world.ground.connection).add(
            Used(today - timedelta(days=3), "web:1", "shop", "Host", "m0"), ModelAmounts(4, 10, 0, 5, 0.5)
        )
        found = await told_of(world, owner, "/models")
        assert (found["here"], found["models"]) == (False, [])
        m0, m1, m2 = found["asked"]
        assert (m0["model"], m0["usd"], m0["charged"], m0["answers"], m0["median_s"]) == ("m0", 0.5, 4, 0, None)
        assert (m1["answers"], m1["median_s"], m1["p95_s"], m1["slowest_s"], m1["first_s"]) == (3, 2.0, 8.3, 9.0, 0.2)
        assert (m1["failures"], m1["error"]) == (1, "a secret: timed out")
        assert (m2["failures"], m2["error"]) == (1, "overloaded")
        assert [one["error"] for one in (await told_of(world, operator, "/models"))["asked"]] == [None] * 3


async def test_owners_try_the_models_of_a_name_and_one_that_answers_is_asked_again(valkey_socket: Path) -> None:
    clock = SystemClock()
    cooldowns = ModelCooldowns(clock)
    first, spare = ScriptedProvider("yes"), ScriptedProvider(LLMKeyRefused("The key is wrong."))
    models = ModelRegistry(
        {DEFAULT: chain_of(clock, {"default": first, "spare": spare}, cooldowns=cooldowns)}, cooldowns
    )
    silent = AnsweringClient(ScriptedProvider(""), ModelOptions("openai/silent"), clock)
    for name in ("default", "spare"):
        await cooldowns.begin(name, LLMKeyRefused("no"))
    models = ModelRegistry({**models.all_clients, "silent": silent}, cooldowns)
    path = f"/models/{DEFAULT}/test"
    async with console(valkey_socket, models=models) as world, world.logged_in() as owner:
        assert (await acted(owner, "POST", path, {}))["status"] == 403
        assert first.asked == []
    async with console(valkey_socket, models=models, acts=True) as world, world.logged_in() as owner:
        tried = (await acted(owner, "POST", path, {}))["tried"]
        assert [(one["entry"], one["error"]) for one in tried] == [("default", None), ("spare", "The key is wrong.")]
        assert set(await cooldowns.current()) == {"spare"}
        (counted,) = [one.what for one in world.told if isinstance(one.what, LLMAnswered)]
        assert (counted.purpose, counted.tokens_in, counted.tokens_out) == ("check", 10, 2)
        assert counted.model == tried[0]["model"]
        (empty,) = (await acted(owner, "POST", "/models/silent/test", {}))["tried"]
        assert "empty answer" in empty["error"]
        assert (await acted(owner, "POST", "/models/none/test", {}))["status"] == 404


async def test_servers_of_tools_are_shown_with_the_calls_of_their_tools(valkey_socket: Path) -> None:
    program = await weather()
    async with (
        console(valkey_socket, programs={"weather": program}) as world,
        world.logged_in() as owner,
        world.logged_in("operator") as operator,
    ):
        (quiet,) = (await told_of(world, owner, "/tools"))["servers"]
        agent, bus = quiet["agent"], world.ground.bus
        assert (quiet["connected_at"], quiet["calls"], quiet["programs"]) == (None, [], ["weather"])
        bus.publish(RemoteConnected(agent, "the server", 2))
        bus.publish(RemoteReturned(agent, "the server", f"{agent}.Forecast", 0.5))
        bus.publish(RemoteReturned(agent, "the server", f"{agent}.Forecast", 0.7, "a secret is wrong"))
        (seen,) = (await told_of(world, owner, "/tools"))["servers"]
        assert (seen["tools"], seen["trouble"], seen["connected_at"] is None) == (2, None, False)
        (call,) = seen["calls"]
        assert (call["tool"], call["answers"], call["failures"]) == (f"{agent}.Forecast", 1, 1)
        assert (call["median_s"], call["error"]) == (0.5, "a secret is wrong")
        bus.publish(RemoteUnreachable(agent, "the server", "it ended", 5.0))
        (gone,) = (await told_of(world, operator, "/tools"))["servers"]
        assert (gone["connected_at"], gone["trouble"], gone["calls"][0]["error"]) == (None, "it ended", None)


async def begin(world: ConsoleWorld, number: int, program: str, *digests: str, end: bool = False) -> None:
    """A session that began with one version, and adopted the others."""
    id_, at = SessionId(f"s{number}"), Address("web", f"room{number}")
    lease = await shard_lease(world.leases, shard=shard_of(at.key))
    data = [{"program": digest, "playbooks": {}, "versions": {}, "begun": {}, "news": {}} for digest in digests]
    facts = [
        Fact(session_tape(id_), seq, "begin" if seq == 1 else "adopted", T0, one) for seq, one in enumerate(data, 1)
    ]
    record = SessionRecord(id_, at, program, T0, 0)
    await world.sessions.commit(Commit(lease, id_, 0, facts=tuple(facts), begin=record, end=end, awake=not end))


async def put_version(records: Records, digest: str, at_s: float, name: str = "weather") -> None:
    await records.put(digest, json.dumps({"name": name, "at": at_s}))


async def test_a_program_is_shown_with_its_versions_failures_and_ratings(valkey_socket: Path) -> None:
    program = await weather()
    async with console(valkey_socket, programs={"weather": program}) as world:
        versions = records_in(world.ground.connection, VERSIONS_TABLE)
        await put_version(versions, "an-old-one", 1_000)
        await put_version(versions, program.digest, 2_000)
        await put_version(versions, "of-another", 3_000, "shop")
        await begin(world, 1, "weather", "an-old-one")
        await begin(world, 2, "weather", "an-old-one", program.digest)
        await begin(world, 3, "weather", "one-that-is-gone")
        await begin(world, 4, "weather", "an-old-one", end=True)
        await begin(world, 5, "shop", "of-another")
        reports = RedisReports(world.ground.connection)
        failed = Report(
            "uncaught", SESSION, 7, HERE.key, "weather", "v", "Host", "Main", "Main:01:EXE", "KeyError", "m", 1, 2
        )
        for one in (failed, replace(failed, version="w", seq=9, last_s=5.0), replace(failed, program="shop")):
            await reports.add(one)
        today = world.ground.clock.now().date().isoformat()
        ratings = records_in(world.ground.connection, FEEDBACK_TABLE)
        for name, whose, rating in (("a", "weather", "up"), ("b", "weather", "down"), ("c", "shop", "up")):
            await ratings.put(name, json.dumps([today, whose, "Main:01:YLD", "m1", rating]))
        async with world.logged_in() as owner, world.logged_in("operator") as operator:
            found = await told_of(world, owner, "/programs/weather/practice")
            assert [(one["digest"], one["served"], one["sessions"]) for one in found["versions"]] == [
                (program.digest, True, 1),
                ("an-old-one", False, 1),
                ("one-that-is-gone", False, 1),
            ]
            (failure,) = found["failures"]
            assert (failure["place"], failure["error_type"], failure["count"]) == ("Host: Main:01:EXE", "KeyError", 2)
            assert (failure["session"], failure["seq"]) == (SESSION, 9)
            assert found["ratings"] == [{"step": "Main:01:YLD", "up": 1, "down": 1}]
            assert found["refused"] is None
            world.ground.bus.publish(ProgramRefused("weather", "weather.pb:3: a secret step"))
            assert (await told_of(world, owner, "/programs/weather/practice"))["refused"]["error"].endswith(
                "secret step"
            )
            assert (await told_of(world, operator, "/programs/weather/practice"))["refused"]["error"] is None
            world.ground.bus.publish(ProgramReloaded("weather", "12345678"))
            assert (await told_of(world, owner, "/programs/weather/practice"))["refused"] is None
            assert (await owner.get("/bus/v1/programs/none/practice")).status_code == 404


async def test_a_program_is_rolled_back_by_who_may_act_and_everybody_reads_by_whom(valkey_socket: Path) -> None:
    program = await weather()
    async with (
        console(valkey_socket, acts=True, programs={"weather": program}) as world,
        world.logged_in() as owner,
        world.logged_in("operator") as operator,
    ):
        versions = records_in(world.ground.connection, VERSIONS_TABLE)
        await put_version(versions, "an-old-one", 1_000)
        await put_version(versions, program.digest, 2_000)
        path = "/programs/weather/rollback"
        assert (await acted(operator, "POST", path, {"version": "an-old"}))["status"] == 403
        assert (await acted(owner, "POST", path, {"version": 7}))["status"] == 422
        assert (await acted(owner, "POST", path, {"version": "nothing"}))["status"] == 404
        assert (await told_of(world, owner, "/programs/weather/practice"))["rolled_back"] is None
        assert (await acted(owner, "POST", path, {"version": "an-old"}))["version"] == "an-old-one"
        pin = (await told_of(world, operator, "/programs/weather/practice"))["rolled_back"]
        assert (pin["version"], pin["instead_of"], pin["by"]) == ("an-old-one", program.digest, "Olga")
        assert (await acted(owner, "POST", path, {"version": program.digest}))["status"] == 200
        assert (await told_of(world, owner, "/programs/weather/practice"))["rolled_back"] is None


async def test_meetings_are_shown_with_who_is_in_and_what_they_share(valkey_socket: Path) -> None:
    host, clerk, ada = AgentId("1000"), AgentId("1001"), PersonId("web:1")
    told: list[FactContent] = [
        AgentCreated(host, "Host", {}),
        AgentCreated(clerk, "Clerk", {}),
        PersonMet(ada, "Ada", 0),
        FrameStarted("1", host, "Standup", [], {}, "v", meeting="m1"),
        MeetingCreated("m1", "Standup", host, "1", "Standup", 1_790_000_000.0),
        ParticipantAsked("m1", ada, host, 1, 0.0, True),
        ParticipantAsked("m1", clerk, host, 1, 0.0, True),
        ParticipantJoined("m1", ada),
        MeetingBegun("m1"),
        StateShared("m1", "votes", {"a": "secret"}, host),
    ]
    async with console(valkey_socket) as world, world.logged_in() as owner, world.logged_in("operator") as operator:
        assert await told_of(world, owner, "/meetings") == {"meetings": [], "next": None}
        lease = await shard_lease(world.leases)
        facts = tuple(Fact(session_tape(SESSION), seq, one.kind, T0, one.data()) for seq, one in enumerate(told, 1))
        await world.sessions.commit(replace(beginning(lease), facts=facts))
        (found,) = (await told_of(world, owner, "/meetings"))["meetings"]
        assert (found["topic"], found["host"], found["status"]) == ("Standup", "Host", "active")
        assert (found["joined"], found["asked"]) == (["Host", "Ada"], ["Clerk"])
        assert found["shared"] == {"votes": {"a": "secret"}}
        (theirs,) = (await told_of(world, operator, "/meetings"))["meetings"]
        assert "shared" not in theirs
        over = Fact(session_tape(SESSION), len(told) + 1, MeetingEnded.kind, T0, MeetingEnded("m1").data())
        await world.sessions.commit(Commit(lease, SESSION, len(told), facts=(over,)))
        assert (await told_of(world, owner, "/meetings"))["meetings"] == []
        assert [one["status"] for one in (await told_of(world, owner, "/meetings", over=1))["meetings"]] == ["ended"]
        assert (await owner.get("/bus/v1/meetings?after=nonsense")).status_code == 422


async def test_a_reload_is_asked_of_all_nodes(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        heard: list[str] = []
        opened, told = anyio.Event(), anyio.Event()

        async def on_open() -> None:
            opened.set()

        async def on_news(by: str) -> None:
            heard.append(by)
            told.set()

        news = RedisRoomNews(world.ground.connection, "a-node", PROGRAM_NEWS)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(news.listen, on_open, on_news)
            with anyio.fail_after(20):
                await opened.wait()
                assert (await acted(owner, "POST", "/programs/reload", {}))["status"] == 202
                await told.wait()
            tasks.cancel_scope.cancel()
        assert heard == ["console"]
