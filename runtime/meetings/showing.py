"""The setting for how much people see of meetings among agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from runtime.tape.state.meetings import MeetingState

Show = Literal["all", "summaries", "none"]
"""Every message; start and result of a meeting; nothing."""

OpenToPeople = Callable[[MeetingState], bool]
"""Whether people outside a meeting see its messages."""

_SHOWS = ("all", "summaries", "none")


@dataclass(frozen=True, slots=True)
class MeetingHabits:
    """The settings for meetings: whether those with people get places, and how much is shown of those among agents."""

    threads: bool = True
    show: Show = "all"

    def shown(self, metadata: Mapping[str, Any]) -> Show:
        """The rule for a meeting whose playbook has this metadata: its own, else that of the settings."""
        wanted = str(metadata.get("show", "")).strip().lower()
        return wanted if is_show(wanted) else self.show


def is_show(text: str) -> TypeGuard[Show]:
    """Whether it is one of the three values."""
    return text in _SHOWS
