"""Times in English, such as "every weekday at 9" and "in 20 minutes", or as five fields of crontab."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from typing import Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from msgspec import Struct

LONGEST = timedelta(days=3660)
"""No time is further away."""

UNITS_S = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "week": 604_800.0}
NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""In the order of crontab."""

_HOURS_OF_HALF_A_DAY = 12
_CRON_FIELDS = 5

_NUMBER = rf"(?P<number>\d{{1,5}}|an?|half\s+an|{'|'.join(NUMBER_WORDS)})"
_DAY = r"(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:day)?"
_JOINED = r"(?:\s*,\s*(?:and\s+)?|\s+and\s+)"
_HOUR = r"\d{1,2}"
_HALF = r"\s?(?:[ap]m\b|[ap]\.m\.)"
_CLOCK = (
    rf"(?:at\s+(?P<at>noon|midnight|{_HOUR}(?::\d\d)?(?:{_HALF})?)|(?P<bare>{_HOUR}:\d\d(?:{_HALF})?|{_HOUR}{_HALF}))"
)
_EACH = r"(?:every|each)\s+"
_REPEATED = (
    rf"(?:(?P<daily>{_EACH}day|daily)|(?P<weekdays>{_EACH}week\s?day|(?:on\s+)?weekdays)"
    rf"|(?P<weekends>{_EACH}weekend|(?:on\s+)?weekends)"
    rf"|{_EACH}month\s+on\s+the\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|{_EACH}(?P<each>{_DAY}s?(?:{_JOINED}{_DAY}s?)*)|(?:on\s+)?(?P<plural>{_DAY}s(?:{_JOINED}{_DAY}s)*))"
)
_ONCE = (
    rf"(?:(?P<word>today|tomorrow)|(?:on\s+)?(?P<date>\d{{4}}-\d\d-\d\d)|(?:(?:on\s+)?(?:next\s+)?(?P<weekday>{_DAY})))"
)
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
_NAMED = r"(?:(?:cron|schedule)\s*:?\s*)?`?"
_FIELD = r"[\d*/,A-Za-z#-]+"


