"""Counting work in a way in which nothing of the machine's speed is."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Calls:
    """Counts the calls of functions of the runtime."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: FrameType, event: str, _about: Any) -> None:
        if event == "call" and "/runtime/" in frame.f_code.co_filename:
            self.count += 1


@contextmanager
def counted() -> Iterator[Calls]:
    """Count until the block ends, in this thread."""
    calls = Calls()
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(None)
