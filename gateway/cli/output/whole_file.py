"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from runtime.core.errors import ConfigError


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file to write, readable by its owner only, which takes its name once it is complete.

    Raises ConfigError where it cannot be written.
    """
    beside = path.with_name(f".{path.name}.part")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            yield file
        beside.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be written: {error}") from error
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Standard output as a binary file."""
    yield sys.stdout
    sys.stdout.flush()