class SetTimes(Struct, frozen=True):
    """Set times. One of three: five fields of crontab in a zone's time, seconds between two times, or one time."""

    cron: str = ""
    every_s: float = 0.0
    at: datetime | None = None

    def first(self, now: datetime, zone: ZoneInfo) -> datetime:
        """The first time, where the times were set at `now`, in UTC."""
        if self.at is not None:
            return self.at
        return self.next(now, now, zone) or now

    def next(self, due: datetime, now: datetime, zone: ZoneInfo) -> datetime | None:
        """The first time after both the time `due` and `now`, in UTC; None when there is none.

        A time that a change of the clocks skips comes right after it; a repeated one comes once.
        """
        if self.at is not None:
            return None
        if self.cron:
            return next(CronSim(self.cron, max(due, now).astimezone(zone))).astimezone(UTC)
        passed = max(0, int((now - due).total_seconds() // self.every_s))
        return due + timedelta(seconds=self.every_s * (passed + 1))

    def data(self) -> str:
        at = None if self.at is None else self.at.isoformat()
        return json.dumps({"cron": self.cron, "every_s": self.every_s, "at": at})

    @classmethod
    def read(cls, text: str) -> Self:
        """The inverse of `data`. Raises ValueError."""
        found = json.loads(text)
        return cls(found["cron"], found["every_s"], datetime.fromisoformat(found["at"]) if found["at"] else None)


def zone_named(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def read_times(text: str, now: datetime, zone: ZoneInfo) -> tuple[SetTimes, str, str] | None:
    """The times with which a text begins, the words that say them, and the rest; None where it begins with none.

    A single time may have passed already. "At 9" without a day is the next time that it is 9 in the zone.
    """
    said = text.strip()
    for pattern, timing_of in _FORMS:
        found = pattern.match(said)
        timing = timing_of(found, now, zone) if found is not None else None
        if found is not None and timing is not None:
            return timing, " ".join(found[0].split()), said[found.end() :].lstrip(" \t\r\n,:;-–—")  # noqa: RUF001
    return None


def _repeated(found: re.Match[str], _now: datetime, _zone: ZoneInfo) -> SetTimes | None:
    clock = _clock_of(found)
    if clock is None:
        return None
    hour, minute = clock
    if found["day"]:
        return _crontab(f"{minute} {hour} {int(found['day'])} * *")
    if found["daily"]:
        return _crontab(f"{minute} {hour} * * *")
    named = re.findall(rf"\b{_DAY}", found["each"] or found["plural"] or "", re.IGNORECASE)
    listed = ",".join(map(str, sorted({_day_number(name) for name in named})))
    return _crontab(f"{minute} {hour} * * {'1-5' if found['weekdays'] else '0,6' if found['weekends'] else listed}")


def _day_number(name: str) -> int:
    return next(number for number, day in enumerate(_DAYS) if day.startswith(name.lower()[:3]))


def _interval(found: re.Match[str], _now: datetime, _zone: ZoneInfo) -> SetTimes | None:
    seconds = _seconds(found)
    return SetTimes(every_s=seconds) if seconds else None


def _later(found: re.Match[str], now: datetime, _zone: ZoneInfo) -> SetTimes | None:
    seconds = _seconds(found)
    return SetTimes(at=now.astimezone(UTC) + timedelta(seconds=seconds)) if seconds else None


def _seconds(found: re.Match[str]) -> float | None:
    """The length of time that is named; None for none, and for one that is too long."""
    seconds = _number(found["number"]) * UNITS_S[found["unit"].lower()]
    return seconds if 0 < seconds <= LONGEST.total_seconds() else None


def _number(word: str | None) -> float:
    if word is None:
        return 1.0
    lower = word.lower()
    if lower.startswith("half"):
        return 0.5
    if lower in ("a", "an"):
        return 1.0
    return float(NUMBER_WORDS.index(lower)) if lower in NUMBER_WORDS else float(lower)


def _once(found: re.Match[str], now: datetime, zone: ZoneInfo) -> SetTimes | None:
    clock, groups = _clock_of(found), found.groupdict()
    if clock is None:
        return None
    today = now.astimezone(zone).date()
    if groups.get("date"):
        try:
            return _at(date.fromisoformat(groups["date"]), clock, zone)
        except ValueError:
            return None
    if groups.get("word"):
        return _at(today + timedelta(days=1 if groups["word"].lower() == "tomorrow" else 0), clock, zone)
    hour, minute = clock
    weekday = groups.get("weekday")
    coming = _crontab(f"{minute} {hour} * * {_day_number(weekday) if weekday else '*'}")
    return None if coming is None else SetTimes(at=coming.next(now, now, zone))


def _at(day: date, clock: tuple[int, int], zone: ZoneInfo) -> SetTimes | None:
    """The time on a day, by the rules of crontab where the clocks change."""
    hour, minute = clock
    before = datetime(day.year, day.month, day.day, tzinfo=zone) - timedelta(seconds=1)
    coming = _crontab(f"{minute} {hour} {day.day} {day.month} *")
    return None if coming is None else SetTimes(at=coming.next(before, before, zone))


def _iso(found: re.Match[str], _now: datetime, zone: ZoneInfo) -> SetTimes | None:
    try:
        at = datetime.fromisoformat(found[0].upper())
    except ValueError:
        return None
    if at.tzinfo is not None:
        return SetTimes(at=at.astimezone(UTC))
    return _at(at.date(), (at.hour, at.minute), zone)


def _fields(found: re.Match[str], _now: datetime, _zone: ZoneInfo) -> SetTimes | None:
    return _crontab(" ".join(found["fields"].split()))


def _crontab(fields: str) -> SetTimes | None:
    """The times of five fields; None for fields that mean none."""
    try:
        next(CronSim(fields, datetime(2026, 1, 1, tzinfo=UTC)))
    except (CronSimError, StopIteration):
        return None
    return SetTimes(cron=fields) if len(fields.split()) == _CRON_FIELDS else None


def _clock_of(found: re.Match[str]) -> tuple[int, int] | None:
    """Hour and minute; None for those that no day has."""
    said = (found["at"] or found["bare"]).lower()
    if said in ("noon", "midnight"):
        return (12, 0) if said == "noon" else (0, 0)
    digits = re.match(r"(\d+)(?::(\d+))?", said)
    assert digits is not None
    hour, minute = int(digits[1]), int(digits[2] or 0)
    half = re.search(r"([ap])\.?m", said)
    if half is not None:
        if not 1 <= hour <= _HOURS_OF_HALF_A_DAY:
            return None
        hour = hour % _HOURS_OF_HALF_A_DAY + (_HOURS_OF_HALF_A_DAY if half[1] == "p" else 0)
    return (hour, minute) if hour < 24 and minute < 60 else None


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"{pattern}(?!\w|[.:]\d|/)", re.IGNORECASE)


_FORMS = (
    (_form(rf"{_REPEATED}(?:\s+|\s*,\s*){_CLOCK}"), _repeated),
    (_form(rf"{_CLOCK}\s+{_REPEATED}"), _repeated),
    (_form(rf"(?:{_EACH}hour|hourly)(?!\s+(?:at|on)\b)"), lambda _found, _now, _zone: SetTimes(cron="0 * * * *")),
    (_form(rf"{_EACH}(?:{_NUMBER}\s+)?(?P<unit>minute|hour)s?(?!\s+(?:at|on)\b)"), _interval),
    (_form(rf"in\s+{_NUMBER}\s+(?P<unit>second|minute|hour|day|week)s?"), _later),
    (_form(_ISO), _iso),
    (_form(rf"{_ONCE}(?:\s+|\s*,\s*){_CLOCK}"), _once),
    (_form(rf"{_CLOCK}\s+{_ONCE}"), _once),
    (_form(_CLOCK), _once),
    (re.compile(rf"{_NAMED}(?P<fields>[\d*](?:{_FIELD})?(?:\s+{_FIELD}){{4}})`?(?!\S)", re.IGNORECASE), _fields),
)
"""The forms, the longer ones first, with what each means."""
