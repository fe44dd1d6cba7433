"""What some platforms are told besides their calls."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from runtime.core.address import Address, Speaker


@runtime_checkable
class ShowsAnswered(Protocol):
    """Shows in the text of some messages what they answer, as long as they are there."""

    def answers(self, message: str, answered: str, /) -> None:
        """A message of ours that is about to be changed answers that one. Another process may have posted it."""
        ...


@runtime_checkable
class KnowsWork(Protocol):
    """Says with its messages whether more is to come."""

    def works(self, to: Address, speaker: Speaker, active: bool, /) -> None:
        """A speaker works on an answer there, or has stopped."""
        ...
