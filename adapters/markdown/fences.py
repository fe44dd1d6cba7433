"""Code fences, line by line, also inside lists and quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE_LINE = re.compile(
    r"(?P<box>(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t])))*)(?P<indent>[ \t]*)(?P<marks>`{3,}(?=[^`\n]*\Z)|~{3,})"
    r"(?P<info>[^\n]*)\Z"
)
_LIST_MARKER = re.compile(r"[-*+]|\d{1,9}[.)]")


@dataclass(frozen=True, slots=True)
class OpenFence:
    """A code fence of `marks`: `inside` precedes every line of it (`> ` in a quote), `info` follows its marks."""

    marks: str
    inside: str
    info: str

    @property
    def opener(self) -> str:
        """The line that reopens the fence where no list precedes it, as at the start of a page."""
        return f"{self._quotes}{self.marks}{self.info}"

    @property
    def closer(self) -> str:
        """The line that closes the fence."""
        return self.inside + self.marks

    def closer_within(self, spaces: int) -> str:
        """The line that closes it on a page that has lost so many spaces of its lists."""
        return f"{self._quotes}{self.inside[len(self._quotes) + spaces :]}{self.marks}"

    @property
    def _quotes(self) -> str:
        end = self.inside.rfind(">") + 1
        return self.inside[: end + self.inside.startswith(" ", end)] if end else ""

    def is_left_by(self, line: str) -> bool:
        """Whether a line with this start is outside the quotation that contains the fence."""
        if ">" not in self.inside:
            return False
        begun = line.lstrip()
        return bool(begun) and not begun.startswith(">")


def after_line(line: str, fence: OpenFence | None) -> OpenFence | None:
    """The fence that is open after a complete `line`."""
    found = FENCE_LINE.match(line) if "```" in line or "~~~" in line else None
    if fence is not None and (fence.is_left_by(line) or (">" in fence.inside and not line.strip())):
        fence = None
    if fence is None:
        return _opened(found) if found else None
    closes = (
        found is not None
        and found["marks"].startswith(fence.marks)
        and not found["info"].strip()
        and not _LIST_MARKER.search(found["box"])
    )
    return None if closes else fence


def _opened(found: re.Match[str]) -> OpenFence:
    inside = _LIST_MARKER.sub(lambda marker: " " * len(marker[0]), found["box"]) + found["indent"]
    return OpenFence(found["marks"], inside, found["info"])
