"""Calls that are repeated until a platform answers, with growing pauses between them, and those that may fail."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct

from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, AuthFailed, RateLimited

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0
TIMES: Final = 3
"""The number of attempts after which an error is raised that is hardly ever mended by another one."""
_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
_Kinds: TypeAlias = type[AdapterError] | tuple[type[AdapterError], ...]


class PlatformPatience(Struct):
    """The pauses of one caller. `complaint` is what the log says of each, an error where it is one of `urgent`."""

    clock: Clock
    complaint: str
    first_s: float = FIRST_PAUSE_S
    longest_s: float = LONGEST_PAUSE_S
    urgent: _Kinds = ()
    _failed: int = 0

    def rewarded(self) -> None:
        """An attempt succeeded: the next pause is short again."""
        self._failed = 0

    async def pause(self, reason: object, *, at_least_s: float = 0.0) -> None:
        wait_s = max(min(self.first_s * 2**self._failed, self.longest_s), at_least_s)
        level = logging.ERROR if isinstance(reason, self.urgent) else logging.WARNING
        _log.log(level, self.complaint, extra={"error": str(reason), "retry_in_s": wait_s})
        self._failed += 1
        await self.clock.sleep_until(self.clock.monotonic() + wait_s)

    async def until_answered(
        self, call: Callable[[], Awaitable[_Answer]], *, but: _Kinds = AuthFailed, thrice: _Kinds = ()
    ) -> _Answer:
        """Repeat the call until it is answered. Raises the errors in `but`, and those in `thrice` the third time."""
        tried = 0
        while True:
            try:
                return await call()
            except but:
                raise
            except AdapterError as error:
                tried += isinstance(error, thrice)
                if tried >= TIMES:
                    raise
                await self.pause(error, at_least_s=error.retry_after_s if isinstance(error, RateLimited) else 0.0)


class MayFail:
    """Within, these errors end what is done there, and only the log says so. `tell` is a level of a module's log."""

    def __init__(
        self, tell: Callable[..., None], what: str, errors: tuple[type[Exception], ...] = (AdapterError,), **about: str
    ) -> None:
        self._tell = tell
        self._what = what
        self._errors = errors
        self._about = about

    def __enter__(self) -> None:
        """Begin what may fail."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, self._errors):
            return False
        told = str(error) if isinstance(error, AdapterError) else repr(error)
        self._tell(self._what, extra={**self._about, "error": told})
        return True
