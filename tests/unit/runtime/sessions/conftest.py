"""The fixtures for tests of sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime.execution.frames.loop import FrameLoop
from runtime.sandbox.monty import MontySandbox, SandboxLimits


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Python playbooks need the loop that knows when they are quiet."""
    return "asyncio", {"loop_factory": FrameLoop}


@pytest.fixture
async def sandbox() -> AsyncIterator[MontySandbox]:
    """Real workers, whose patience a machine that stalls does not try."""
    async with MontySandbox(limits=SandboxLimits(feed_s=5.0)) as made:
        yield made
