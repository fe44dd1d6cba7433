"""Notes, commits and the fold of facts into state."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.errors import Divergence, LeaseLost, StorageUnavailable, TapeConflict
from runtime.core.ids import AgentId, MessageId, PersonId, SessionId
from runtime.core.message import Message, message_to_data
from runtime.tape.facts.registry import KINDS, RULES, content_of
from runtime.tape.fold import apply, apply_fact
from runtime.tape.journal import CommitBatch, Journal, as_data, digest_of
from runtime.tape.running import RunningCode
from runtime.tape.state.frames import takes
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact, session_tape
from tests.fakes.clock import FakeClock

FRAME = {"agent": "1000", "pb": "Main", "args": [], "kwargs": {}, "version": "1"}
CALL = {"f": "1000.0", "pos": "0", "name": "WaitForMessage", "dig": "d"}


class Tape:
    """Takes batches. With `gate`, a write ends when it is opened; `fault` is raised by the next one."""

    def __init__(self) -> None:
        self.batches: list[CommitBatch] = []
        self.gate: anyio.Event | None = None
        self.fault: Exception | None = None

    async def __call__(self, batch: CommitBatch, /) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        self.batches.append(batch)


@asynccontextmanager
async def running(tape: Tape) -> AsyncIterator[Journal]:
    journal = Journal(SessionId("s"), FakeClock(), tape)
    async with anyio.create_task_group() as tasks:
        journal.start(tasks)
        yield journal
        tasks.cancel_scope.cancel()


def message(text: str, *, human: bool = True, sender: str = "test:1") -> Message:
    return Message(
        MessageId(f"m.{text}"),
        PersonId(sender),
        "Human" if human else "Other",
        text,
        FakeClock().now(),
        AgentId("1000"),
        from_human=human,
    )


def with_agent(*facts: tuple[str, dict[str, Any]]) -> SessionState:
    state = SessionState()
    every = [("agent", {"id": "1000", "class": "Main", "vars": {}}), *facts]
    for seq, (kind, data) in enumerate(every, 1):
        apply(state, seq, content_of(kind, data))
    return state


def in_(text: str, *, human: bool = True, sender: str = "test:1") -> tuple[str, dict[str, Any]]:
    return "in", {"agent": "1000", "message": message_to_data(message(text, human=human, sender=sender))}


START: tuple[str, dict[str, Any]] = ("start", {"f": "1000.0", **FRAME})


def wait(source: object, due: float | None = None, pos: str = "0") -> tuple[str, dict[str, Any]]:
    return "wait", {**CALL, "pos": pos, "source": source, "due": due}


# -- the fold


def test_a_gap_on_the_tape_is_refused_with_both_numbers() -> None:
    with pytest.raises(Divergence, match=r"fact 3 \(wake\) follows fact 1"):
        apply(with_agent(), 3, content_of("wake", {}))


def test_an_unknown_kind_is_refused_and_leaves_the_state_where_it_was() -> None:
    state = with_agent()
    with pytest.raises(Divergence, match="unknown kind 'dream'"):
        apply_fact(state, Fact(session_tape(SessionId("s")), 2, "dream", datetime.now(UTC), {}))
    assert state.seq == 1


def test_a_message_is_taken_once() -> None:
    took = ("took", {**CALL, "mids": ["m.hi"], "val": []})
    state = with_agent(START, in_("hi"), wait({"human": True}), took)
    assert state.agents[AgentId("1000")].queue == []
    with pytest.raises(Divergence, match="not in its queue"):
        apply(state, state.seq + 1, content_of("took", {**CALL, "pos": "1", "mids": ["m.hi"], "val": []}))


def test_a_return_takes_everything_below_with_it_and_is_one_record_of_the_caller() -> None:
    up = {"frame": "1000.0", "pos": "0", "name": "Child", "digest": "d"}
    grand = {"frame": "1000.0:0", "pos": "0", "name": "Grand", "digest": "d"}
    state = with_agent(
        START,
        ("start", {"f": "1000.0:0", **FRAME, "up": up}),
        ("start", {"f": "1000.0:0:0", **FRAME, "up": grand}),
        ("wait", {**CALL, "f": "1000.0:0:0", "source": {"human": True}, "due": None}),
        ("ret", {"f": "1000.0:0", "val": 5}),
    )
    assert list(state.frames) == ["1000.0"]
    assert state.waits == {}
    assert state.frames["1000.0"].records["0"].value == 5
    assert state.frames["1000.0"].order == ["0"]


def test_dropping_a_call_takes_the_playbooks_it_triggered_with_it() -> None:
    up = {"frame": "1000.0", "pos": "0:t0", "name": "Big", "digest": "d", "hidden": True}
    state = with_agent(
        START,
        ("start", {"f": "1000.0:0:t0", **FRAME, "up": up}),
        ("drop", {**CALL, "name": "Var", "exc": ["Cancelled", ""]}),
    )
    assert list(state.frames) == ["1000.0"]


def test_a_turn_forgets_its_records_and_keeps_locals_and_transcript() -> None:
    state = with_agent(
        START,
        ("stmt", {"f": "1000.0", "src": "y = 1"}),
        ("res", {"f": "1000.0", "pos": "0.0", "name": "Var", "dig": "d", "val": 1, "set": {"x": 1}}),
        ("done", {"f": "1000.0", "loc": {"y": 1}}),
        ("turn", {"f": "1000.0", "said": "code", "heard": "go", "gave": "", "waits": {"human": True}}),
    )
    frame = state.frames["1000.0"]
    assert (frame.records, frame.order, frame.statements, frame.locals) == ({}, [], [], {"y": 1})
    assert frame.transcript == [{"heard": "go", "said": "code"}]
    assert frame.base == {"x": 1}


def test_the_agent_spoken_to_last_is_remembered_while_people_are_spoken_to() -> None:
    say = {"f": "1000.0", "name": "Say", "dig": "d", "val": None}
    state = with_agent(
        START,
        ("res", {**say, "pos": "0", "to": "agent 1001"}),
        ("res", {**say, "pos": "1", "to": "human"}),
    )
    assert state.agents[AgentId("1000")].last_addressed == "agent 1001"


def test_stopping_an_agent_ends_its_meetings_and_takes_it_out_of_others() -> None:
    state = with_agent(
        ("agent", {"id": "1001", "class": "Other", "vars": {}}),
        START,
        ("meeting", {"id": "100", "topic": "t", "host": "1000", "f": "1000.0"}),
        ("joined", {"id": "100", "who": "1001"}),
    )
    apply(state, state.seq + 1, content_of("stop", {"agent": "1001"}))
    assert (state.meetings["100"].status, state.meetings["100"].joined) == ("inviting", ["1000"])
    apply(state, state.seq + 1, content_of("stop", {"agent": "1000"}))
    assert state.meetings["100"].status == "ended"


def test_facts_about_a_page_that_is_gone_change_nothing() -> None:
    state = with_agent(START)
    for kind in ("opening", "grew", "sent", "shown"):
        apply(state, state.seq + 1, content_of(kind, {"page": "9", "part": 0, "text": "", "pid": "1", "at": 0}))
    assert state.pages == {}


def test_every_kind_of_fact_has_a_rule() -> None:
    assert len(KINDS) > 80
    assert set(RULES) == set(KINDS.values())


# -- awake: there is something to do without a further event


@pytest.mark.parametrize(
    ("facts", "restless"),
    [
        ([], False),
        ([START], True),
        ([in_("hi")], True),
        ([START, wait({"human": True})], False),
        ([START, wait({"human": True}), in_("hi")], True),
        ([START, wait({"agents": ["1001"]}), in_("hi", human=False, sender="1002")], False),
        ([START, wait({"agents": ["1001"]}), in_("hi", human=False, sender="1001")], True),
        ([START, wait({"agents": ["1001"]}), in_("hi")], True),
        ([START, wait({"human": True}, due=5.0)], False),
        ([START, wait(None, due=5.0)], False),
        ([START, wait(None, due=5.0), in_("hi")], False),
        ([START, wait({"human": True}), ("ended", {})], False),
        ([START, ("broken", {"why": "changed"})], False),
        ([START, ("broken", {"why": "changed"}), ("wake", {})], True),
        ([START, wait({"human": True}), ("intent", {**CALL, "pos": "1", "key": "s.4"})], True),
    ],
)
def test_a_session_is_awake_exactly_when_there_is_something_to_do(
    facts: list[tuple[str, dict[str, Any]]], restless: bool
) -> None:
    assert with_agent(*facts).restless() is restless


def test_a_session_knows_the_first_time_that_it_waits_for() -> None:
    later = ("wait", {**CALL, "pos": "1", "source": None, "due": 9.0})
    assert with_agent(START, wait({"human": True})).next_due() is None
    assert with_agent(START, later, wait({"human": True}, due=5.0)).next_due() == 5.0
    assert with_agent(START, later, ("ended", {})).next_due() is None


def test_a_caller_rests_while_its_playbook_waits() -> None:
    up = {"frame": "1000.0", "pos": "0", "name": "Child", "digest": "d"}
    child = ("start", {"f": "1000.0:0", **FRAME, "up": up})
    waits = ("wait", {**CALL, "f": "1000.0:0", "source": {"human": True}, "due": None})
    assert with_agent(START, child).restless()
    assert not with_agent(START, child, waits).restless()


@pytest.mark.parametrize(
    ("source", "human", "agent", "meeting"),
    [
        ({"any": True}, True, True, True),
        ({"human": True}, True, False, False),
        ({"agents": ["1001"]}, True, True, False),
        ({"meeting": "100"}, True, False, True),
    ],
)
def test_a_wait_takes_what_it_waits_for_and_every_person(
    source: dict[str, Any], human: bool, agent: bool, meeting: bool
) -> None:
    data = message_to_data(message("x", human=False, sender="1001"))
    in_meeting = Message(
        MessageId("m"),
        AgentId("1001"),
        "Other",
        "x",
        FakeClock().now(),
        meeting_id="100",  # type: ignore[arg-type]
    )
    assert data["from"] == "1001"
    assert takes(source, message("x")) is human
    assert takes(source, message("x", human=False, sender="1001")) is agent
    assert takes(source, in_meeting) is meeting


# -- commits


async def test_a_note_waits_for_the_next_commit_and_keeps_its_order() -> None:
    tape = Tape()
    async with running(tape) as journal:
        journal.note(content_of("begin", {"program": "1"}))
        journal.note(content_of("agent", {"id": "1000", "class": "Main", "vars": {}}))
        assert (tape.batches, journal.pending) == ([], 2)
        await journal.commit()
    assert [fact.kind for fact in tape.batches[0].facts] == ["begin", "agent"]
    assert [fact.seq for fact in tape.batches[0].facts] == [1, 2]
    assert [str(fact.tape) for fact in tape.batches[0].facts] == ["s/session", "s/session"]


async def test_who_waits_for_a_commit_learns_that_the_session_has_left_memory() -> None:
    tape, learned = Tape(), list[str]()
    tape.gate = anyio.Event()
    journal = Journal(SessionId("s"), FakeClock(), tape)

    async def wait(what: str) -> None:
        with pytest.raises(LeaseLost):
            await journal.commit()
        learned.append(what)

    async with anyio.create_task_group() as pages, anyio.create_task_group() as tasks:
        journal.start(tasks)
        journal.note(content_of("begin", {"program": "1"}))
        pages.start_soon(wait, "on its way")
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
        journal.leave()
        pages.start_soon(wait, "later")
    assert (learned, tape.batches) == (["on its way", "later"], [])


async def test_commits_that_overlap_share_one_write() -> None:
    tape = Tape()
    tape.gate = anyio.Event()
    async with running(tape) as journal, anyio.create_task_group() as tasks:
        journal.note(content_of("begin", {"program": "1"}))
        tasks.start_soon(journal.commit)
        await FakeClock.settle()
        for name in ("Ada", "Bob", "Eve"):
            journal.note(content_of("person", {"id": name, "name": name}))
            tasks.start_soon(journal.commit)
        await FakeClock.settle()
        tape.gate.set()
    assert [len(batch.facts) for batch in tape.batches] == [1, 3]
    assert [batch.expect for batch in tape.batches] == [0, 1]


async def test_what_was_consumed_is_in_the_same_write_as_what_it_led_to() -> None:
    tape = Tape()
    async with running(tape) as journal:
        journal.consume("7-0")
        journal.note(content_of("begin", {"program": "1"}))
        await journal.commit()
        journal.consume("8-0")
        await journal.commit()
    assert [(batch.consume, len(batch.facts)) for batch in tape.batches] == [(("7-0",), 1), (("8-0",), 0)]


@pytest.mark.parametrize("error", [StorageUnavailable("down"), TapeConflict("other", expected=0, actual=1)])
async def test_a_write_that_fails_ends_the_journal_for_everybody(error: Exception) -> None:
    tape = Tape()
    tape.fault = error
    journal = Journal(SessionId("s"), FakeClock(), tape)
    seen: list[BaseException] = []

    async def try_to_commit() -> None:
        try:
            await journal.commit()
        except Exception as raised:  # noqa: BLE001 - the test looks at it
            seen.append(raised)

    async def write() -> None:
        async with anyio.create_task_group() as tasks:
            journal.start(tasks)
            tasks.start_soon(try_to_commit)

    journal.note(content_of("begin", {"program": "1"}))
    with pytest.raises(ExceptionGroup) as broken:
        await write()
    assert seen == [error]
    assert list(broken.value.exceptions) == [error]
    with pytest.raises(type(error)):
        journal.note(content_of("wake", {}))
    with pytest.raises(type(error)):
        await journal.commit()


async def test_that_nothing_goes_on_any_more_is_written_also_without_a_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    tape, at_work = Tape(), True
    monkeypatch.setattr(RunningCode, "any", lambda _: at_work)
    async with running(tape) as journal:
        journal.note(content_of("begin", {"program": "1"}))
        await journal.commit()
        journal.settle()
        await FakeClock.settle()
        assert [batch.awake for batch in tape.batches] == [True]
        at_work = False
        journal.settle()
        await FakeClock.settle()
        journal.settle()
        await FakeClock.settle()
    assert [batch.awake for batch in tape.batches] == [True, False]


async def test_live_and_restored_state_are_the_same() -> None:
    tape = Tape()
    async with running(tape) as journal:
        journal.note(content_of("agent", {"id": "1000", "class": "Main", "vars": {"t": (1, 2)}}))
        journal.note(content_of("start", {"f": "1000.0", **FRAME}))
        journal.note(
            content_of(
                "res", {"f": "1000.0", "pos": "0", "name": "Var", "dig": "d", "val": (1,), "set": {"x": {1: "one"}}}
            )
        )
        await journal.commit()
        live = journal.state
    restored = Journal(SessionId("s"), FakeClock(), tape)
    for fact in tape.batches[0].facts:
        restored.restore(fact)
    assert restored.state == live
    assert live.agents[AgentId("1000")].variables == {"t": [1, 2], "x": {"1": "one"}}
    assert str(tape.batches[0].facts[1].tape) == "s/1000"


async def test_pages_go_into_the_outbox_when_they_may_be_seen_and_out_when_they_were() -> None:
    tape = Tape()
    async with running(tape) as journal:
        journal.note(content_of("agent", {"id": "1000", "class": "Main", "vars": {}}))
        journal.note(content_of("start", {"f": "1000.0", **FRAME}))
        page = str(journal.note(content_of("page", {"f": "1000.0", "agent": "1000", "to": "human"})))
        await journal.commit()
        journal.note(content_of("fin", {"page": page, "text": "hi"}))
        await journal.commit()
        journal.note(content_of("shown", {"page": page}))
        await journal.commit()
    assert [(b.outbox_add, b.outbox_done) for b in tape.batches] == [((), ()), ((page,), ()), ((), (page,))]


async def test_a_fact_about_a_frame_is_told_to_it_and_to_its_caller() -> None:
    async with running(Tape()) as journal:
        told: list[str] = []
        journal.listen("1000.0", lambda: told.append("caller"))
        journal.listen("1000.0:0", lambda: told.append("child"))
        journal.note(content_of("agent", {"id": "1000", "class": "Main", "vars": {}}))
        journal.note(content_of("start", {"f": "1000.0", **FRAME}))
        assert told == ["caller"]
        up = {"frame": "1000.0", "pos": "0", "name": "Child", "digest": "d"}
        journal.note(content_of("start", {"f": "1000.0:0", **FRAME, "up": up}))
        journal.forget("1000.0:0")
        journal.note(content_of("ret", {"f": "1000.0:0", "val": 1}))
    assert told == ["caller", "child", "caller", "caller"]


def test_only_data_can_be_noted() -> None:
    journal = Journal(SessionId("s"), FakeClock(), Tape())
    with pytest.raises(TypeError):
        journal.note(content_of("begin", {"program": object()}))
    assert journal.pending == 0
    assert as_data({1: (2,)}) == {"1": [2]}


def test_a_digest_tells_calls_apart_by_name_and_arguments() -> None:
    assert digest_of("Say", ["user", "x"], {}) == digest_of("Say", ("user", "x"), {})
    assert len({digest_of("Say", ["a"], {}), digest_of("Say", ["b"], {}), digest_of("Var", ["a"], {})}) == 3


async def test_a_sign_that_is_due_again_in_the_same_write_stays_owed() -> None:
    tape = Tape()
    async with running(tape) as journal:
        journal.note(content_of("marking", {"pid": "7", "mark": "queued"}))
        await journal.commit()
        journal.note(content_of("marked", {"pid": "7"}))
        journal.note(content_of("marking", {"pid": "7", "mark": "seen"}))
        await journal.commit()
        journal.note(content_of("marked", {"pid": "7"}))
        await journal.commit()
    assert [b.outbox_add for b in tape.batches] == [("mark.7",), ("mark.7",), ()]
    assert [b.outbox_done for b in tape.batches] == [(), (), ("mark.7",)]


async def test_a_session_rests_when_the_store_knows_that_nothing_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    tape, at_work = Tape(), True
    monkeypatch.setattr(RunningCode, "any", lambda _: at_work)
    async with running(tape) as journal:
        journal.note(content_of("begin", {"program": "1"}))
        await journal.commit()
        assert tape.batches[-1].awake
        at_work, tape.gate = False, anyio.Event()
        rested = anyio.Event()

        async def rest() -> None:
            await journal.rest()
            rested.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(rest)
            await anyio.wait_all_tasks_blocked()
            assert not rested.is_set()
            tape.gate.set()
        assert not tape.batches[-1].awake


class _Text(str):
    """A text of a kind of its own."""


DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))
    | st.builds(_Text, st.text()),
    lambda part: (
        st.lists(part)
        | st.lists(part).map(tuple)
        | st.dictionaries(st.text(st.characters(exclude_categories=())) | st.integers() | st.none(), part)
    ),
    max_leaves=20,
)


@given(DATA)
def test_data_reads_as_it_would_through_json(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    read, own = as_data(value), json.loads(text)
    assert read == own
    assert repr(read) == repr(own)


@pytest.mark.parametrize("value", [{1, 2}, object(), [b"x"], {"a": {("b",): 1}}])
def test_what_is_no_data_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        as_data(value)


def test_data_shares_nothing_with_what_it_was_made_of() -> None:
    value = {"list": [1, {"a": []}]}
    data = as_data(value)
    data["list"][1]["a"].append(2)
    assert value == {"list": [1, {"a": []}]}
