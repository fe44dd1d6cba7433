"""The settings for programs: which one serves which place, and how they are executed: models' code, meetings, remote
agents and their servers, the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from gateway.settings.forms import FilePath, OneOrMore, SettingsSection, Words
from runtime.core.errors import ConfigError
from runtime.core.near_names import name_advice
from runtime.execution.calls.remote import ToolRules
from runtime.meetings.meeting import Show

OURS = "PARLEY_"
"""The prefix of this gateway's own variables, which no server is given."""

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")
"""The variables that a started process sees besides those named by its program."""

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

    program: OneOrMore = Field(min_length=1)
    name: str = Field(default="", pattern=r"^[\w.-]{0,40}$")
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
    return route.model_copy(update={"program": tuple(str(_absolute(file, directory)) for file in route.program)})


def _absolute(file: str, directory: Path) -> Path:
    return (directory / Path(file).expanduser()).absolute()


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


class RemoteSettings(SettingsSection):
    """Servers of remote agents. Times are in seconds; `result_chars` bounds what one call gives.

    `commands` are those that programs may start, "*" is any, "python" their own Python files. `secrets` are files by
    the names that programs use.
    """

    connect_s: float = Field(default=15, gt=0)
    call_s: float = Field(default=60, gt=0)
    result_chars: int = Field(default=100_000, ge=100)
    commands: Words = ("*",)
    secrets: dict[str, FilePath] = Field(default_factory=dict)

    def named(self, names: Iterable[str], variables: Mapping[str, str]) -> dict[str, str]:
        """The values of what programs name: out of its file, else out of `variables`; what is not set is left out.

        Raises ConfigError for a file that cannot be read.
        """
        found = {}
        for name in names:
            if name in self.secrets:
                found[name] = self._read(name)
            elif variables.get(name) and not name.upper().startswith(OURS):
                found[name] = variables[name]
        return found

    def _read(self, name: str) -> str:
        path = self.secrets[name]
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            text = f"remote.secrets.{name}: {path} cannot be read ({error}); check the path and its permissions."
            raise ConfigError(text) from error


class ToolSettings(SettingsSection):
    """The tools of remote agents that programs may call, by patterns such as `Weather.*`. People have `within_s`
    seconds to allow what they are asked for.
    """

    allow: Words = ()
    ask: Words = ()
    deny: Words = ()
    within_s: float = Field(default=600, gt=0)

    @property
    def as_rules(self) -> ToolRules:
        """In the form that sessions take."""
        return ToolRules(self.allow, self.ask, self.deny, self.within_s)
