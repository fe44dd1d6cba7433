"""Owners are told what is wrong with models, once a day, and nobody else is."""

from __future__ import annotations

import pytest

from gateway.access.roles import Role
from runtime.events.frames import LLMFailed
from runtime.events.service import ModelKeyRefused
from tests.fakes.clock import FakeClock
from tests.unit.gateway.inbound.arrivals import Door, event, opened, people

pytestmark = pytest.mark.anyio

REFUSED = ModelKeyRefused("openai/x", "main", "no such key")


def failed(error: str) -> LLMFailed:
    return LLMFailed("s", "1000.0", "1000", "Main", error)


async def test_owners_read_it_where_they_wrote_last_in_private_and_members_do_not() -> None:
    clock = FakeClock()
    store = people(clock, _1=Role.OWNER, _2=Role.MEMBER)
    door = Door(await opened("open", store, clock), store=store, clock=clock)
    for person, chat, private in (("1", "private", True), ("1", "group", False), ("2", "other", True)):
        await door.take(event("hi", person=person, chat=chat, private=private, id=chat))
    before = len(door.inbox.events)
    await door.owner_notices.tell(REFUSED)
    await door.owner_notices.tell(failed("LLMUnavailable: the line is cut"))
    refused, unanswered = door.inbox.events[before:]
    assert {refused.address.conversation, unanswered.address.conversation} == {"private"}
    assert refused.kind == unanswered.kind == "notice"
    assert "“main” refuses its key" in refused.text
    assert "LLMUnavailable: the line is cut" in unanswered.text


async def test_a_kind_of_failure_has_one_id_a_day_on_all_nodes() -> None:
    clock = FakeClock()
    store = people(clock, _1=Role.OWNER)
    door = Door(await opened("open", store, clock), store=store, clock=clock)
    await door.take(event("hi", person="1", id="first"))
    before = len(door.inbox.events)
    for pause_s, what in ((0, REFUSED), (3600, REFUSED), (0, failed("LLMTimeout: slow")), (86_400, REFUSED)):
        await clock.advance(pause_s)
        await door.owner_notices.tell(what)
    ids = [kept.id for kept in door.inbox.events[before:]]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
