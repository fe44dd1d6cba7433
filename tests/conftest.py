"""What every test may use."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Everything runs on asyncio."""
    return "asyncio"
