"""The settings for the isolation of tasks: what the code of a task is kept away from, and how."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, get_args

from pydantic import Field

from gateway.settings.forms import FilePath, Section, Words
from runtime.core.errors import ConfigError

Isolation = Literal["inline", "process", "systemd", "podman"]
"""Where a task is executed: in the gateway's own process, in one of its own, in a transient unit of systemd, or in a
container of podman."""

ISOLATIONS: tuple[Isolation, ...] = get_args(Isolation)
INLINE: Isolation = "inline"

MIB = 1024 * 1024


class PodmanSettings(Section):
    """The container of a task: its image, in which `parley` is installed, what connects it with the gateway (podman has
    pasta since 4.4), and further options of `podman run`."""

    image: str = ""
    network: Literal["pasta", "slirp4netns"] = "pasta"
    options: Words = ()


class SystemdSettings(Section):
    """The unit of a task: whether it is one of the user's own service manager, and further properties of it."""

    user: bool = False
    properties: Words = ()


class IsolationSettings(Section):
    """The isolation of tasks: that of `programs` by their names, of all others `default`. Orders may ask for those in
    `on_request` where theirs is inline.

    `memory_mib`, `cpu_s` and `open_files` bound the process of one task; `cpu_s` 0 is no limit. Its code may read what
    is below `read`.
    """

    default: Isolation = INLINE
    on_request: Words = ()
    programs: Mapping[str, Isolation] = Field(default_factory=dict)
    memory_mib: int = Field(default=2048, ge=256)
    cpu_s: int = Field(default=0, ge=0)
    open_files: int = Field(default=256, ge=64)
    read: tuple[FilePath, ...] = ()
    podman: PodmanSettings = PodmanSettings()
    systemd: SystemdSettings = SystemdSettings()

    def of(self, program: str, asked: str = "") -> Isolation:
        """The isolation of a task of a program, for which an order has asked; an order never weakens it."""
        own = self.programs.get(program, self.default)
        wanted = next((one for one in ISOLATIONS if one == asked), INLINE)
        return wanted if own == INLINE else own

    def refusal(self, program: str, asked: str) -> str | None:
        """Why an order of a client may not ask for an isolation; None if it may."""
        own = self.programs.get(program, self.default)
        possible = sorted({own, *(self.on_request if own == INLINE else ())})
        if asked in ("", *possible):
            return None
        return f"isolation is one of {', '.join(possible)} for tasks of {program}."

    @property
    def kinds(self) -> frozenset[Isolation]:
        """Those that have to be there, besides inline."""
        named = {self.default, *self.programs.values(), *self.on_request}
        return frozenset(kind for kind in ISOLATIONS if kind in named) - {INLINE}

    def check(self, routes: Collection[str]) -> None:
        """Raise ConfigError for an isolation that there is not, and for a program that no route has."""
        for kind in self.on_request:
            if kind not in ISOLATIONS:
                known = ", ".join(ISOLATIONS)
                raise ConfigError(f'tasks.isolation.on_request: there is no "{kind}"; there are: {known}.')
        for name in self.programs:
            if name not in routes:
                known = ", ".join(routes)
                raise ConfigError(f'tasks.isolation.programs: there is no program "{name}"; there are: {known}.')
        if "podman" in self.kinds and not self.podman.image:
            raise ConfigError("tasks.isolation.podman.image is not set: name the image in which parley is installed.")
