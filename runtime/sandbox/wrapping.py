"""Puts the sandbox's worker into a bubblewrap jail where the machine allows it.

The worker already runs code without access to files, network or environment; the jail holds should the interpreter
itself have a hole. bubblewrap needs user namespaces, which many containers refuse: so it is tried once, at start.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import anyio

_PROBE_LIMIT_S = 30.0
_LIBRARY_DIRECTORIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")


@dataclass(frozen=True, slots=True)
class Wrapping:
    """`wrapper` is the program to start workers with, None for the bare worker; `reason` says why, for people."""

    wrapper: Path | None
    reason: str


async def wrap_worker(directory: Path, *, bwrap: str = "bwrap") -> Wrapping:
    """Write the wrapper script into `directory` (which exists and belongs to us) and try it.

    Never raises for a machine without bubblewrap: the reason says what is missing.
    """
    jail = shutil.which(bwrap)
    if jail is None:
        return Wrapping(None, f"{bwrap} is not installed; model-written code runs without a jail around its worker")
    worker = _worker_binary()
    if worker is None:
        return Wrapping(None, "the sandbox's worker program 'monty' was not found; install pydantic-monty again")
    script = anyio.Path(directory) / "sandbox-worker"
    await script.write_text(_script(jail, worker))
    await script.chmod(0o700)
    failure = await _probe(str(script))
    if failure is not None:
        return Wrapping(None, f"{bwrap} does not work here ({failure}); model-written code runs without a jail")
    return Wrapping(Path(script), f"workers run inside {bwrap}: no network, no files, no environment")


async def _probe(script: str) -> str | None:
    """None when the wrapped worker starts, otherwise the last thing it said."""
    try:
        with anyio.fail_after(_PROBE_LIMIT_S):
            done = await anyio.run_process([script, "--version"], stdin=subprocess.DEVNULL, check=False)
    except TimeoutError:
        return f"no answer in {_PROBE_LIMIT_S:.0f} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"


def _script(jail: str, worker: Path) -> str:
    command = [jail, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    for directory in _LIBRARY_DIRECTORIES:
        command += ["--ro-bind-try", directory, directory]
    command += ["--ro-bind", str(worker), "/monty", "--chdir", "/", "/monty"]
    return f'#!/bin/sh\nulimit -c 0\nexec {shlex.join(command)} "$@"\n'


def _worker_binary() -> Path | None:
    """Where the pydantic-monty-runtime wheel puts its program: the environment's scripts, else the path."""
    beside = Path(sysconfig.get_path("scripts")) / "monty"
    if beside.is_file():
        return beside
    found = shutil.which("monty")
    return Path(found) if found else None
