"""Puts the sandbox's worker into a jail where the machine allows it: bubblewrap's, else one of Landlock and seccomp.

The worker already runs code without access to files, network or environment; the jail holds should the interpreter
itself have a hole. bubblewrap needs user namespaces, which many containers refuse; the other needs Linux 5.13. So they
are tried once, at start.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import anyio
from msgspec import Struct

from runtime.sandbox import landlock
from runtime.sandbox.landlock import LIBRARIES

_PROBE_LIMIT_S = 30.0
LANDLOCK = Path(landlock.__file__)
"""The script that starts a program behind Landlock and seccomp."""


class WorkerWrapper(Struct, frozen=True):
    """`wrapper` is the program to start workers with, None for the bare worker; `reason` says why, for people."""

    wrapper: Path | None
    reason: str

    @property
    def jailed(self) -> bool:
        """Whether there is a jail around the workers."""
        return self.wrapper is not None


BARE = WorkerWrapper(None, "nobody asked for a jail")


async def wrap_worker(directory: Path, *, bwrap: str = "bwrap", by_landlock: Path = LANDLOCK) -> WorkerWrapper:
    """Write the wrapper script into `directory` (which exists and belongs to us) and try it.

    Never raises for a machine without a jail: the reason says what is missing.
    """
    worker = _worker_binary()
    if worker is None:
        return WorkerWrapper(None, "the sandbox's worker program 'monty' was not found; install pydantic-monty again")
    script = anyio.Path(directory) / "sandbox-worker"
    jail = shutil.which(bwrap)
    failures = []
    if jail is None:
        failures.append(f"{bwrap} is not installed")
    else:
        failure = await _tried(script, _bubblewrap(jail, worker))
        if failure is None:
            return WorkerWrapper(Path(script), f"workers run inside {bwrap}: no network, no files, no environment")
        failures.append(f"{bwrap} does not work here ({failure})")
    failure = await _tried(script, [sys.executable, "-I", "-S", str(by_landlock), str(worker)])
    if failure is None:
        text = f"workers run behind Landlock and seccomp: no network, no files, no environment; {failures[0]}"
        return WorkerWrapper(Path(script), text)
    failures.append(f"nor does Landlock ({failure})")
    return WorkerWrapper(None, f"{', '.join(failures)}; model-written code runs without a jail around its worker")


async def _tried(script: anyio.Path, command: Sequence[str]) -> str | None:
    """Write the wrapper; None if a worker starts with it, else the worker's last message."""
    await script.write_text(f'#!/bin/sh\nulimit -c 0\nexec {shlex.join(command)} "$@"\n')
    await script.chmod(0o700)
    try:
        with anyio.fail_after(_PROBE_LIMIT_S):
            done = await anyio.run_process([str(script), "--version"], stdin=subprocess.DEVNULL, check=False)
    except TimeoutError:
        return f"no answer in {_PROBE_LIMIT_S:.0f} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"


def _bubblewrap(jail: str, worker: Path) -> list[str]:
    command = [jail, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    for directory in LIBRARIES:
        command += ["--ro-bind-try", directory, directory]
    return [*command, "--ro-bind", str(worker), "/monty", "--chdir", "/", "/monty"]


def _worker_binary() -> Path | None:
    """The path of the program from the pydantic-monty-runtime wheel: in the environment's scripts, else on the path."""
    beside = Path(sysconfig.get_path("scripts")) / "monty"
    if beside.is_file():
        return beside
    found = shutil.which("monty")
    return Path(found) if found else None
