"""Reasons why sessions leave memory."""

from __future__ import annotations

from enum import Enum, auto


class Outcome(Enum):
    """The reason why a session left memory."""

    ENDED = auto()
    """The program has ended, and the conversation is free."""
    RENEWED = auto()
    """Somebody asked for a new session; the asking entry is still in the inbox."""
    RESTING = auto()
    """Nothing happens until the next event restores it."""
    STIRRED = auto()
    """Its time came while it was leaving memory, so it is restored at once."""
    SUCCEEDED = auto()
    """Another session continues in its place; the event that asked for that is still in the inbox."""
    REVERTED = auto()
    """It cannot go on with the program as this node serves it, and is restored with its own version."""
    FAILED = auto()
    """An error ended it; it can be restored from its tapes."""
