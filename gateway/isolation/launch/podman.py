"""Tasks in containers of podman, of an image in which this version of Parley is installed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from gateway.isolation.handover import Handover
from gateway.isolation.launch.launcher import Launched, Started, tried
from gateway.isolation.launch.process import JAIL, JailedLauncher, missing

_PROCESSES = 256
_HOST_OF_SLIRP = "10.0.2.2"
"""The address by which slirp4netns leads to this machine's loopback."""

_TRY = "from runtime.sandbox.landlock import confine; confine([], [], 1)"


class PodmanLauncher(JailedLauncher):
    """Starts a task by `podman run`: nothing of this machine's files. The jail within it leaves of the network the
    gateway's port alone."""

    async def check(self) -> None:
        needs = f"podman with {self._settings.podman.network}, an image with parley in it, and {JAIL}"
        if shutil.which("podman", path=self._environment.get("PATH")) is None:
            raise missing("podman", "podman is not installed", needs)
        failure = await tried(self.command("check", 1, ("python", "-c", _TRY)), self._environment)
        if failure is not None:
            raise missing("podman", failure, needs)

    async def start(self, name: str, handover: Handover) -> Launched:
        asked = urlsplit(handover.url)
        if self._settings.podman.network == "slirp4netns":
            handover = replace(handover, url=f"http://{_HOST_OF_SLIRP}:{asked.port or 80}", host=asked.netloc)
        command = self.command(name, asked.port or 80, ("parley", "agent"))
        stop = ["podman", "kill", _container(name)]
        return await Started.of(command, self._environment, self._folder, handover, stop=stop)

    def command(self, name: str, port: int, what: Sequence[str]) -> list[str]:
        """The command that runs `what` in a container, which reaches the gateway at `port`: with pasta of its own
        loopback, with slirp4netns of an address for this machine."""
        own = self._settings
        networks = {
            "pasta": f"pasta:-t,none,-u,none,-U,none,-T,{port}",
            "slirp4netns": "slirp4netns:allow_host_loopback=true,enable_ipv6=false",
        }
        program, *arguments = what
        return [
            *("podman", "run", "--rm", "--interactive", "--pull=never", f"--name={_container(name)}"),
            *("--read-only", "--tmpfs=/tmp:rw,mode=1777", "--workdir=/tmp", "--env=HOME=/tmp"),
            *("--cap-drop=all", "--security-opt=no-new-privileges", "--ipc=private", "--pid=private"),
            *(f"--memory={own.memory_mib}m", f"--memory-swap={own.memory_mib}m", f"--pids-limit={_PROCESSES}"),
            f"--network={networks[own.podman.network]}",
            *own.podman.options,
            f"--entrypoint={program}",
            own.podman.image,
            *arguments,
        ]


def _container(name: str) -> str:
    return f"parley-task-{name}"
