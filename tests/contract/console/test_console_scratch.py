"""Copies of sessions in scratch rooms, ordered at the console, over a real store."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from gateway.features.scratch import routes as rooms
from runtime.core.address import SCRATCH, Address
from runtime.core.ids import AgentId, PersonId, SessionId
from runtime.language.diagnostics import Span
from runtime.language.program import AgentKind, AgentSpec, Program
from runtime.sessions.commands.alter import VariableAlteration
from runtime.sessions.commands.fork import ForkOrigin
from runtime.stores.inbox import ALTERED, FORK, InboxEvent, shard_of
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import EffectIntended
from runtime.tape.facts.people import PersonMet
from runtime.tape.facts.session import AgentCreated, ExchangeBegun, SessionBegun
from runtime.tape.facts.tasks import OrderTaken
from runtime.tape.tape import Fact, TapeBranch, session_tape
from tests.contract.console.console_answers import acted
from tests.contract.storage_samples import HERE, SESSION, T0, shard_lease
from tests.fakes.pages.console import ConsoleWorld, console

pytestmark = pytest.mark.anyio

HOST = AgentId("1000")
ADA = PersonId("web:1")
TALKED: Sequence[FactContent] = (
    SessionBegun("digest"),
    AgentCreated(HOST, "Host", {"count": 1}),
    PersonMet(ADA, "Ada", 0.0),
    ExchangeBegun(3, "first words", ADA, "Ada"),
    ExchangeBegun(4, "second words", ADA, "Ada"),
)


@pytest.fixture(autouse=True)
def no_node_begins_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "BEGUN_WITHIN_S", 0.05)


async def stored(
    world: ConsoleWorld, contents: Sequence[FactContent] = TALKED, session: SessionId = SESSION, at: Address = HERE
) -> None:
    lease = await shard_lease(world.leases, shard=shard_of(at.key))
    facts = tuple(
        Fact(session_tape(session), number, one.kind, T0, one.data()) for number, one in enumerate(contents, 1)
    )
    begin = SessionRecord(session, at, "hello", T0, 0)
    await world.sessions.commit(Commit(lease, session, 0, facts=facts, begin=begin))


async def waiting(world: ConsoleWorld, at: Address) -> list[InboxEvent]:
    return [entry.event for entry in await world.inbox.read({shard_of(at.key): "0"}, wait_s=0)]


async def test_a_copy_begins_where_the_session_rested_last(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        await stored(world)
        for at, seq, words in ((None, 5, ""), (5, 5, ""), (4, 4, "second words"), (3, 3, "first words")):
            body = {"key": f"copy {at}", "at": at}
            for _ in range(2):  # an answer that was lost is asked for again
                made = await acted(owner, "POST", f"/sessions/{SESSION}/scratch", body)
                assert (made["status"], made["seq"], made["words"], made["begun"]) == (202, seq, words, False)
            place = Address(SCRATCH, made["session"])
            (event,) = await waiting(world, place)
            assert (event.kind, ForkOrigin.read(event.text)) == (FORK, ForkOrigin(TapeBranch(SESSION, seq), None))
        refused = await acted(owner, "POST", f"/sessions/{SESSION}/scratch", {"key": "k", "at": 2})
        assert refused["status"] == 409
        assert (await acted(owner, "POST", "/sessions/none/scratch", {"key": "k"}))["status"] == 404


async def test_who_asks_for_a_copy_hears_that_it_has_begun(
    valkey_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "BEGUN_WITHIN_S", 20)
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        await stored(world)
        copy = SessionId(named("console.owner", "k"))
        place = Address(SCRATCH, copy)

        async def begin() -> None:
            await world.inbox.read({shard_of(place.key): "0"}, wait_s=10)
            await stored(world, TALKED, copy, place)

        async with anyio.create_task_group() as node:
            node.start_soon(begin)
            made = await acted(owner, "POST", f"/sessions/{SESSION}/scratch", {"key": "k"})
        assert (made["status"], made["session"], made["begun"]) == (201, copy, True)


def named(client: str, key: str) -> str:
    return hashlib.sha256(f"/clients/{client}\0{SESSION}\0{key}".encode()).hexdigest()[:32]


async def test_a_task_is_not_copied(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        order = OrderTaken(1, SESSION, HERE, HERE, 0.0, 1)
        await stored(world, [SessionBegun("digest"), AgentCreated(HOST, "Host"), order])
        assert (await acted(owner, "POST", f"/sessions/{SESSION}/scratch", {"key": "k"}))["status"] == 409


async def test_only_a_copy_is_spoken_to_and_changed_and_each_once(valkey_socket: Path) -> None:
    copy, place = SessionId("c0ffee"), Address(SCRATCH, "c0ffee")
    said = {"text": "hello", "as": str(ADA), "key": "1"}
    changed = {"agent": str(HOST), "name": "count", "value": [41], "key": "2"}
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        await stored(world)
        await stored(world, TALKED[:-1], copy, place)
        for path, body in (("messages", said), ("variables", changed)):
            assert (await acted(owner, "POST", f"/sessions/{SESSION}/{path}", body))["status"] == 409
            first = await acted(owner, "POST", f"/sessions/{copy}/{path}", body)
            again = await acted(owner, "POST", f"/sessions/{copy}/{path}", body)
            assert (first, again) == (
                {"status": 202, "accepted": 1, "known": 0},
                {"status": 202, "accepted": 0, "known": 1},
            )
        assert await waiting(world, HERE) == []
        message, change = await waiting(world, place)
        assert (message.kind, message.text, message.person_id, message.person_name) == ("message", "hello", ADA, "Ada")
        assert (change.kind, change.person_name) == (ALTERED, "Olga")
        assert VariableAlteration.read(change.text) == VariableAlteration(HOST, "count", [41])
        stranger = {**said, "as": "web:2", "key": "3"}
        assert (await acted(owner, "POST", f"/sessions/{copy}/messages", stranger))["status"] == 409
        unknown = {**changed, "name": "other", "key": "4"}
        assert (await acted(owner, "POST", f"/sessions/{copy}/variables", unknown))["status"] == 409
        no_messages: list[object] = [{**said, "text": " "}, {"text": "x"}, {**said, "as": 7}, []]
        for wrong in no_messages:
            assert (await acted(owner, "POST", f"/sessions/{copy}/messages", wrong))["status"] == 422
        no_changes: list[object] = [{**changed, "name": ""}, {"agent": "1000", "name": "count", "key": "5"}]
        for wrong in no_changes:
            assert (await acted(owner, "POST", f"/sessions/{copy}/variables", wrong))["status"] == 422


async def test_what_has_used_a_tool_is_not_held_again_for_a_test(valkey_socket: Path) -> None:
    served = {"hello": Program("hello", (AgentSpec("Host", AgentKind.AI, Span("hello.pb", 1)),), "", "")}
    async with console(valkey_socket, acts=True, programs=served) as world, world.logged_in() as owner:
        await stored(world, [*TALKED, EffectIntended("1000.0", "0", "Shop.buy", "digest", "key")])
        refused = await acted(owner, "POST", f"/sessions/{SESSION}/test", {})
        assert refused == {"status": 409, "error": "It used Shop.buy, which a test of it would use again."}
        assert (await acted(owner, "POST", "/sessions/none/test", {}))["status"] == 404
