"""Ids and the keys of host calls, on tapes and in snapshots: a restart knows what they are, as before it."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import pytest
from msgspec import Struct

from runtime.core.clock import SystemClock
from runtime.core.ids import AgentId, GuestId, PersonId, SessionId, TapeId
from runtime.tape.facts.frames import AcksAwaited
from runtime.tape.facts.meetings import ParticipantJoined
from runtime.tape.facts.registry import content_of
from runtime.tape.fold import apply_fact
from runtime.tape.journal import CommitBatch, Journal, as_data
from runtime.tape.snapshot import snapshot_of, state_from
from runtime.tape.state.frames import CallKey, IntentState
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact
from tests.unit.runtime.tape.facts.test_old_tapes import TAPES, Line


def ids_in(value: Any, path: str = "") -> Iterator[tuple[str, type]]:
    """Each id within a value: where it is, and what."""
    if isinstance(value, AgentId | PersonId | GuestId):
        yield path, type(value)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from ids_in(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from ids_in(name, f"{path}<{name}>")
            yield from ids_in(item, f"{path}[{name}]")
    elif isinstance(value, list | tuple | frozenset):
        for number, item in enumerate(sorted(value) if isinstance(value, frozenset) else value):
            yield from ids_in(item, f"{path}[{number}]")


def folded(line: Line) -> SessionState:
    state = SessionState()
    for seq, tape, kind, at, data in line["facts"]:
        apply_fact(state, Fact(TapeId(tape), seq, kind, datetime.fromisoformat(at), data))
    return state


@pytest.mark.parametrize("line", TAPES, ids=range(len(TAPES)))
def test_a_snapshot_gives_every_id_back_as_what_it_was(line: Line) -> None:
    state = folded(line)
    restored = state_from(snapshot_of(state))
    found = list(ids_in(state))
    assert found
    assert list(ids_in(restored)) == found


@pytest.mark.parametrize("line", TAPES, ids=range(len(TAPES)))
def test_a_fact_that_is_noted_has_the_ids_that_it_has_when_it_is_read(line: Line) -> None:
    for _, _, kind, _, data in line["facts"]:
        content = content_of(kind, data)
        settled = content.settled(as_data)
        assert settled is None or list(ids_in(settled[1])) == list(ids_in(content)), kind


def test_who_takes_part_is_known_as_an_agent_or_a_person_from_the_tape() -> None:
    agent, person = (content_of("joined", {"id": "100", "who": who}) for who in ("1001", "web:1"))
    assert isinstance(agent, ParticipantJoined)
    assert isinstance(person, ParticipantJoined)
    assert (type(agent.who), type(person.who)) == (AgentId, PersonId)


async def _written(_batch: CommitBatch) -> None:
    """No commit is made."""


def test_what_is_awaited_of_agents_and_people_is_told_apart_as_soon_as_it_is_noted() -> None:
    journal, noted = Journal(SessionId("s"), SystemClock(), _written), list[Any]()
    journal.noted.subscribe(noted.append)
    who: Any = ["1001", "web:1"]
    journal.note(AcksAwaited("1000.0", "0", "Say", "d", 5.0, "m", who))
    assert [type(one) for one in noted[0].who] == [AgentId, PersonId]


@pytest.mark.parametrize(
    "key", [CallKey("1000.0", "3.1"), CallKey("1000.0:2", "turn"), CallKey("1000.0", "invite.a|b.1")]
)
def test_a_key_reads_as_it_was_written(key: CallKey) -> None:
    assert CallKey.parse(str(key)) == key


def test_a_snapshot_has_a_key_as_one_text_and_gives_the_key_back() -> None:
    state = SessionState(intents={CallKey("1000.0", "3"): IntentState("Fetch", "d", "s.1")})
    snapshot = snapshot_of(state)
    assert list(json.loads(snapshot.text)["intents"]) == ["1000.0|3"]
    restored = state_from(snapshot)
    assert restored is not None
    assert [(key.frame, key.pos) for key in restored.intents] == [("1000.0", "3")]
