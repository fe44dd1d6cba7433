"""One structured line per event of the bus, and per remark of an adapter: JSON for machines, readable on a terminal."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TextIO

from gateway.observability.watching import MASK, SECRET_KEY, SecretMasking
from gateway.settings.execution import LogSettings
from runtime.bus import Bus
from runtime.core.plain_text import visible
from runtime.events.happening import BusEvent

MAX_VALUE_CHARS = 500
"""The longest value; longer ones are cut, so that a line stays a line."""

MAX_VALUES = 50
"""The number of named parts shown of one value."""

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_TEXT_KEYS = frozenset({"text", "content", "prompt", "reply", "statement", "arguments", "value"})
"""Keys with texts of people and models: shown at level debug only."""

_COLOURS = {"debug": "32", "info": "32", "warning": "33", "error": "31"}
"""For terminals (ECMA-48, SGR): green, yellow and red."""

_EVENT_WIDTH = 30

_REMARKS = "adapters"
"""The parent of the adapters' loggers. Adapters know no bus, so their remarks go to the standard library's loggers."""

_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({})))


class LogWriter:
    """Writes a line for each event at or above the level: to `stream`, or to standard error. Secrets are masked. `told`
    says whether people are told of an event, by its name, in another way.
    """

    def __init__(
        self,
        settings: LogSettings,
        masking: SecretMasking,
        *,
        stream: TextIO | None = None,
        told: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._format = settings.format
        self._threshold = _LEVELS[settings.level]
        self._masking = masking
        self._stream = stream
        self._told = told

    def attach(self, bus: Bus) -> Callable[[], None]:
        """Log every event of `bus` and every remark of an adapter, until the returned function is called."""
        forget = bus.subscribe("*", self.write)
        logger, handler = logging.getLogger(_REMARKS), _Remarks(self._remark)
        before = logger.level
        logger.addHandler(handler)
        logger.setLevel(self._threshold)

        def detach() -> None:
            logger.removeHandler(handler)
            logger.setLevel(before)
            forget()

        return detach

    def write(self, event: BusEvent) -> None:
        """One line, unless the event is below the level."""
        if _LEVELS[event.what.level] >= self._threshold:
            self._line(event.what.level, event.name, event.at, event.data)

    def _remark(self, record: logging.LogRecord) -> None:
        data = {key: value for key, value in vars(record).items() if key not in _OF_EVERY_RECORD}
        at = datetime.fromtimestamp(record.created, UTC)
        level = "error" if record.levelno >= logging.ERROR else record.levelname.lower()
        self._line(level, self._masked(record.getMessage()), at, {"logger": record.name, **data})

    def _line(self, level: str, name: str, at: datetime, data: Mapping[str, Any]) -> None:
        if _LEVELS[level] < self._threshold or self._told(name):
            return
        stream, shown = self._stream or sys.stderr, self._shown(data)
        if self._format == "human" or (self._format == "auto" and stream.isatty()):
            line = _for_people(level, name, at.isoformat(), shown, coloured=stream.isatty())
        else:
            line = json.dumps({"at": at.isoformat(), **shown, "event": name, "level": level}, ensure_ascii=False)
        stream.write(f"{line}\n")
        stream.flush()

    def _shown(self, data: Mapping[str, Any]) -> dict[str, Any]:
        texts_too = self._threshold <= logging.DEBUG
        return {
            key: MASK if SECRET_KEY.search(key) else self._masked(value)
            for key, value in data.items()
            if texts_too or key not in _TEXT_KEYS
        }

    def _masked(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, Mapping):
            some = islice(value.items(), MAX_VALUES)
            return {str(key): MASK if SECRET_KEY.search(str(key)) else self._masked(one) for key, one in some}
        text = visible(self._masking.masked(value))
        return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}… ({len(text)} characters)"


def _for_people(level: str, name: str, at: str, data: Mapping[str, Any], *, coloured: bool) -> str:
    """A line on a terminal: values with blanks are in quotation marks."""

    def shown(text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if coloured else text

    def value(one: object) -> str:
        return one if isinstance(one, str) and one and not set(" \t=\r\n\"'").intersection(one) else repr(one)

    pairs = [f"{shown(key, '36')}={shown(value(one), '35')}" for key, one in sorted(data.items())]
    head = f"{shown(at, '2')} [{shown(f'{level:9}', _COLOURS[level])}] {shown(f'{name:{_EVENT_WIDTH}}', '1')}"
    return " ".join([head, *pairs])


class _Remarks(logging.Handler):
    def __init__(self, write: Callable[[logging.LogRecord], None]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        self._write(record)
