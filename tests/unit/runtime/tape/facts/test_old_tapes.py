"""Tapes as an older version wrote them, and the states that they added up to there: `tapes.jsonl`.

Each line has the facts of a session, each with its number, tape, kind, time and data, and the state as a snapshot has
it. Between them they have every set of keys that sessions of the tests wrote then.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runtime.core.ids import TapeId
from runtime.tape.facts.frames import StatementDone
from runtime.tape.facts.registry import content_of
from runtime.tape.fold import apply_fact
from runtime.tape.journal import as_data
from runtime.tape.snapshot import snapshot_of
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact

Line = Mapping[str, Any]

TAPES: Sequence[Line] = [
    json.loads(line) for line in Path(__file__).with_name("tapes.jsonl").read_text(encoding="utf-8").splitlines()
]


def known(now: Any, then: Any) -> Any:
    """The parts of a value that were there then: states have more by now."""
    if isinstance(now, dict) and isinstance(then, dict):
        return {name: known(now[name], then[name]) for name in now if name in then}
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [known(one, other) for one, other in zip(now, then, strict=True)]
    return now


@pytest.mark.parametrize("line", TAPES, ids=range(len(TAPES)))
def test_old_facts_add_up_to_the_same_state(line: Line) -> None:
    state = SessionState()
    for seq, tape, kind, at, data in line["facts"]:
        apply_fact(state, Fact(TapeId(tape), seq, kind, datetime.fromisoformat(at), data))
    assert known(json.loads(snapshot_of(state).text), line["state"]) == line["state"]


@pytest.mark.parametrize("line", TAPES, ids=range(len(TAPES)))
def test_old_facts_are_written_as_they_were(line: Line) -> None:
    for _, _, kind, _, data in line["facts"]:
        assert json.dumps(as_data(content_of(kind, data).data())) == json.dumps(data), kind


def test_keys_of_a_newer_version_are_passed_over() -> None:
    fact = content_of("sent", {"page": "3", "part": 0, "pid": "p1", "since_then": [1]})
    assert fact.data() == {"page": "3", "part": 0, "pid": "p1"}


def test_a_key_is_read_by_the_name_that_it_once_had() -> None:
    old = content_of("invite", {"id": "100", "agent": "1001", "answer": ""})
    assert old == content_of("invite", {"id": "100", "who": "1001", "answer": ""})


@pytest.mark.parametrize("line", TAPES, ids=range(len(TAPES)))
def test_the_fast_way_of_noting_a_fact_gives_what_the_slow_way_does(line: Line) -> None:
    for _, _, kind, _, data in line["facts"]:
        content = content_of(kind, data)
        settled = content.settled(as_data)
        assert settled is None or (json.dumps(settled[0]), settled[1]) == (json.dumps(data), content), kind


def test_a_fact_keeps_nothing_that_can_change_later() -> None:
    names = {"x": [1]}
    settled = StatementDone("1000.0", names).settled(as_data)
    names["x"].append(2)
    assert settled is not None
    assert (settled[0]["loc"], settled[1]) == ({"x": [1]}, StatementDone("1000.0", {"x": [1]}))
