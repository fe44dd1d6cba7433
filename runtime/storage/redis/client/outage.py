"""Outages: which failures are waited out, and when people learn of them."""

from __future__ import annotations

from redis import exceptions

from runtime.core.clock import Clock
from runtime.core.errors import StorageUnavailable
from runtime.events.happening import Tell
from runtime.events.service import StorageBack, StorageLost

UNTOLD_S = 5.0
"""How long a slot may be on its way to another server before that is told as a loss."""

_REFUSED = (exceptions.AuthenticationError, exceptions.AuthorizationError)
_MOVING = (exceptions.AskError, exceptions.TryAgainError)
"""A slot has gone to another server, or is on its way; while it goes key by key its calls wait for the end of that."""

_AWAY = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.ClusterDownError,
    exceptions.OutOfMemoryError,
    TimeoutError,
    OSError,
    *_MOVING,
)
_AWAY_TEXTS = ("MISCONF", "NOREPLICAS", "UNBLOCKED", "MASTERDOWN")
"""Answers without a class of their own: no disk, too few replicas, no primary any more, a replica without one."""


_NO_RIGHT_TEXTS = ("ACL failure", "The user executing the script can't")
"""How a script is told that the right to a command is missing."""


class Patience:
    """The failures that one call has met so far; the call has to leave it in the end."""

    def __init__(self, outage: Outage) -> None:
        self._outage = outage
        self._began = outage.clock.monotonic()
        self.waits = False

    def failed(self, error: Exception, pause_s: float) -> None:
        """Return when the call is to be made again after `pause_s`; else raises StorageUnavailable."""
        self._outage.failures += 1
        _refuse_hopeless(error)
        if not self.waits:
            self.waits = True
            self._outage.waiting += 1
        waited_s, patience_s = self._outage.clock.monotonic() - self._began, self._outage.patience_s
        if not isinstance(error, _MOVING) or waited_s > UNTOLD_S:
            self._outage.begin(error)
        if patience_s is not None and waited_s + pause_s > patience_s:
            raise StorageUnavailable(f"The Redis server did not come back within {patience_s} s: {error}.") from error

    def succeeded(self) -> None:
        """The call has its answer."""
        self.leave()
        self._outage.end()

    def leave(self) -> None:
        """The call waits no longer."""
        if self.waits:
            self.waits = False
            self._outage.waiting -= 1


class Outage:
    """Publishes storage.lost at the first failure, and storage.back at the first success when no call waits."""

    def __init__(self, on_event: Tell, clock: Clock, patience_s: float | None) -> None:
        self.waiting = 0
        self.failures = 0
        self._on_event = on_event
        self.clock = clock
        self.patience_s = patience_s
        self._lost_at: float | None = None

    def begin(self, error: Exception) -> None:
        """A call failed."""
        if self._lost_at is None:
            self._lost_at = self.clock.monotonic()
            self._on_event(StorageLost(str(error) or type(error).__name__))

    def end(self) -> None:
        """A call succeeded."""
        if self._lost_at is not None and not self.waiting:
            seconds = self.clock.monotonic() - self._lost_at
            self._lost_at = None
            self._on_event(StorageBack(seconds))


def _refuse_hopeless(error: Exception) -> None:
    if isinstance(error, _REFUSED):
        raise StorageUnavailable(f"The Redis server refuses us: {error}. Check the URL's password.") from error
    if isinstance(error, exceptions.NoPermissionError) or str(error).startswith(_NO_RIGHT_TEXTS):
        raise StorageUnavailable(
            f"The user of the Redis server lacks a permission: {error}. docs/running/nodes.md lists them."
        ) from error
    if not isinstance(error, _AWAY) and not str(error).startswith(_AWAY_TEXTS):
        raise StorageUnavailable(f"The Redis server failed: {error}.") from error
