"""The port of platforms where some messages show in their own text what they answer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class ShowsAnswered(Protocol):
    """Shows in the text of some messages what they answer, as long as they are there."""

    def answers(self, message: str, answered: str, /) -> None:
        """A message of ours that is about to be changed answers that one. Another process may have posted it."""
        ...
