"""The connections of a server: how many there may be at once, and who gives way when there are too many."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol, Self

Trouble = Literal["slow header", "slow body", "stuck answer", "crowded"]
"""The reason why a connection was ended: its request or its answer took too long, or others needed its place."""

Tell = Callable[[Trouble, str], None]
"""Hears why a connection from an address was ended."""

KEPT_BACK = 512
"""The descriptors that are left for the database, the model's process and files, and for connections of which some are
not counted yet, or are ended and not closed yet."""

_DESCRIPTORS = 65_536
_MOST = 10_000
_LEAST = 64


class Waiting(Protocol):
    """A connection that can be told to give way."""

    def give_way(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """How many connections there may be at once, in all and from one address. Times are in seconds: for the head of a
    request, for its body beyond what comes with `bytes_per_s`, and for an answer of which nothing is fetched."""

    total: int
    per_address: int
    header_s: float = 10.0
    body_s: float = 30.0
    bytes_per_s: float = 1_000.0
    stuck_s: float = 60.0

    @classmethod
    def of_process(cls) -> Self:
        """The bounds of this process, whose number of descriptors is raised to what the system lets it have."""
        total = max(_LEAST, min(_MOST, raised_descriptors() - KEPT_BACK))
        return cls(total, total // 2)


def raised_descriptors() -> int:
    """The number of descriptors that this process may have from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # a system may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


class Connections:
    """Counts the connections of one server.

    Where one too many comes, the connection that has waited longest for a request gives way, of the same address if
    that has too many. One in the middle of an answer never does. Addresses that are `shared`, those of trusted proxies,
    have no bound of their own.
    """

    def __init__(self, bounds: ConnectionBounds, shared: Callable[[str], bool], tell: Tell) -> None:
        self.bounds = bounds
        self.tell = tell
        self._shared = shared
        self._of: Counter[str] = Counter()
        self._all = 0
        self._waiting: dict[Waiting, str] = {}

    def __len__(self) -> int:
        return self._all

    def enter(self, address: str) -> bool:
        """Count a connection more; False where there is no place for it."""
        crowded = self._of[address] >= self.bounds.per_address and not self._shared(address)
        if crowded or self._all >= self.bounds.total:
            gives_way = next((one for one, of in self._waiting.items() if not crowded or of == address), None)
            self.tell("crowded", address)
            if gives_way is None:
                return False
            del self._waiting[gives_way]  # it may take a while to end, and is asked once
            gives_way.give_way()
        self._of[address] += 1
        self._all += 1
        return True

    def leave(self, address: str) -> None:
        """Count one less."""
        self._all -= 1
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]

    def wait(self, connection: Waiting, address: str) -> None:
        """A connection waits for a request, or for the rest of one."""
        self._waiting[connection] = address

    def go_on(self, connection: Waiting) -> None:
        """It waits for nothing, or has gone."""
        self._waiting.pop(connection, None)
