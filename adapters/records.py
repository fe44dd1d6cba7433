"""An adapter's durable memory: a few small texts by name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

from runtime.core.errors import RateLimited, StorageUnavailable

STORE_PAUSE_S: Final = 1.0
_log = logging.getLogger(__name__)
_Read = TypeVar("_Read")


class Records(Protocol):
    """One durable table of texts. Raises StorageUnavailable, and nothing else."""

    async def all(self) -> Mapping[str, str]: ...

    async def get(self, name: str, /) -> str | None: ...

    async def put(self, name: str, value: str, /) -> None: ...

    async def remove(self, name: str, /) -> None:
        """Remove a text; a missing one is no error."""


class ChangedTogether(Records, Protocol):
    """A table that changes several texts at once, so that a kill in between leaves nothing half done."""

    async def change(self, changes: Mapping[str, tuple[str | None, str | None]], /) -> bool:
        """Change texts together: for each name what is there now, and what is to be there; None is nothing.

        False, without a change, if something else is there; True if it was done before.
        """


@contextmanager
def store_awaited(told: str) -> Iterator[None]:
    """Within, the table not being reached is RateLimited: what needs it is done again later. `told` says what waits."""
    try:
        yield
    except StorageUnavailable as error:
        raise RateLimited(f"{told}: {error}", retry_after_s=STORE_PAUSE_S) from error


def readable(name: str, text: str | None, read: Callable[[str], _Read]) -> _Read | None:
    """One text of a table as `read` has it; None for none, and for one that it cannot read, which the log says."""
    return None if text is None else what_can_be_read({name: text}, read).get(name)


def what_can_be_read(kept: Mapping[str, str], read: Callable[[str], _Read]) -> dict[str, _Read]:
    """The texts of a table by name, each as `read` has it. What it cannot read is left out, and the log says so."""
    found: dict[str, _Read] = {}
    for name, text in kept.items():
        try:
            found[name] = read(text)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            _log.warning(
                "A stored record cannot be read, and is left out", extra={"record": name, "error": repr(error)}
            )
    return found
