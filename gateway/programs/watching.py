"""The watch: programs and settings are read again when one of their files is saved."""

from __future__ import annotations

from pathlib import Path

from watchfiles import Change, awatch

from gateway.programs.reloading import Reloading
from runtime.bus import Bus
from runtime.events.service import ProgramsUnwatched

_TOGETHER_MS = 300
"""Files that are saved within this time are read together: an editor writes some of them twice."""

_STEP_MS = 50
_READ = frozenset({".pb", ".pbasm", ".md", ".py", ".toml", ".txt", ".env", ".lock"})


async def watch(reloading: Reloading, bus: Bus, *beside: Path) -> None:
    """Reload whenever a file in a folder of the programs, or in one of those `beside`, is saved. Ends where the system
    cannot watch."""
    while True:
        folders = reloading.folders | set(beside)
        try:
            async for _ in awatch(
                *folders, watch_filter=_is_read, debounce=_TOGETHER_MS, step=_STEP_MS, recursive=False
            ):
                await reloading.reload()
                if reloading.folders | set(beside) != folders:
                    break
            else:
                return
        except OSError as error:
            bus.publish(ProgramsUnwatched(str(error)))
            return


def _is_read(_change: Change, path: str) -> bool:
    file = Path(path)
    return file.suffix in _READ or file.name == ".env"
