"""Facts on tapes: one tape an agent, append-only, the only truth about its state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from runtime.core.ids import SessionId, TapeId


@dataclass(frozen=True, slots=True)
class Fact:
    """One entry of a tape.

    `seq` counts from 1 over all tapes of one session without a gap, so the session's tapes merge into one order.
    `at` is UTC. `data` is JSON data.
    """

    tape: TapeId
    seq: int
    kind: str
    at: datetime
    data: Mapping[str, Any]


class TapeStore(Protocol):
    """Reads tapes. Appending is part of a session's commit (`runtime.sessions.store`)."""

    def read_session(self, session: SessionId, *, after: int = 0) -> AsyncIterator[Fact]:
        """All facts of the session's tapes with `seq` above `after`, in order of `seq`."""
        ...

    def read_tape(self, tape: TapeId, *, after: int = 0) -> AsyncIterator[Fact]:
        """The facts of one tape with `seq` above `after`, in order."""
        ...


def session_tape(session: SessionId) -> TapeId:
    """The tape of the session's own facts: who is here, which program, how it ended."""
    return TapeId(f"{session}/session")


def agent_tape(session: SessionId, agent: str) -> TapeId:
    """The tape of one agent."""
    return TapeId(f"{session}/{agent}")
