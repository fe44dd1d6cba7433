"""Code fences, line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE_LINE = re.compile(r"[ \t]*(?P<marks>`{3,}|~{3,})(?P<info>[^`\n]*)\Z")


@dataclass(frozen=True, slots=True)
class OpenFence:
    """A code fence that was opened with `marks` by the line `opener`."""

    marks: str
    opener: str

    @property
    def closer(self) -> str:
        """The line that closes it."""
        indent = self.opener[: len(self.opener) - len(self.opener.lstrip())]
        return indent + self.marks


def after_line(line: str, fence: OpenFence | None) -> OpenFence | None:
    """The open fence after a complete `line`."""
    found = FENCE_LINE.match(line)
    if fence is None:
        return OpenFence(found["marks"], line) if found else None
    closes = found is not None and found["marks"].startswith(fence.marks) and not found["info"].strip()
    return None if closes else fence
