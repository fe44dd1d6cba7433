"""Troubles of a server's connections, told once a minute for each kind, however many there are."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Generator, Hashable

from gateway.web.connections import Trouble
from runtime.bus import Bus
from runtime.events.service import ConnectionsEnded

QUIET_S = 60.0
"""The time between two lines of a kind."""

_LOGGERS = ("asyncio", "uvicorn.error")


class Rarely:
    """Says of each kind of thing whether a line about it is due, and how many there were since the last one."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._due_s: dict[Hashable, float] = {}
        self._count: Counter[Hashable] = Counter()

    def due(self, kind: Hashable) -> int:
        """Count one more; how many there were if a line is due, else 0."""
        self._count[kind] += 1
        now_s = self._seconds()
        if now_s < self._due_s.get(kind, now_s):
            return 0
        self._due_s[kind] = now_s + QUIET_S
        return self._count.pop(kind)


class Troubles:
    """Publishes why connections were ended."""

    def __init__(self, bus: Bus | None, seconds: Callable[[], float]) -> None:
        self._bus = bus
        self._rarely = Rarely(seconds)

    def tell(self, trouble: Trouble, address: str) -> None:
        """A connection from an address was ended."""
        count = self._rarely.due(trouble)
        if count and self._bus is not None:
            self._bus.publish(ConnectionsEnded(trouble, count, address))


class _FewRecords(logging.Filter):
    """Lets one record of a kind pass: of the same remark, or of a failure at the same line."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        super().__init__()
        self._rarely = Rarely(seconds)

    def filter(self, record: logging.LogRecord) -> bool:
        return self._rarely.due(_kind_of(record)) > 0


def _kind_of(record: logging.LogRecord) -> Hashable:
    error = record.exc_info[1] if record.exc_info else None
    at = None if error is None else error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = None if at is None else (at.tb_frame.f_code.co_filename, at.tb_lineno)
    return str(record.msg).partition("\n")[0], type(error).__name__, place


@contextlib.contextmanager
def few_records(seconds: Callable[[], float]) -> Generator[None, None, None]:
    """Keep the remarks of the server and of its event loop few: what strangers send must not fill a disk."""
    few = _FewRecords(seconds)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(few)
    try:
        yield
    finally:
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(few)
