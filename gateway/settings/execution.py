"""The settings for programs: which one serves which place, and how they are executed: models' code, meetings,
the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from gateway.settings.forms import OneOrMore, SettingsSection
from runtime.core.errors import ConfigError
from runtime.core.near_names import name_advice
from runtime.meetings.meeting import Show

Busy = Literal["queue", "steer", "interrupt"]
"""The handling of a message to a busy agent: it waits, it is seen between two steps, or it stops the work."""


class ProgramSettings(SettingsSection):
    """The programs: `reload` reads them again whenever one of their files is saved; with `second_reader` a model says
    which of their lines it understands otherwise.
    """

    reload: bool = False
    second_reader: bool = True


class RouteSettings(SettingsSection):
    """One `[[route]]`. Every condition that is given must hold; one that lists several values holds for any of them.

    `program` are the files of one program, absolute once loaded. `workspace` and `guild` are the same condition, for
    Slack and Discord, as are `chat` and `channel`. A route with `command` serves these commands and nothing else.
    """

    model_config = ConfigDict(regex_engine="python-re")  # the other one takes 4 MB for a pattern

    program: OneOrMore = Field(min_length=1)
    name: str = Field(default="", pattern=r"^[\w.-]{0,40}\Z")
    platform: OneOrMore = ()
    workspace: OneOrMore = ()
    guild: OneOrMore = ()
    channel: OneOrMore = ()
    chat: OneOrMore = ()
    thread: OneOrMore = ()
    command: OneOrMore = ()
    choose: bool = False
    busy: Busy | None = None
    memory: bool | None = None
    model: str | None = None


def read_routes(value: object, *, place: str, directory: Path) -> list[RouteSettings]:
    """The `[[route]]` tables of `place`, their programs relative to `directory`. Raises ConfigError."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(row, Mapping) for row in value):
        raise ConfigError(f"{place}: route must be a list of tables; write each as [[route]]. See config/parley.toml.")
    return [_read_route(row, f"{place}: [[route]] {number}", directory) for number, row in enumerate(value, 1)]


def _read_route(row: Mapping[str, Any], where: str, directory: Path) -> RouteSettings:
    known = list(RouteSettings.model_fields)
    for key in row:
        if key not in known:
            raise ConfigError(f'{where}: there is no key "{key}"; {name_advice(key, known)}')
    if "program" not in row:
        raise ConfigError(f'{where}: it names no program; write program = "<file>.pb".')
    try:
        route = RouteSettings.model_validate(dict(row))
    except ValidationError as error:
        problem = error.errors()[0]
        key = str(problem["loc"][0])
        raise ConfigError(
            f'{where}: {key} is "{problem["input"]}": {problem["msg"]}. See config/parley.toml.'
        ) from error
    files = ((directory / Path(file).expanduser()).absolute() for file in route.program)
    return route.model_copy(update={"program": tuple(map(str, files))})


class SandboxSettings(SettingsSection):
    """The sandbox for model-written code; `seconds` and `memory_mib` bound one statement. Without a jail around its
    workers nothing starts where it is "required"; where it is "preferred", people are warned."""

    workers: int = Field(default=4, ge=1, le=64)
    seconds: float = Field(default=2, gt=0)
    memory_mib: int = Field(default=64, ge=8)
    jail: Literal["required", "preferred"] = "preferred"


class ExecutionSettings(SettingsSection):
    """The execution of playbooks: whether a model answers several questions in one reply."""

    questions: Literal["auto", "together", "alone"] = "auto"


class MeetingSettings(SettingsSection):
    """`threads`: a meeting with people gets a thread, topic or room of its own where one can be opened. `show` is the
    part of the agents' talk among themselves that people see: "all", "summaries" or "none".
    """

    threads: bool = True
    show: Show = "all"


class LogSettings(SettingsSection):
    """One line per event; `auto` is for people on a terminal and JSON elsewhere."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["auto", "human", "json"] = "auto"
