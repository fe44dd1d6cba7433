"""Why sessions leave memory."""

from __future__ import annotations

from enum import Enum, auto


class Outcome(Enum):
    """Why a session left memory."""

    ENDED = auto()
    """The program has ended; the conversation is free."""
    RENEWED = auto()
    """Somebody asked for a new session; the asking entry is still in the inbox."""
    RESTING = auto()
    """Nothing is going on; the next event brings it back."""
    STIRRED = auto()
    """Its time came while it was leaving; it is to be restored at once."""
    SUCCEEDED = auto()
    """Another session goes on in its place; the event that asked for it is still in the inbox."""
    FAILED = auto()
    """An error ended it; it can be restored from its tapes."""
