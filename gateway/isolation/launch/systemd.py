"""Tasks in transient units of systemd: the jail of a process, and around it a user, a control group and limits."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from gateway.isolation.handover import Handover
from gateway.isolation.launch.launcher import PYTHON, Launched, Started, tried
from gateway.isolation.launch.process import JAIL, TRIED, JailedLauncher, missing
from gateway.settings.programs.isolation import MIB

_PROCESSES = 256
_PROPERTIES = (
    "NoNewPrivileges=yes",
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "ProtectSystem=strict",
    "ProtectKernelTunables=yes",
    "ProtectControlGroups=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
    "CapabilityBoundingSet=",
    "MemorySwapMax=0",
    f"TasksMax={_PROCESSES}",
    "KillMode=control-group",
)


class SystemdLauncher(JailedLauncher):
    """Starts a task by `systemd-run`, whose standard input is the process's, and stops its unit at the end."""

    async def check(self) -> None:
        if shutil.which("systemd-run", path=self._environment.get("PATH")) is None:
            raise missing("systemd", "systemd-run is not installed", f"systemd, and {JAIL}")
        failure = await tried(self.command("check", TRIED), self._environment)
        if failure is not None:
            raise missing("systemd", failure, f"systemd, and {JAIL}")

    async def start(self, name: str, handover: Handover) -> Launched:
        command = self.command(name, PYTHON)
        return await Started.of(command, self._environment, self._folder, handover, stop=self.stop(name))

    def command(self, name: str, what: Sequence[str]) -> list[str]:
        """The command that runs `what` in a unit."""
        own = self._settings.systemd
        properties = [*_PROPERTIES, f"MemoryMax={self._settings.memory_mib * MIB}", *own.properties]
        # A user's manager has no rights, and keeps a unit from anything in a user namespace alone.
        properties = ["PrivateUsers=yes" if own.user else "DynamicUser=yes", *properties]
        return [
            "systemd-run",
            *(["--user"] if own.user else []),
            *("--quiet", "--pipe", "--wait", "--collect", "--working-directory=/tmp", "--setenv=HOME=/tmp"),
            f"--unit={_unit(name)}",
            *(f"--property={one}" for one in properties),
            "--",
            *what,
        ]

    def stop(self, name: str) -> list[str]:
        """The command that ends everything in the unit."""
        user = ["--user"] if self._settings.systemd.user else []
        return ["systemctl", *user, "kill", "--signal=SIGKILL", _unit(name)]


def _unit(name: str) -> str:
    return f"parley-task-{name}.service"
