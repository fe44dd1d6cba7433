"""Files that are written as a whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def replace_file(file: Path, content: bytes, *, mode: int | None = None) -> None:
    """Give a file this content: who reads it meanwhile, and after a crash, has what was there or all of it. Without
    `mode` the permissions stay. Raises OSError.
    """
    if mode is None:
        mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o644
    beside = file.with_name(f".{file.name}.part")
    beside.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
            os.fchmod(opened.fileno(), mode)
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
