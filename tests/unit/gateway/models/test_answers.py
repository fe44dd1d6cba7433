"""Owners are told what is wrong with models, each kind of failure once a day, and nobody else is."""

from __future__ import annotations

import pytest

from gateway.access.people import Role
from gateway.models.answers import ModelTroubles
from runtime.events.frames import LLMFailed
from runtime.events.service import ModelKeyRefused
from tests.fakes.clock import FakeClock
from tests.unit.gateway.inbound.arrivals import Door, event, opened, people

pytestmark = pytest.mark.anyio

REFUSED = ModelKeyRefused("openai/x", "main", "no such key")


def failed(error: str) -> LLMFailed:
    return LLMFailed("s", "1000.0", "1000", "Main", error)


async def door_of(clock: FakeClock) -> Door:
    """A door through which an owner and a member have written in private."""
    store = people(clock, _1=Role.OWNER, _2=Role.MEMBER)
    door = Door(await opened("open", store, clock), store=store, clock=clock)
    for person, chat in (("1", "private"), ("2", "other")):
        await door.take(event("hi", person=person, chat=chat, id=chat))
    door.inbox.events.clear()
    return door


async def test_owners_read_the_providers_words_in_private_and_members_do_not() -> None:
    clock = FakeClock()
    door = await door_of(clock)
    troubles = ModelTroubles(door.entrance.owners, clock)
    await troubles.tell(REFUSED)
    await troubles.tell(failed("LLMUnavailable: the line is cut"))
    refused, unanswered = door.inbox.events
    assert refused.address.conversation == unanswered.address.conversation == "private"
    assert refused.kind == unanswered.kind == "notice"
    assert "“main” refuses the key" in refused.text
    assert "LLMUnavailable: the line is cut" in unanswered.text


async def test_a_kind_of_failure_has_one_id_a_day_on_all_nodes() -> None:
    clock = FakeClock()
    door = await door_of(clock)
    for pause_s, what in ((0, REFUSED), (3600, REFUSED), (0, failed("LLMTimeout: slow")), (86_400, REFUSED)):
        await clock.advance(pause_s)
        await ModelTroubles(door.entrance.owners, clock).tell(what)
    ids = [kept.id for kept in door.inbox.events]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
