"""The ids of participants, which know what they are."""

from __future__ import annotations

import json

import pytest

from runtime.core.ids import (
    AgentId,
    CounterpartId,
    GuestId,
    ParticipantId,
    PersonId,
    ScheduleId,
    as_named,
    participant_id,
    schedule_id,
)
from runtime.core.message import message_from_data

KINDS: list[tuple[str, type[ParticipantId]]] = [
    ("1000", AgentId),
    ("telegram:42", PersonId),
    ("human", PersonId),
    ("schedule:daily", ScheduleId),
    ("guest:Archive", GuestId),
    ("task 7", CounterpartId),
    ("orderer", CounterpartId),
    ("task force", PersonId),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_an_id_knows_what_it_is_and_is_written_as_its_text(text: str, kind: type[ParticipantId]) -> None:
    id_ = participant_id(text)
    assert (type(id_), json.dumps({id_: id_})) == (kind, json.dumps({text: text}))


def test_an_agent_has_its_kind_before_its_number_and_a_task_has_it_in_its_id() -> None:
    assert [as_named(id_) for id_ in ("1000", "task 7", "orderer")] == ["agent 1000", "task 7", "orderer"]


def test_a_schedule_writes_as_a_person_does_and_a_guest_is_no_person() -> None:
    assert isinstance(schedule_id("daily"), PersonId)
    assert not isinstance(GuestId.of("Archive"), PersonId)
    assert GuestId.of("Archive").name == "Archive"


def test_the_ids_of_a_message_know_what_they_are_once_it_was_read() -> None:
    about = {"id": "m", "class": "Main", "text": "hi", "at": "2026-01-01T00:00:00+00:00", "gone": "1002"}
    message = message_from_data({**about, "from": "1000", "to": "web:1", "targets": ["1001"]})
    ids = (message.sender_id, message.recipient_id, message.gone, *message.target_agent_ids)
    assert [type(id_) for id_ in ids] == [AgentId, PersonId, AgentId, AgentId]
