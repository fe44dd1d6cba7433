"""The setting for how much people see of meetings among agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from runtime.tape.state import MeetingState

Show = Literal["all", "summaries", "none"]
"""Each utterance; that a meeting begins and what came of it; nothing."""

OpenToPeople = Callable[[MeetingState], bool]
"""Whether people who are not in a meeting see what is said there."""

_SHOWS = ("all", "summaries", "none")


@dataclass(frozen=True, slots=True)
class MeetingHabits:
    """What the settings say of meetings: whether places are opened for those with people, and what is shown of those
    of agents alone."""

    threads: bool = True
    show: Show = "all"

    def shown(self, metadata: Mapping[str, Any]) -> Show:
        """What is shown of a meeting whose playbook has this metadata: what that says, else what the settings say."""
        wanted = str(metadata.get("show", "")).strip().lower()
        return wanted if is_show(wanted) else self.show


def is_show(text: str) -> TypeGuard[Show]:
    """Whether it is one of the three words."""
    return text in _SHOWS
