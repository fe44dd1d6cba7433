"""Tasks in processes of their own, which confine themselves by Landlock and seccomp, and end with the gateway."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio

from gateway.isolation.handover import Confinement, Handover
from gateway.isolation.launch.launcher import PYTHON, Launched, Started
from gateway.settings.isolation import MIB, IsolationSettings
from runtime.core.errors import ConfigError
from runtime.sandbox import landlock

_TRIED = (
    "import sys; sys.path.insert(0, sys.argv[1]); import landlock; landlock.confine([], [], 1)"  # whether it can be had
)
_PROBE_LIMIT_S = 30.0


class ProcessLauncher:
    """Starts a task as a child of this process, in a session of its own."""

    def __init__(self, settings: IsolationSettings, environment: Mapping[str, str], folder: Path) -> None:
        """`environment` is everything that it sees of ours; each works in a folder of its own below `folder`."""
        self._settings = settings
        self._environment = dict(environment)
        self._folder = folder

    @property
    def confinement(self) -> Confinement:
        return confinement_of(self._settings, jailed=True)

    async def check(self) -> None:
        where = str(Path(landlock.__file__).parent)
        try:
            with anyio.fail_after(_PROBE_LIMIT_S):
                command = [sys.executable, "-I", "-S", "-c", _TRIED, where]
                tried = await anyio.run_process(command, stdin=subprocess.DEVNULL, check=False)
        except (OSError, TimeoutError) as error:
            raise _missing(str(error)) from error
        if tried.returncode:
            said = tried.stderr.decode(errors="replace").strip().splitlines()
            raise _missing(said[-1] if said else f"exit code {tried.returncode}")

    async def start(self, name: str, handover: Handover) -> Launched:
        return await Started.of(PYTHON, self._environment, self._folder, handover)


def confinement_of(settings: IsolationSettings, *, jailed: bool) -> Confinement:
    """What a process sets for itself; where it is not `jailed`, limits of its resources alone."""
    readable = tuple(map(str, settings.read)) if jailed else ()
    return Confinement(jailed, readable, settings.memory_mib * MIB, settings.cpu_s, settings.open_files)


def _missing(why: str) -> ConfigError:
    return ConfigError(
        f'tasks.isolation wants "process", which cannot be had here: {why}. It needs Linux 6.12 with Landlock and '
        'seccomp; use "podman", or "inline" for programs that you trust.'
    )
