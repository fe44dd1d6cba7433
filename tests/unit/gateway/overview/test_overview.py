"""How models, tools and platforms answer, and what becomes of a session's facts."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio

from gateway.overview.status import SeenPlatforms, SharedPlatforms
from gateway.overview.strip import StripMark, strip_of
from gateway.overview.tallies import EVERY_S, WRITTEN, ServiceTallies, SharedServices
from runtime.bus import Bus
from runtime.core.ids import TapeId
from runtime.events.frames import LLMAnswered
from runtime.events.service import ModelFellBack
from runtime.events.sessions import RemoteConnected, RemoteReturned, RemoteUnreachable
from runtime.events.talk import AdapterConnected, AdapterFailed, AdapterRateLimited, MessageAdmitted, PageSent
from runtime.tape.tape import Fact
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

BOTH = {"here", "there"}


def answered(seconds: float) -> LLMAnswered:
    told = ("s", "1", "1000", "Main", "m", "execute", "hi", seconds, 0.2, 10, 2, 0, 0.1, "web:x", "web:1")
    return LLMAnswered(*told)


async def test_models_and_servers_are_counted_over_all_living_nodes() -> None:
    clock, records = FakeClock(), MemoryRecords()
    here, there = Bus(clock), Bus(clock)
    ours = SharedServices(ServiceTallies(here), records, "here", clock)
    theirs = SharedServices(ServiceTallies(there), records, "there", clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(theirs.run)
        here.publish(answered(1.0))
        here.publish(ModelFellBack("m", "n", "we were refused"))
        here.publish(RemoteUnreachable("Bank", "bank.example", "no route"))
        await clock.advance(EVERY_S)
        for _ in range(WRITTEN + 9):
            there.publish(answered(3.0))
        there.publish(RemoteConnected("Bank", "bank.example", 4))
        there.publish(RemoteReturned("Bank", "bank.example", "Pay", 0.5, None))
        await clock.advance(EVERY_S)
        tally = (await ours.models(BOTH))["m"]
        assert (tally.answers, tally.failures, len(tally.took_s)) == (WRITTEN + 10, 1, WRITTEN + 1)
        assert (tally.data(content=True)["median_s"], tally.error) == (3.0, "we were refused")
        bank = (await ours.servers(BOTH))["Bank"]
        assert (bank.tools, bank.trouble, bank.calls["Pay"].answers) == (4, None, 1)
        alone = (await ours.servers({"here"}))["Bank"]
        assert (alone.trouble, alone.connected_at, (await ours.models({"here"}))["m"].answers) == ("no route", None, 1)

        await clock.advance(1)
        there.publish(ModelFellBack("m", "n", "words of people"))
        there.publish(RemoteReturned("Bank", "bank.example", "Pay", 0.5, "words of people"))
        await clock.advance(EVERY_S)
        tally = (await ours.models(BOTH))["m"]
        assert (tally.failures, tally.error, tally.error_at) == (2, "", tally.last_at)  # the later one, without words
        assert "words of people" not in str(records.records)
        here.publish(answered(1.0))  # what is asked for changes nothing here
        assert (await ours.models(BOTH))["m"].answers == WRITTEN + 11
        tasks.cancel_scope.cancel()


async def test_a_platform_has_when_it_was_connected_and_what_went_through_it_last() -> None:
    clock = FakeClock()
    bus = Bus(clock)
    seen = SeenPlatforms(bus)
    assert seen.data() == []
    connected = clock.now().isoformat()
    bus.publish(AdapterConnected("telegram"))
    await clock.advance(60)
    bus.publish(MessageAdmitted("telegram", "telegram:1", "m", "message"))
    bus.publish(PageSent("s", "7", "1000.0", 0, "telegram"))
    bus.publish(AdapterRateLimited("7", "telegram:1:2", 0, 3.0))
    later = clock.now().isoformat()
    assert seen.data() == [
        {
            "name": "telegram",
            "connected_at": connected,
            "last_in_at": later,
            "last_out_at": later,
            "paused_at": later,
            "pauses": 1,
            "trouble": None,
        }
    ]


async def test_a_platform_that_refuses_us_says_why_until_it_is_connected() -> None:
    bus = Bus(FakeClock())
    seen = SeenPlatforms(bus)
    bus.publish(AdapterFailed("slack", "the token is refused"))
    assert [(one["trouble"], one["connected_at"]) for one in seen.data()] == [("the token is refused", None)]
    bus.publish(AdapterConnected("slack"))
    assert [one["trouble"] for one in seen.data()] == [None]


async def test_what_other_living_nodes_have_seen_is_one_row_with_ours() -> None:
    clock, records = FakeClock(), MemoryRecords()
    here, there = Bus(clock), Bus(clock)
    ours = SharedPlatforms(SeenPlatforms(here), records, "here", clock)
    theirs = SharedPlatforms(SeenPlatforms(there), records, "there", clock)
    here.publish(AdapterFailed("telegram", "the token is wrong"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(theirs.run)
        await clock.advance(EVERY_S)
        there.publish(AdapterConnected("telegram"))
        there.publish(MessageAdmitted("telegram", "telegram:1", "m", "message"))
        await clock.advance(EVERY_S)
        for _ in range(3):  # what comes close together is one write
            there.publish(AdapterRateLimited("7", "telegram:1:2", 0, 3.0))
        writes = len(records.puts)
        await clock.advance(EVERY_S)
        assert len(records.puts) == writes + 1
        (row,) = await ours.data({"here", "there"})
        assert (row["trouble"], row["pauses"], row["last_in_at"] is None) == (None, 3, False)
        (alone,) = await ours.data({"here"})
        assert (alone["trouble"], alone["connected_at"]) == ("the token is wrong", None)
        assert "there" in records.records  # it may be starting
        await clock.advance(86_401)
        await ours.data({"here"})
        assert records.records == {}
        tasks.cancel_scope.cancel()


T0 = datetime(2026, 1, 1, tzinfo=UTC)

START = {
    "f": "1000.0",
    "agent": "1000",
    "pb": "Main",
    "args": [],
    "kwargs": {"town": "Oslo"},
    "version": "llm.walked a b",
}
HEARD = {
    "message": "in.1",
    "agent": "1000",
    "person": "web:1",
    "name": "Ada",
    "private": False,
    "text": "hi",
    "pid": "p",
}
WAIT = {"f": "1000.0", "pos": "turn", "name": "Yld", "dig": "", "source": {"human": True}, "due": None}

TALK: Sequence[tuple[str, str, Mapping[str, Any]]] = (
    ("session", "agent", {"id": "1000", "class": "Host", "vars": {}}),
    ("session", "heard", HEARD),
    ("1000", "start", START),
    ("1000", "step", {"f": "1000.0", "at": "01", "op": "QUE"}),
    ("1000", "res", {"f": "1000.0", "pos": "0", "name": "Answer", "dig": "", "val": {"name": "Ada"}}),
    ("1000", "page", {"f": "1000.0", "agent": "1000", "to": "human", "reply": None}),
    ("1000", "ask", {"f": "1000.0", "pos": "1", "page": "6", "text": "Shall I?", "options": ["Yes", "No"]}),
    ("1000", "fin", {"page": "6", "text": "Shall I?"}),
    ("1000", "wait", WAIT),
    ("1000", "took", {"f": "1000.0", "pos": "turn", "mids": []}),
    ("1000", "rej", {"f": "1000.0", "rule": "no-import", "message": "not allowed", "source": "import os"}),
    ("1000", "ret", {"f": "1000.0", "exc": ["ValueError", "no"]}),
)


def facts(told: Sequence[tuple[str, str, Mapping[str, Any]]], first: int = 1) -> list[Fact]:
    return [
        Fact(TapeId(f"s/{tape}"), seq, kind, T0 + timedelta(seconds=seq), data)
        for seq, (tape, kind, data) in enumerate(told, first)
    ]


def shown(marks: Sequence[StripMark]) -> list[tuple[str, str, int | None, int | None, str]]:
    return [(mark.lane, mark.kind, mark.first, mark.last, mark.name) for mark in marks]


def test_facts_are_marks_in_the_lanes_of_people_and_agents() -> None:
    marks = strip_of(facts(TALK))
    assert shown(marks) == [
        ("1000", "agent", 1, 1, "Host"),
        ("people", "heard", 2, 2, "Ada"),
        ("1000", "call", 3, 12, "Main"),
        ("1000", "step", 4, 4, "01:QUE"),
        ("1000", "model", 4, 5, "Answer"),
        ("1000", "said", 6, 8, "human"),
        ("1000", "wait", 9, 10, "people"),
        ("1000", "trouble", 11, 11, "no-import"),
        ("1000", "trouble", 12, 12, "ValueError"),
    ]
    said = next(mark for mark in marks if mark.kind == "said")
    assert (said.text, said.options) == ("Shall I?", ("Yes", "No"))
    assert [mark.name for mark in marks if not mark.ok] == ["Main", "no-import", "ValueError"]


def test_words_are_shown_only_to_who_may_read_them() -> None:
    (mark,) = strip_of(facts(TALK[1:2]))
    assert mark.data(content=True)["text"] == "hi"
    assert "hi" not in str(mark.data(content=False))


def test_a_mark_that_is_cut_in_two_has_the_same_key_in_both_readings() -> None:
    all_of_it = facts(TALK)
    before, after = strip_of(all_of_it[:6]), strip_of(all_of_it[6:])
    open_ = {mark.key for mark in before if mark.last is None}
    assert open_ == {"call:1000.0", "said:6"} == {mark.key for mark in after if mark.first is None}


def test_tasks_of_which_some_were_ordered_before_end_as_what_they_are() -> None:
    order = {"agent": "1000", "class": "Cook", "pb": "Bake", "args": {}, "due": 9.0, "deliver": "caller", "depth": 1}
    told = facts(
        [
            ("session", "spawn", {**order, "task": "t-1"}),
            ("session", "spawn", {**order, "pb": "Fry", "task": "t-2"}),
            ("session", "task_over", {"task": 1, "status": "completed", "first": 0, "last": 0}),
            ("session", "task_over", {"task": 2, "status": "failed", "first": 0, "last": 0}),
        ]
    )
    first, second = strip_of(told)
    assert (first.name, first.last, first.ok) == ("Cook.Bake", 3, True)
    assert (second.name, second.last, second.ok) == ("Cook.Fry", 4, False)
    later = {mark.key: (mark.first, mark.last, mark.ok) for mark in strip_of(told[1:], ordered=1)}
    assert later == {second.key: (2, 4, False), first.key: (None, 3, True)}


def test_waits_in_one_place_are_each_a_mark() -> None:
    waits = facts([("1000", "wait", WAIT), ("1000", "took", {"f": "1000.0", "pos": "turn", "mids": []})] * 3)
    assert shown(strip_of(waits)) == [("1000", "wait", first, first + 1, "people") for first in (1, 3, 5)]


def test_a_press_is_said_by_a_person_and_a_typed_answer_is_said_once() -> None:
    answer = {"from": "web:1", "class": "User", "at": T0.isoformat(), "type": "choice", "to": "1000", "human": True}
    pressed = {**answer, "id": "in.2", "text": "Yes", "name": "Ada", "answers": "6"}
    typed = {**pressed, "id": "in.1"}
    queued = [("1000", "in", {"agent": "1000", "message": one}) for one in (typed, pressed)]
    told: list[tuple[str, str, Mapping[str, Any]]] = [("session", "heard", HEARD), *queued]
    assert [(mark.lane, mark.name, mark.text) for mark in strip_of(facts(told))] == [
        ("people", "Ada", "hi"),
        ("people", "Ada", "Yes"),
    ]


def test_a_fact_that_cannot_be_read_is_passed_over() -> None:
    broken = facts([("1000", "start", {}), ("1000", "unreadable", {"fields": {}}), ("session", "heard", HEARD)])
    assert shown(strip_of(broken)) == [("people", "heard", 3, 3, "Ada")]


def test_an_agent_that_was_stopped_is_no_failure() -> None:
    told = [TALK[0], ("session", "stop", {"agent": "1000", "mids": [], "past": False, "idle": False})]
    (mark,) = [mark for mark in strip_of(facts(told)) if mark.name == "stopped"]
    assert (mark.kind, mark.ok) == ("trouble", True)


def test_a_text_that_grows_is_shown_as_far_as_it_is_written() -> None:
    page = ("1000", "page", {"f": "1000.0", "agent": "1000", "to": "human", "reply": None})
    pieces = [
        ("1000", "grew", {"page": "1", "at": at, "text": text}) for at, text in ((0, "Once upn"), (7, "on a time"))
    ]
    (said,) = strip_of(facts([page, *pieces]))
    assert (said.text, said.last) == ("Once upon a time", None)
    (said,) = strip_of(facts([page, *pieces, ("1000", "fin", {"page": "1", "text": "Once."})]))
    assert (said.text, said.last) == ("Once.", 4)


def test_a_question_that_was_answered_shows_what_was_chosen() -> None:
    page = ("1000", "page", {"f": "1000.0", "agent": "1000", "to": "ask", "reply": None})
    ask = ("1000", "ask", {"f": "1000.0", "pos": "1", "page": "1", "text": "Shall I?", "options": ["Yes", "No"]})
    over = {"page": "1", "agent": "1000", "text": "Shall I?", "free": False, "reply": None, "parts": {}, "place": None}
    (said,) = strip_of(facts([page, ask, ("1000", "closed", {**over, "chosen": "✓ Yes, by Ada"})]))
    assert (said.options, said.chosen) == (("Yes", "No"), "✓ Yes, by Ada")


def test_what_tasks_and_orderers_are_told_is_a_mark_with_whom_it_is_for() -> None:
    told = [
        ("1000", "word_down", {"agent": "1000", "task": 1, "text": "it is late", "hops": 1}),
        ("1000", "word_up", {"agent": "1000", "text": "half is done", "hops": 1}),
    ]
    assert [(mark.kind, mark.lane, mark.name, mark.text) for mark in strip_of(facts(told))] == [
        ("word", "1000", "task 1", "it is late"),
        ("word", "1000", "orderer", "half is done"),
    ]


def test_html_that_people_and_models_write_is_shown_as_in_the_chat() -> None:
    text = "<ul>\n<li>Tea</li>\n</ul>"
    told: Sequence[tuple[str, str, Mapping[str, Any]]] = [
        ("session", "heard", {**HEARD, "text": text}),
        ("1000", "page", {"f": "1000.0", "agent": "1000", "to": "human", "reply": None}),
        ("1000", "grew", {"page": "2", "at": 0, "text": text[:14]}),
        ("1000", "fin", {"page": "2", "text": text}),
    ]
    assert [mark.data(content=True)["text"] for mark in strip_of(facts(told))] == ["- Tea\n"] * 2
    assert strip_of(facts(told[:3]))[1].data(content=True)["text"] == "- Tea"
