"""The routing table: which program serves a place. The first route whose conditions all hold serves.

event ──> its command is a route's? ──yes──> routes with that command ──┐
                 │ no                                                   ├─> the first that holds here
                 └───────────> routes without a command ────────────────┘
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from adapters.adapter import Inbound
from gateway.settings.execution import Busy, RouteSettings
from runtime.core.errors import ConfigError
from runtime.core.near_names import name_advice

Condition = Literal["platform", "space", "chat", "thread"]


class Route(Struct, frozen=True):
    """A program and the places it serves. `places` holds only the conditions that are given."""

    name: str
    files: tuple[Path, ...]
    places: Mapping[Condition, frozenset[str]] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    choose: bool = False
    busy: Busy | None = None
    memory: bool | None = None
    model: str | None = None

    def holds_at(self, event: Inbound) -> bool:
        address = event.address
        here: dict[Condition, str | None] = {
            "platform": address.platform,
            "space": event.space,
            "chat": address.conversation,
            "thread": address.thread,
        }
        return all(here[condition] in values for condition, values in self.places.items())

    def covers(self, other: Route) -> bool:
        """Whether this route holds wherever `other` does, so that `other` never serves after it."""
        if bool(self.commands) != bool(other.commands) or not set(other.commands) <= set(self.commands):
            return False
        return all(
            condition in other.places and other.places[condition] <= values for condition, values in self.places.items()
        )


class Routes:
    """The table, of at least one route: the event alone decides what serves. A reload replaces the routes."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.take(routes)

    def take(self, routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        self.commands = {command: route.name for route in reversed(self.routes) for command in route.commands}
        """Every route's command, with the name of the program it begins."""

    def program(self, event: Inbound) -> str | None:
        """The name of the program that serves here; None when no route does."""
        command = event.command if event.command in self.commands else None
        for route in self.routes:
            fits = command in route.commands if command is not None else not route.commands
            if fits and route.holds_at(event):
                return route.name
        return None

    def first_on(self, platform: str) -> str | None:
        """The program that serves direct messages on a platform, unless a route names their place."""
        for route in self.routes:
            anywhere = not route.commands and not route.places.keys() - {"platform"}
            if anywhere and platform in route.places.get("platform", {platform}):
                return route.name
        return None

    def choices(self, event: Inbound) -> list[str]:
        """The programs that people may choose here, in the order of the table."""
        return list(dict.fromkeys(route.name for route in self.routes if route.choose and route.holds_at(event)))

    @property
    def choosable(self) -> list[str]:
        return list(dict.fromkeys(route.name for route in self.routes if route.choose))

    @property
    def files(self) -> dict[str, tuple[Path, ...]]:
        return {route.name: route.files for route in self.routes}

    @property
    def busy(self) -> dict[str, Busy]:
        """The handling of messages to a busy agent by program, where a route says so."""
        return {route.name: route.busy for route in self.routes if route.busy is not None}

    @property
    def memory(self) -> dict[str, bool]:
        return {route.name: route.memory for route in self.routes if route.memory is not None}

    @property
    def models(self) -> dict[str, str]:
        return {route.name: route.model for route in self.routes if route.model is not None}

    @property
    def single(self) -> str | None:
        """The program that serves everybody everywhere, if the table has no other route."""
        first, *others = self.routes
        return None if others or first.places or first.commands else first.name

    def lines(self) -> list[str]:
        return [f"{_where(route)} → {route.name} ({', '.join(map(str, route.files))})" for route in self.routes]


def _where(route: Route) -> str:
    conditions = [f"{condition} {'|'.join(sorted(values))}" for condition, values in route.places.items()]
    conditions += [f"/{command}" for command in route.commands]
    return (", ".join(conditions) or "everywhere") + (", to choose" if route.choose else "")


def only(files: Sequence[Path]) -> Routes:
    """One program for everybody everywhere."""
    return Routes([Route(files[0].stem, tuple(files))])


def build_routes(settings: Sequence[RouteSettings], *, platforms: Collection[str], reserved: Collection[str]) -> Routes:
    """The table of the settings. `platforms` are those that exist, `reserved` Parley's own commands.

    Raises ConfigError for missing files, unknown platforms, taken commands, two programs of one name, and routes that
    can never serve.
    """
    routes: list[Route] = []
    for number, own in enumerate(settings, 1):
        where = f"[[route]] {number} ({', '.join(Path(file).name for file in own.program)})"
        route = _route(own, where)
        for name in own.platform:
            if name not in platforms:
                raise ConfigError(f'{where}: there is no platform "{name}"; {name_advice(name, sorted(platforms))}')
        _check_commands(own.command, reserved, where)
        _check_against(route, routes, where)
        routes.append(route)
    return Routes(routes)


def _route(own: RouteSettings, where: str) -> Route:
    files = tuple(Path(file) for file in own.program)
    for file in files:
        if not file.is_file():
            raise ConfigError(f"{where}: there is no file {file}; Parley looks for programs beside the settings file.")
    given: dict[Condition, tuple[str, ...]] = {
        "platform": own.platform,
        "space": (*own.workspace, *own.guild),
        "chat": (*own.channel, *own.chat),
        "thread": own.thread,
    }
    places = {condition: frozenset(values) for condition, values in given.items() if values}
    return Route(own.name or files[0].stem, files, places, own.command, own.choose, own.busy, own.memory, own.model)


def _check_commands(commands: Sequence[str], reserved: Collection[str], where: str) -> None:
    for command in commands:
        if command in reserved:
            raise ConfigError(f'{where}: the command "{command}" is Parley\'s own; choose another.')
        if (
            not (command.isascii() and command.replace("_", "").isalnum() and command == command.lower())
            or len(command) > 32
        ):
            raise ConfigError(
                f'{where}: "{command}" cannot be a command; '
                "write 1 to 32 small letters, digits and underscores, without a slash."
            )


def _check_against(route: Route, earlier: Sequence[Route], where: str) -> None:
    for number, other in enumerate(earlier, 1):
        if other.name == route.name and other.files != route.files:
            raise ConfigError(
                f'{where}: "{route.name}" is the name of another program in [[route]] {number}; '
                'give one of them another, with name = "…".'
            )
        if other.name == route.name and other.busy and route.busy and other.busy != route.busy:
            raise ConfigError(
                f'{where}: "{route.name}" has busy = "{other.busy}" in [[route]] {number}; '
                'one program has one answer; give one of them another name, with name = "…".'
            )
        if other.name == route.name and {other.memory, route.memory} == {True, False}:
            raise ConfigError(
                f'{where}: "{route.name}" has memory = {str(other.memory).lower()} in [[route]] {number}; '
                'one program remembers or does not; give one of them another name, with name = "…".'
            )
        if other.covers(route) and not route.choose:
            raise ConfigError(
                f"{where}: it can never serve, because [[route]] {number} always holds first; "
                "move it before that one, or remove it."
            )
