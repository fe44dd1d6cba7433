"""The settings about schedules that people and programs make."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from pydantic import Field, field_validator

from gateway.settings.forms import Section
from runtime.core.times import zone_named
from runtime.sessions.schedules.runs import Missed, Overlap, RunRules
from runtime.sessions.schedules.schedules import ScheduleLimits


class ScheduleSettings(Section):
    """The time zone of conversations in which nobody has set one, how many schedules one may have, and what becomes of
    times at which no gateway ran, or the run before still goes on."""

    timezone: str = "UTC"
    per_conversation: int = Field(default=20, ge=1, le=1000)
    missed: Missed = "once"
    overlap: Overlap = "queue"

    @field_validator("timezone")
    @classmethod
    def _is_zone(cls, zone: str) -> str:
        if zone_named(zone) is None:
            raise ValueError('no such time zone; expected a name such as "Europe/Berlin" or "UTC"')
        return zone

    @property
    def limits(self) -> ScheduleLimits:
        """What the schedules of a node hold."""
        return ScheduleLimits(ZoneInfo(self.timezone), self.per_conversation, RunRules(self.missed, self.overlap))
