"""Schedules of the settings: at set times a text is said to a program, or a program starts."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim

from adapters.adapter import Inbound
from gateway.inbound.routing import Routes
from gateway.jobs.runner import Job
from gateway.settings.programs.cron import CronSettings
from runtime.core.address import Address
from runtime.core.errors import ConfigError
from runtime.core.ids import schedule_id
from runtime.sessions.schedules.runs import RunRules, Runs
from runtime.stores.inbox import Inbox, InboxEvent

_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Schedule:
    """One entry. `program` serves the place if a session starts now; `begins`: a session always starts. `rules` say
    what becomes of times that cannot be kept."""

    name: str
    when: str
    zone: str
    address: Address
    text: str
    program: str
    begins: bool
    rules: RunRules

    def next_run(self, after: datetime) -> datetime:
        """The first time after `after`. An hour that a clock change skips or repeats counts once."""
        return next(CronSim(self.when, after.astimezone(ZoneInfo(self.zone)))).astimezone(UTC)

    def event(self, due: datetime) -> InboxEvent:
        """The inbox event at a due time."""
        kind = "new" if self.begins else "message"
        person = schedule_id(self.name)
        return InboxEvent(
            f"{person}.{due.isoformat()}",
            self.address,
            person,
            self.name,
            self.text,
            due,
            kind=kind,
            private=False,
            program=self.program,
        )

    def job(self, inbox: Inbox, runs: Runs) -> Job:
        """The entry as a job; other times or another time zone make another job."""

        async def run(due: datetime) -> None:
            event = self.event(due)
            if await runs.admit(event, self.rules):
                await inbox.add(event)

        digest = hashlib.sha256(f"{self.when} {self.zone} {self.address.key}".encode()).hexdigest()[:8]
        return Job(f"cron.{self.name}.{digest}", self.next_run, run)

    def line(self, now: datetime) -> str:
        """The entry with its next time, for people."""
        what = f"begins {self.program}" if self.begins else f'says "{_short(self.text)}" to {self.program}'
        at = self.next_run(now).astimezone(ZoneInfo(self.zone))
        return f"{self.name}: {self.when} ({self.zone}), next {at:%Y-%m-%d %H:%M}, {what} in {self.address.key}"


def build_schedules(settings: Sequence[CronSettings], routes: Routes, *, platforms: Collection[str]) -> list[Schedule]:
    """The schedules of the settings.

    Raises ConfigError for unknown platforms and programs, for names given twice, and for places that no program serves.
    """
    made: list[Schedule] = []
    for own in settings:
        if own.platform not in platforms:
            raise ConfigError(f'{own.where}: there is no platform "{own.platform}"; {_advice(own.platform, platforms)}')
        schedule = _schedule(own, routes)
        if any(schedule.name == other.name for other in made):
            raise ConfigError(
                f'{own.where}: "{schedule.name}" is the name of another schedule; choose a different name.'
            )
        made.append(schedule)
    return made


def check_places(schedules: Sequence[Schedule], platforms: Collection[str]) -> None:
    """Raise ConfigError for a schedule on a platform that is not switched on."""
    for schedule in schedules:
        platform = schedule.address.platform
        if platform not in platforms:
            raise ConfigError(f"[[cron]] {schedule.name}: {platform} is off; switch it on, or remove the schedule.")


def _schedule(own: CronSettings, routes: Routes) -> Schedule:
    address = Address(own.platform, own.place, own.thread or None)
    program = own.program or routes.program(_arrival(own, address))
    if own.program and own.program not in routes.files:
        raise ConfigError(f'{own.where}: there is no program "{own.program}"; {_advice(own.program, routes.files)}')
    if program is None:
        raise ConfigError(f'{own.where}: no route serves {address.key}; name a program with program = "…".')
    return Schedule(own.name, own.schedule, own.timezone, address, own.text, program, bool(own.program), own.rules)


def _arrival(own: CronSettings, address: Address) -> Inbound:
    """The message by which the route is found."""
    return Inbound(
        address, "", "", own.name, own.text, _SOME_TIME, private=False, addressed=True, space=own.space or None
    )


def _advice(wrong: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(wrong, known, n=1)
    return f'did you mean "{near[0]}"?' if near else f"there are: {', '.join(sorted(known))}."


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:39]}…"
