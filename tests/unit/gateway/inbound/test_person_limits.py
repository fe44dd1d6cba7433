"""Limits of single people, in place of what the settings have for everybody."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.access.people import Role
from gateway.inbound.usage_limits import Limits, PersonLimits
from gateway.settings.operation import LimitSettings
from runtime.core.texts import english
from tests.fakes.clock import FakeClock
from tests.fakes.memory.counters import MemoryCounters
from tests.fakes.observing.records import MemoryRecords
from tests.unit.gateway.inbound.arrivals import event
from tests.unit.gateway.inbound.test_usage_limits import answer

pytestmark = pytest.mark.anyio


async def nobody(_person: str) -> bool:
    return False


def limits(**settings: Any) -> tuple[Limits, PersonLimits]:
    clock, own = FakeClock(), PersonLimits(MemoryRecords())
    return Limits(LimitSettings(**settings), MemoryCounters(clock), nobody, english(), clock, own), own


async def test_a_limit_of_ones_own_counts_from_the_next_message_and_for_nobody_else() -> None:
    found, own = limits()
    ada, bob = event("a", person="1"), event("b", person="2")
    assert await found.take(ada, Role.MEMBER) is None
    await own.set(ada.person_id, {"messages_per_day": 1})
    assert await found.take(replace(ada, event_id="2"), Role.MEMBER) is None
    assert await found.take(replace(ada, event_id="3"), Role.MEMBER) is not None
    assert await found.take(replace(bob, event_id="4"), Role.MEMBER) is None
    await own.set(ada.person_id, {})
    assert await found.take(replace(ada, event_id="5"), Role.MEMBER) is None


async def test_it_stands_in_the_place_of_the_settings_and_zero_lifts_theirs() -> None:
    found, own = limits(person_messages_per_day=1, conversation_messages_per_day=3)
    ada = event("a", person="1")
    await own.set(ada.person_id, {"messages_per_day": 0})
    taken = [await found.take(replace(ada, event_id=str(number)), Role.MEMBER) for number in range(4)]
    assert [over is None for over in taken] == [True, True, True, False]  # the conversation's stays


async def test_spending_of_a_person_ends_at_the_limit_of_their_own() -> None:
    found, own = limits()
    ada = event("a", person="1")
    await own.set(ada.person_id, {"usd_per_day": 0.5})
    assert await found.allowance(ada.address, ada.person_id) is None
    await found.spend(answer(cost_usd=0.5, participant_id=ada.person_id))
    assert "may spend in a day" in str(await found.allowance(ada.address, ada.person_id))
    assert await found.allowance(ada.address, "test:2") is None
