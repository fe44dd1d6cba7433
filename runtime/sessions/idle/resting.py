"""Resting sessions that stay in memory, where the next message finds them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from runtime.core.ids import SessionId

MOST = 1000
"""The default number: about 70 MiB, and enough for people in conversation at some twenty messages a second."""


class Resting:
    """The resting sessions of one node, in the order in which they came to rest.

    With more than `most` of them, those that have rested longest leave memory.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._leave: OrderedDict[SessionId, Callable[[], None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._leave)

    def begin(self, session: SessionId, leave: Callable[[], None]) -> None:
        """A session has come to rest; `leave` makes it leave memory."""
        self._leave[session] = leave
        self._leave.move_to_end(session)
        while len(self._leave) > self._most:
            _, leave_longest = self._leave.popitem(last=False)
            leave_longest()

    def end(self, session: SessionId) -> None:
        """A session is active again, or has left memory."""
        self._leave.pop(session, None)
