"""What tests of sessions share."""

from collections.abc import AsyncIterator

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.fakes.clock import FakeClock
from tests.fakes.people.talk import patient_workers


@pytest.fixture
async def sandbox() -> AsyncIterator[MontySandbox]:
    """Workers for more than one process."""
    async with patient_workers() as made:
        yield made


@pytest.fixture
def clock() -> FakeClock:
    """Time that a test lets pass."""
    return FakeClock()
