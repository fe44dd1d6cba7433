"""Types that the readers of this worker share: the reason why a file is not read, and the part that was read."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from gateway.features.files.reading import ReadLimits

RESERVE_S = 5
"""The CPU time that is left for the rest when reading stops by itself."""


class NotRead(Exception):
    """A file is not read. `key` is the remark that says why, with its `values`."""

    def __init__(self, key: str, **values: str | int) -> None:
        super().__init__(key)
        self.key = key
        self.values = values


@dataclass(slots=True)
class Found:
    """The parts of a file so far: (kind, data, page), the remarks about it, and how long a sound is."""

    limits: ReadLimits
    parts: list[tuple[str, bytes, int]] = field(default_factory=list)
    remarks: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    seconds: float | None = None

    def remark(self, key: str, **values: str | int) -> None:
        self.remarks.append((key, values))

    def text(self, text: str, page: int = 0) -> None:
        if text.strip():
            self.parts.append(("text", text.encode(errors="replace"), page))

    def picture(self, data: bytes, page: int = 0) -> None:
        self.parts.append(("image", data, page))

    @property
    def late(self) -> bool:
        return time.process_time() > self.limits.cpu_s - RESERVE_S
