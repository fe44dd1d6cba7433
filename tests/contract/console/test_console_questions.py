"""Questions of agents and approvals of tools at the console, over a real store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from gateway.assembly.foundation import FollowedSessionStore
from gateway.assembly.stores import records_in
from gateway.features.approvals import register as open_questions
from gateway.features.approvals.register import QUESTIONS_TABLE, QuestionRegister
from runtime.core.ids import AgentId, MessageId, PersonId
from runtime.core.message import HUMAN_CLASS, Message
from runtime.stores.inbox import ANSWER
from runtime.stores.sessions import Commit
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import FrameStarted, QuestionAsked, WaitBegun, WaitEnded
from runtime.tape.facts.people import PageBegun
from runtime.tape.facts.session import AgentCreated, MessageQueued, SessionBegun, SessionEnded
from runtime.tape.tape import Fact, session_tape
from tests.contract.console.console_answers import acted, told_of
from tests.contract.storage_samples import HERE, SESSION, SHARD, T0, beginning, shard_lease
from tests.fakes.pages.console import ConsoleWorld, console

pytestmark = pytest.mark.anyio

HOST = AgentId("1000")
MAY = "May I?"
ANSWER_PATH = f"/questions/{SESSION}/4/answer"


def asking(
    text: str = MAY, options: Sequence[str] = ("Allow", "Deny"), *, pos: str = "may", of: str = ""
) -> list[FactContent]:
    """The facts of a session that asks; the question is on page 4."""
    return [
        SessionBegun("digest"),
        AgentCreated(HOST, "Host"),
        FrameStarted("3", HOST, "Main", (), {}, "v"),
        PageBegun("3", HOST, "ask", choices=[[f"s.4.{number}", option] for number, option in enumerate(options)]),
        QuestionAsked("3", pos, "4", text, list(options), PersonId(of) if of else None),
        WaitBegun("3", pos, "Ask", "digest", {"human": True, "ask": "4", "of": of or None}, None),
    ]


def answered(event: str, who: str, said: str) -> list[FactContent]:
    """The facts of an answer, from fact 7 on."""
    message = Message(
        MessageId(f"in.{event}"), PersonId("web:1"), HUMAN_CLASS, said, T0, from_human=True, sender_name=who
    )
    return [MessageQueued(HOST, message), WaitEnded("3", "may", "Ask", "digest", [message.id], value=said)]


def register_of(world: ConsoleWorld) -> QuestionRegister:
    return QuestionRegister(records_in(world.ground.connection, QUESTIONS_TABLE), world.ground.clock)


async def commit(world: ConsoleWorld, contents: Sequence[FactContent], *, after: int = 0, end: bool = False) -> None:
    lease = await shard_lease(world.leases)
    facts = tuple(
        Fact(session_tape(SESSION), after + number, one.kind, T0, one.data()) for number, one in enumerate(contents, 1)
    )
    whole = Commit(lease, SESSION, after, facts=facts, end=end) if after else replace(beginning(lease), facts=facts)
    await FollowedSessionStore(world.ground.connection, None, [register_of(world)]).commit(whole)


async def test_an_approval_is_listed_answered_and_gone(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        await commit(world, asking())
        for name, noted in ((f"{SESSION} 1 may", "soon 4"), ("nowhere", "1 4"), (f"{SESSION} 2 may", "1e99 4")):
            await records_in(world.ground.connection, QUESTIONS_TABLE).put(name, noted)  # nobody can read these
        (row,) = (await told_of(world, owner, "/questions"))["questions"]
        assert (row["kind"], row["agent"], row["text"], row["options"]) == ("approval", "Host", MAY, ["Allow", "Deny"])
        assert (row["conversation"], row["page"]) == (HERE.key, "4")
        assert (await told_of(world, owner, "/status"))["decisions"]["questions"] == 1
        async with world.logged_in("operator") as operator:
            assert MAY not in json.dumps(await told_of(world, operator, "/questions"))

        async def take() -> None:
            (entry,) = await world.inbox.read({SHARD: "0"}, wait_s=10)
            event = entry.event
            assert (event.kind, event.choice, event.text) == (ANSWER, f"{SESSION[:8]}.4.0", "Allow")
            assert (event.person_id, event.person_name) == ("client:console.owner", "Olga")
            await commit(world, answered(event.id, event.person_name, event.text), after=6)

        async with anyio.create_task_group() as session:
            session.start_soon(take)
            said = await acted(owner, "POST", ANSWER_PATH, {"option": 0})
        assert said == {"status": 200, "settled": True, "counted": True, "answer": "Allow", "by": "Olga"}
        assert (await told_of(world, owner, "/questions"))["questions"] == []
        assert (await told_of(world, owner, "/status"))["decisions"]["questions"] == 0
        late = await acted(owner, "POST", ANSWER_PATH, {"option": 1})
        assert late == {"status": 409, "error": "This question was answered already: Allow, by Olga."}


async def test_who_is_slower_learns_whose_answer_counts(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        await commit(world, asking())

        async def somebody_else() -> None:
            await world.inbox.read({SHARD: "0"}, wait_s=10)
            await commit(world, answered("1", "Ada", "Deny"), after=6)

        async with anyio.create_task_group() as session:
            session.start_soon(somebody_else)
            said = await acted(owner, "POST", ANSWER_PATH, {"option": 0})
        assert said == {"status": 200, "settled": True, "counted": False, "answer": "Deny", "by": "Ada"}


async def test_a_client_without_the_scope_for_words_answers_and_reads_none(valkey_socket: Path) -> None:
    writer = {"ci": ["gateway:read", "gateway:write"]}
    async with console(valkey_socket, clients=writer) as world, world.http(authorization="Bearer a-token-of-ci") as ci:
        await commit(world, asking(of="web:1"))
        assert (await acted(ci, "POST", ANSWER_PATH, {"option": 0}))["error"] == "Only somebody else can answer this."
        await commit(world, answered("1", "Ada", "Deny"), after=6)
        late = await acted(ci, "POST", ANSWER_PATH, {"option": 0})
        assert (late["status"], late["error"]) == (409, "This question was answered already.")


async def test_an_answer_that_is_sent_again_is_one_event(valkey_socket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.features.approvals.register.SETTLED_WITHIN_S", 0.05)
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        await commit(world, asking(pos="5", options=()))
        for _ in range(2):
            said = await acted(owner, "POST", ANSWER_PATH, {"text": " because "})
            assert (said["status"], said["settled"], said["counted"]) == (202, False, None)
        (entry,) = await world.inbox.read({SHARD: "0"}, wait_s=0)
        assert (entry.event.choice, entry.event.text) == (f"{SESSION[:8]}.4.free", "because")


async def test_what_is_no_answer_is_refused_in_a_sentence(valkey_socket: Path) -> None:
    wrong: list[object] = [{"option": 2}, {"option": True}, {"text": " "}, {"text": "x" * 10_001}, {}, [], 7]
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        await commit(world, asking())
        assert [(await acted(owner, "POST", ANSWER_PATH, body))["status"] for body in wrong] == [422] * len(wrong)
        assert (await acted(owner, "POST", f"/questions/{SESSION}/5/answer", {"option": 0}))["status"] == 404
        assert (await acted(owner, "POST", "/questions/none/x/answer", {"option": 0}))["status"] == 404


async def test_what_is_for_one_person_is_answered_by_that_person(valkey_socket: Path) -> None:
    async with console(valkey_socket, acts=True) as world, world.logged_in() as owner:
        await commit(world, asking(of="web:1"))
        (row,) = (await told_of(world, owner, "/questions"))["questions"]
        assert row["of"] == ["web:1"]
        assert (await acted(owner, "POST", ANSWER_PATH, {"option": 0}))["status"] == 409
        assert await world.inbox.read({SHARD: "0"}, wait_s=0) == []


async def test_a_question_whose_commit_was_lost_is_not_shown_and_forgotten_when_that_is_sure(
    valkey_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(valkey_socket) as world, world.logged_in() as owner:
        register = register_of(world)
        facts = [
            Fact(session_tape(SESSION), number, one.kind, T0, one.data()) for number, one in enumerate(asking(), 1)
        ]
        lease = await shard_lease(world.leases)
        await register.committing(replace(beginning(lease), facts=tuple(facts)))
        assert (await told_of(world, owner, "/questions"))["questions"] == []
        assert len(await register.all()) == 1  # its commit may be on its way
        monkeypatch.setattr(open_questions, "_UNWRITTEN", timedelta(0))
        assert (await told_of(world, owner, "/questions"))["questions"] == []
        assert await register.all() == []


async def test_what_a_program_asks_is_listed_and_is_not_for_owners_to_decide(valkey_socket: Path) -> None:
    async with console(valkey_socket) as world, world.logged_in() as owner:
        await commit(world, asking("Which?", ("Red", "Blue"), pos="1"))
        (row,) = (await told_of(world, owner, "/questions"))["questions"]
        assert row["kind"] == "question"
        assert (await told_of(world, owner, "/status"))["decisions"]["questions"] == 0


async def test_questions_of_a_session_that_has_ended_are_gone(
    valkey_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_questions, "_WRITTEN", timedelta(0))
    async with console(valkey_socket) as world, world.logged_in() as owner:
        await commit(world, asking())
        await commit(world, [SessionEnded()], after=6, end=True)
        assert (await told_of(world, owner, "/questions"))["questions"] == []
        assert (await told_of(world, owner, "/status"))["decisions"]["questions"] == 0
