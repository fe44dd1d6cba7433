"""Repetition of a call until Discord answers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from adapters.discord.api.calls import Unreadable
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, RateLimited

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0
UNREADABLE_TIMES: Final = 3

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


async def until_answered(
    clock: Clock, call: Callable[[], Awaitable[_Answer]], *, but: type[AdapterError] | tuple[type[AdapterError], ...]
) -> _Answer:
    """Repeat the call with growing pauses until Discord answers. Raises only the errors in `but`; `Unreadable` is
    raised the third time.
    """
    pause_s, unreadable = FIRST_PAUSE_S, 0
    while True:
        try:
            return await call()
        except but as error:
            unreadable += 1
            if not isinstance(error, Unreadable) or unreadable == UNREADABLE_TIMES:
                raise
            wait_s = pause_s
        except AdapterError as error:
            wait_s = max(pause_s, error.retry_after_s) if isinstance(error, RateLimited) else pause_s
            _log.warning("Discord does not answer", extra={"error": str(error), "retry_in_s": wait_s})
        await clock.sleep_until(clock.monotonic() + wait_s)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
