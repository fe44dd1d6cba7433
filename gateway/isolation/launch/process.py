"""Tasks in processes of their own, which confine themselves by Landlock and seccomp, and end with the gateway."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from gateway.isolation.handover import Confinement, Handover
from gateway.isolation.launch.launcher import PYTHON, Launched, Started, tried
from gateway.settings.programs.isolation import MIB, IsolationSettings
from runtime.core.errors import ConfigError
from runtime.sandbox import landlock

JAIL = "Linux 6.12 with Landlock and seccomp"
_TRY = "import sys; sys.path.insert(0, sys.argv[1]); import landlock; landlock.confine([], [], 1)"
TRIED = (sys.executable, "-I", "-S", "-c", _TRY, str(Path(landlock.__file__).parent))
"""A command that fails where a task's process could not confine itself."""


class JailedLauncher:
    """The common part of launchers for processes that confine themselves."""

    def __init__(self, settings: IsolationSettings, environment: Mapping[str, str], folder: Path) -> None:
        """`environment` is everything that the started command sees of ours; each works in a folder of its own below
        `folder`."""
        self._settings = settings
        self._environment = dict(environment)
        self._folder = folder

    @property
    def confinement(self) -> Confinement:
        """See `Launcher`."""
        return confinement_of(self._settings)


class ProcessLauncher(JailedLauncher):
    """Starts a task as a child of this process, in a session of its own."""

    async def check(self) -> None:
        failure = await tried(TRIED, self._environment)
        if failure is not None:
            raise missing("process", failure, JAIL)

    async def start(self, name: str, handover: Handover) -> Launched:
        return await Started.of(PYTHON, self._environment, self._folder, handover)


def confinement_of(settings: IsolationSettings) -> Confinement:
    """What a process sets for itself."""
    readable = tuple(map(str, settings.read))
    return Confinement(True, readable, settings.memory_mib * MIB, settings.cpu_s, settings.open_files)


def missing(kind: str, why: str, needs: str) -> ConfigError:
    """The error for an isolation that cannot be had here."""
    return ConfigError(
        f'tasks.isolation wants "{kind}", which cannot be had here: {why}. It needs {needs}; "inline" is for programs '
        "that you trust."
    )
