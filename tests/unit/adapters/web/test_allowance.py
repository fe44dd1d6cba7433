"""How much each person may do."""

import pytest

from adapters.capabilities import Budget
from adapters.pacing import bucket
from adapters.pacing.bucket import KeyedBudgets
from tests.fakes.clock import FakeClock


async def test_a_burst_is_followed_by_the_rate() -> None:
    clock = FakeClock()
    allowed = KeyedBudgets(Budget(rate_per_s=2, burst=3), clock)
    assert [allowed.take("ada") for _ in range(4)] == [True, True, True, False]
    await clock.advance(0.5)
    assert [allowed.take("ada") for _ in range(2)] == [True, False]
    await clock.advance(60)
    assert [allowed.take("ada") for _ in range(4)] == [True, True, True, False]


async def test_one_person_does_not_use_anothers() -> None:
    allowed = KeyedBudgets(Budget(rate_per_s=1, burst=1), FakeClock())
    assert [allowed.take("ada"), allowed.take("ada"), allowed.take("grace")] == [True, False, True]


async def test_only_so_many_people_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket, "MAX_KNOWN_BUDGETS", 2)
    allowed = KeyedBudgets(Budget(rate_per_s=1, burst=1), FakeClock())
    assert [allowed.take(name) for name in ("ada", "grace", "linus", "linus", "ada")] == [True, True, True, False, True]
