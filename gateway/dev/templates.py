"""The programs with which a new folder can begin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gateway.packaged import packaged


@dataclass(frozen=True, slots=True)
class ProgramTemplate:
    """A program to begin with, its talks beside it. `source` is its place among the examples."""

    name: str
    what: str
    source: str

    @property
    def program(self) -> Path:
        """The file of the program."""
        return packaged(f"examples/{self.source}.pb")

    @property
    def talks(self) -> Path:
        """The file of its talks."""
        return packaged(f"examples/{self.source}.test.md")


TEMPLATES = (
    ProgramTemplate("support", "a support desk that looks up orders, and hands over to a human being", "order_helper"),
    ProgramTemplate("meeting", "a meeting of experts, who plan a trip", "trip_planning"),
    ProgramTemplate("standup", "a standup: three questions, every weekday at nine", "templates/standup"),
    ProgramTemplate("approval", "requests that a human being approves or rejects, by buttons", "templates/approval"),
    ProgramTemplate("reminder", "reminders", "templates/reminder"),
    ProgramTemplate("game", "a game: guess the number", "templates/game"),
    ProgramTemplate("triage", "triage of problems with tools: known answers, tickets", "templates/triage"),
)


def template(name: str) -> ProgramTemplate | None:
    """The template of this name."""
    return next((one for one in TEMPLATES if one.name == name), None)
