"""The settings for the execution of programs: models' code, meetings, and the log."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gateway.settings.forms import Section
from runtime.meetings.showing import Show


class SandboxSettings(Section):
    """The sandbox for model-written code; `seconds` and `memory_mib` bound one statement. Without a jail around its
    workers nothing starts where it is "required"; where it is "preferred", people are warned."""

    workers: int = Field(default=4, ge=1, le=64)
    seconds: float = Field(default=2, gt=0)
    memory_mib: int = Field(default=64, ge=8)
    jail: Literal["required", "preferred"] = "preferred"


class ExecutionSettings(Section):
    """The execution of playbooks: whether a model answers several questions in one reply."""

    questions: Literal["auto", "together", "alone"] = "auto"


class MeetingSettings(Section):
    """`threads`: a meeting with people gets a thread, topic or room of its own where one can be opened. `show` is the
    part of the agents' talk among themselves that people see: "all", "summaries" or "none".
    """

    threads: bool = True
    show: Show = "all"


class LogSettings(Section):
    """One line per event; `auto` is for people on a terminal and JSON elsewhere."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "human", "json"] = "auto"
