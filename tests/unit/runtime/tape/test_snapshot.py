"""A snapshot and the facts after it say the same as all facts."""

import json
import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.tape import snapshot as snapshots
from runtime.tape.facts.registry import content_of
from runtime.tape.fold import apply
from runtime.tape.snapshot import rules_version, snapshot_of, state_from
from runtime.tape.state.session import SessionState
from tests.unit.runtime.tape.random_facts import KINDS, Facts, Told


def folded(facts: Sequence[Told], state: SessionState | None = None) -> SessionState:
    state = state or SessionState()
    for kind, data in facts:
        apply(state, state.seq + 1, content_of(kind, data))
    return state


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 300), st.integers(0, 300))
def test_any_facts_after_a_snapshot_of_any_facts_say_what_all_of_them_say(seed: int, before: int, after: int) -> None:
    draw = Facts(random.Random(seed))
    facts = [draw() for _ in range(before + after)]
    restored = state_from(snapshot_of(folded(facts[:before])))
    assert restored == folded(facts[:before])
    assert folded(facts[before:], restored) == folded(facts)


def test_the_random_facts_are_of_every_kind() -> None:
    draw = Facts(random.Random(1))
    assert set(Counter(kind for kind, _ in (draw() for _ in range(5000)))) == set(KINDS)


def test_order_is_kept() -> None:
    """What is remembered is bounded: the oldest goes first."""
    state = folded([("marking", {"pid": str(number), "mark": "seen"}) for number in (3, 1, 2)])
    restored = state_from(snapshot_of(state))
    assert restored is not None
    assert list(restored.marks) == ["3", "1", "2"]


def test_a_snapshot_of_other_rules_is_of_no_use() -> None:
    taken = snapshot_of(folded([("wake", {})]))
    assert taken.version == rules_version()
    assert state_from(replace(taken, version="0")) is None


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"seq": 1}', "17"])
def test_a_snapshot_that_cannot_be_read_is_of_no_use(text: str) -> None:
    assert state_from(replace(snapshot_of(folded([("wake", {})])), text=text)) is None


def test_a_snapshot_that_says_another_number_than_its_state_is_of_no_use() -> None:
    assert state_from(replace(snapshot_of(folded([("wake", {})])), seq=2)) is None


def test_a_state_with_more_parts_than_the_snapshot_does_not_take_it() -> None:
    taken = snapshot_of(folded([("wake", {})]))
    data = json.loads(taken.text)
    del data["marks"]
    assert state_from(replace(taken, text=json.dumps(data))) is None


def test_a_value_that_cannot_be_kept_is_found_when_it_is_declared() -> None:
    with pytest.raises(TypeError, match="cannot keep"):
        snapshots._writer(set[str])
