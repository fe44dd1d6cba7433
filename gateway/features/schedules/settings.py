"""The settings about schedules: those of the settings themselves, and those that people and programs make."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from msgspec import Struct
from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from gateway.settings.forms import SettingsSection
from runtime.core.address import Address
from runtime.core.errors import ConfigError
from runtime.core.near_names import name_advice
from runtime.core.times import zone_named

Missed = Literal["once", "skip"]
Overlap = Literal["queue", "skip"]

_FIELDS = 5
_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_HEADER = re.compile(r"\s*\[\[\s*cron\s*\]\]")
_ANY_HEADER = re.compile(r"\s*\[")

Id = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
"""A platform's id, which TOML may have as a number."""


class RunRules(SettingsSection):
    """The treatment of a missed time, and of a time at which the run before still goes on."""

    missed: Missed = "once"
    overlap: Overlap = "queue"


class ScheduleSettings(RunRules):
    """The time zone of conversations in which nobody has set one, how many schedules one may have, and what becomes of
    times at which no gateway ran, or the run before still goes on."""

    timezone: str = "UTC"
    per_conversation: int = Field(default=20, ge=1, le=1000)

    @field_validator("timezone")
    @classmethod
    def _is_zone(cls, zone: str) -> str:
        if zone_named(zone) is None:
            raise ValueError('no such time zone; expected a name such as "Europe/Berlin" or "UTC"')
        return zone


class CronSettings(RunRules):
    """One `[[cron]]`. `where` is the place of the table, for errors.

    `schedule` is five fields of crontab, in the time of `timezone`. The place is named as a route names it: `chat` and
    `channel` are the same, for the web chat it is the room; `workspace` and `guild` only help to find the route that
    serves it. `text` is said to the program that serves there; with `program` a new session of that one begins.
    `missed` and `overlap` are for a time at which no gateway ran, and one at which the run before still goes on.
    """

    model_config = ConfigDict(regex_engine="python-re")  # the other one takes 4 MB for a pattern

    where: str
    name: str = Field(pattern=r"^[\w.-]{1,40}\Z")
    schedule: str
    timezone: str = "UTC"
    platform: str
    chat: Id = ""
    channel: Id = ""
    thread: Id = ""
    workspace: Id = ""
    guild: Id = ""
    text: str = ""
    program: str = ""

    def next_run(self, after: datetime) -> datetime:
        """The first time after `after`, in UTC. An hour that a clock change skips or repeats counts once."""
        return next(CronSim(self.schedule, after.astimezone(ZoneInfo(self.timezone)))).astimezone(UTC)

    @property
    def when(self) -> str:
        return f"{self.schedule} ({self.timezone})"

    @property
    def begins(self) -> bool:
        """Whether a session always starts."""
        return bool(self.program)

    @property
    def address(self) -> Address:
        return Address(self.platform, self.place, self.thread or None)

    @property
    def place(self) -> str:
        return self.chat or self.channel

    @property
    def space(self) -> str:
        return self.workspace or self.guild

    @field_validator("schedule")
    @classmethod
    def _is_crontab(cls, schedule: str) -> str:
        try:
            if len(schedule.split()) != _FIELDS:
                raise CronSimError("Wrong number of fields")
            next(CronSim(schedule, _SOME_TIME))
        except (CronSimError, StopIteration) as error:
            why = str(error) or "There is no such time"
            raise ValueError(
                f"{why[0].lower()}{why[1:]}; expected minute, hour, day of the month, month and day of the week, "
                'as in "0 9 * * 1-5"'
            ) from error
        return schedule

    @field_validator("timezone")
    @classmethod
    def _is_zone(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError('no such time zone; expected a name such as "Europe/Berlin" or "UTC"') from error
        return zone


def read_cron(value: object, *, place: str) -> list[CronSettings]:
    """The `[[cron]]` tables of `place`. Raises ConfigError that names the line, the key, and what is expected."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(row, Mapping) for row in value):
        raise ConfigError(f"{place}: cron must be a list of tables; write each as [[cron]]. See config/parley.toml.")
    path = Path(place)
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [_Table(place, lines, number).read(row) for number, row in enumerate(value, 1)]


class _Table(Struct, frozen=True):
    """The table with this number, in the lines of a file."""

    _place: str
    _lines: Sequence[str]
    _number: int

    def read(self, row: Mapping[str, Any]) -> CronSettings:
        known = [name for name in CronSettings.model_fields if name != "where"]
        for key in row:
            if key not in known:
                raise ConfigError(f'{self._where(key)}: there is no key "{key}"; {name_advice(key, known)}')
        try:
            found = CronSettings.model_validate({"where": self._where(), **row})
        except ValidationError as error:
            raise self._explained(error.errors()[0]) from error
        if not found.place:
            raise ConfigError(f'{self._where()}: it names no place; write chat = "…" or channel = "…".')
        if not found.text and not found.program:
            raise ConfigError(f'{self._where()}: it does nothing; write text = "…", or program = "…", or both.')
        return found

    def _explained(self, problem: Any) -> ConfigError:
        key = str(problem["loc"][0])
        if problem["type"] == "missing":
            return ConfigError(f"{self._where()}: {key} is missing. See config/parley.toml.")
        text = problem["msg"].removeprefix("Value error, ")
        return ConfigError(f'{self._where(key)}: {key} is "{problem["input"]}": {text[0].lower() + text[1:]}.')

    def _where(self, key: str | None = None) -> str:
        line = self._line(key)
        return f"{self._place}{'' if line is None else f':{line}'}: [[cron]] {self._number}"

    def _line(self, key: str | None) -> int | None:
        """The number of the line where the table begins, or has the key."""
        headers = [number for number, line in enumerate(self._lines, 1) if _HEADER.match(line)]
        if len(headers) < self._number:
            return None
        first = headers[self._number - 1]
        if key is not None:
            for number, line in enumerate(self._lines[first:], first + 1):
                if _ANY_HEADER.match(line) and "=" not in line:
                    break
                if re.match(rf"\s*\"?{re.escape(key)}\"?\s*=", line):
                    return number
        return first
