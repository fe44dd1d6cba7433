"""A small disk that can be full, in memory. Only somebody who may mount one has it: root, where nothing forbids it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DISK_BYTES = 96 * 1024 * 1024
LEFT_OUT = "full disk left out: no disk may be mounted here"
"""What a run counts that had none."""


@contextmanager
def small_disk(directory: Path) -> Iterator[Path | None]:
    """Make the directory and mount a disk there, as long as the block lasts; None where this user may not."""
    directory.mkdir()
    if not _done("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "chaos", str(directory)):
        yield None
        return
    try:
        yield directory
    finally:
        _done("umount", "-l", str(directory))


def _done(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False
