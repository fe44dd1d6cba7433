"""The port for the places of meetings with people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runtime.tape.state.meetings import MeetingState


class Places(Protocol):
    """Opens conversations for meetings, and says there who is invited."""

    async def open(self, meeting: MeetingState, people: Sequence[str], /) -> None:
        """Have the meeting held in a conversation of its own, if one can be had; called before anybody is invited.

        `people` are those who are asked to come, by id, or by what the program calls somebody who has not taken part
        yet. People are told where it is and what it is about. Called again for the same meeting it changes nothing.
        """
        ...
