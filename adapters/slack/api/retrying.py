"""Repetition of calls until they succeed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, AuthFailed, RateLimited

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


class Retrying:
    """Growing pauses between attempts, until one succeeds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pause_s = FIRST_PAUSE_S

    def rewarded(self) -> None:
        """An attempt succeeded: the next pause is short again."""
        self._pause_s = FIRST_PAUSE_S

    async def pause(self, reason: str, *, at_least_s: float = 0.0) -> None:
        """Log the problem and wait."""
        wait_s = max(self._pause_s, at_least_s)
        _log.warning("Slack cannot be heard", extra={"error": reason, "retry_in_s": wait_s})
        self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
        await self._clock.sleep_until(self._clock.monotonic() + wait_s)

    async def until_answered(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Repeat the call until Slack answers. Raises AuthFailed only."""
        while True:
            try:
                return await call()
            except AuthFailed:
                raise
            except AdapterError as error:
                asked_s = error.retry_after_s if isinstance(error, RateLimited) else 0.0
                await self.pause(str(error), at_least_s=asked_s)
