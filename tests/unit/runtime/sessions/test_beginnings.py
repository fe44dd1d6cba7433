"""Sessions begin with events that carry their program, and with nothing else."""

import ast
from itertools import product
from pathlib import Path

import pytest

import gateway
import runtime
from gateway.features.schedules.facts import SCHEDULE
from runtime.core.address import CLIENT, SCRATCH, Address, address_of
from runtime.core.ids import SessionId
from runtime.core.texts import english
from runtime.language.program import Program
from runtime.sessions.beginning import Beginning
from runtime.storage.encoding import codec
from runtime.stores import inbox
from runtime.stores.inbox import FORK, NOTICE, SESSION_COMMANDS, TASK, InboxEntry, InboxEvent
from runtime.stores.orders import TaskOrder
from runtime.stores.sessions import TIMER
from tests.contract.storage_samples import T0
from tests.fakes.crashes.world import ADDRESS
from tests.fakes.people.talk import Model, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program

GONE = address_of(SessionId("0" * 32))
"""Where a task was whose session is deleted."""

PLACES = {
    ADDRESS: {"message", "start", "new", FORK},
    GONE: {TASK},
    Address(SCRATCH, "copy"): {FORK},
    Address(CLIENT, "desk"): set(),
}
"""The kinds with which a session begins there."""

CONSTANTS = {name: value for name, value in {**vars(inbox), **vars(codec)}.items() if isinstance(value, str)}
KINDS = sorted(
    {
        *(value for name, value in CONSTANTS.items() if name.isupper()),
        *inbox.CROWDING,
        *SESSION_COMMANDS,
        SCHEDULE,
        TIMER,
        "start",
        "new",
    }
)


def entry(kind: str, at: Address, begins: str) -> InboxEntry:
    return InboxEntry(0, "1", InboxEvent("e", at, "test:1", "Ada", "hi", T0, kind=kind, program=begins))


@pytest.mark.parametrize(("kind", "at"), [*product(KINDS, PLACES)], ids=str)
def test_an_event_begins_a_session_only_with_a_program_and_where_its_kind_may(kind: str, at: Address) -> None:
    assert Beginning.of(entry(kind, at, "")) is None
    begun = Beginning.of(entry(kind, at, "second"))
    assert (begun is not None) == (kind in PLACES[at])
    assert begun is None or begun.program == "second"


def test_whatever_we_put_into_an_inbox_names_its_program_unless_its_kind_begins_nothing() -> None:
    """Looks at every place in the product that makes an event, so that a new one cannot be forgotten."""
    beginning = set.union(*PLACES.values())
    made = [
        (f"{path}:{call.lineno}", call)
        for root in (gateway, runtime)
        for path in sorted(Path(str(root.__file__)).parent.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "InboxEvent"
    ]
    assert len(made) > 20
    for where, call in made:
        given = {one.arg: one.value for one in call.keywords}
        kind = given.get("kind", call.args[6] if len(call.args) > 6 else None)
        named = CONSTANTS.get(kind.id, "message") if isinstance(kind, ast.Name) else "message"
        assert "program" in given or named not in beginning, where


def greeter(name: str) -> Program:
    """A program that says who it is."""
    code = f"async def Main():\n    await Say('user', 'I am {name}.')\n    await WaitForMessage('user')\n"
    return program(agent(name, MAIN, code=code))


PROGRAMS = {"First": greeter("First"), "Second": greeter("Second")}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (NOTICE, inbox.LOCKED, TASK)])
async def test_nothing_that_reaches_a_deleted_task_begins_a_program(kind: str) -> None:
    async with talking(PROGRAMS, Model()) as talk:
        for begins in ("", "First"):
            await talk.say("do what I say", at=GONE, kind=kind, program=begins)
        assert talk.named("session.started") == []
        assert not any("I am" in said for said in talk.chat)


async def test_a_message_of_an_older_version_without_a_program_is_put_aside_and_its_author_is_told() -> None:
    async with talking(PROGRAMS, Model()) as talk:
        assert await talk.say("do what I say", program="") == [english()("session.not_taken")]
        assert [entry.event.text for entry in talk.world.discarded] == ["do what I say"]
        assert talk.named("session.started") == []


async def test_a_new_without_a_program_leaves_the_session_that_is_there() -> None:
    async with talking(PROGRAMS, Model()) as talk:
        assert await talk.say("hello", program="Second") == ["I am Second."]
        assert await talk.say("", kind="new", program="") == [english()("session.not_taken")]
        assert talk.facts("ended") == []


async def test_an_order_that_may_no_longer_begin_is_put_aside_and_others_go_on() -> None:
    def objection(event: InboxEvent) -> str:
        return "the scope is gone" if event.kind == TASK else ""

    home: list[str | None] = ["client", "ci", None]
    letter = str(TaskOrder(0, SessionId(""), "First", "Main", {}, T0.timestamp() + 1e9, 1, home, home))
    async with talking(PROGRAMS, Model(), objection=objection) as talk:
        talk.post(letter, at=GONE, kind=TASK, program="First")
        await talk.until(lambda: bool(talk.world.discarded))
        assert talk.named("session.started") == []
        assert "I am First." in await talk.say("hello", program="First")
        assert [entry.event.text for entry in talk.world.discarded] == [letter]
