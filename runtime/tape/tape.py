"""Facts on tapes: one tape an agent, append-only, the only truth about its state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId, TapeId
from runtime.core.plain_text import MAX_ERROR_CHARS, shortened

MAX_FACT_CHARS = 32_000_000
"""The JSON of one fact: longer data is refused, for a value that is cut would be another value. It takes all messages
that a wait gives at once."""

_REASONS = frozenset({"exc", "why", "error"})
"""Keys of facts under which somebody is told why something is so: longer texts there are cut."""

ANCHORS = frozenset({"begin", "adopted", "branch", "exchange", "compact", "merged", "ended"})
"""Kinds of facts from which a tape is read: stores find the last one of a kind without going through the others."""

UNREADABLE = "unreadable"
"""The kind of a fact that a store has but cannot read; `fields` of its data is what the store has. `locked`, where it
is there, says why it cannot be opened."""


def with_short_reasons(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of a fact, with shortened texts about failures."""
    reasons = _REASONS.intersection(data)
    return {**data, **{key: _short(data[key]) for key in reasons}} if reasons else data


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(item) for item in value]
    return shortened(value, MAX_ERROR_CHARS) if isinstance(value, str) else value


class Fact(Struct, frozen=True):
    """One entry of a tape.

    `seq` counts from 1 over all tapes of one session without a gap, so the session's tapes merge into one order.
    `at` is UTC. `data` is JSON data.
    """

    tape: TapeId
    seq: int
    kind: str
    at: datetime
    data: Mapping[str, Any]


class TapeBranch(Struct, frozen=True):
    """The origin of a session: the facts of another one up to number `seq`, inclusive."""

    session: SessionId
    seq: int


class TapeStore(Protocol):
    """Reads tapes. Appending is part of a session's commit (`runtime.stores.sessions`).

    A session that goes on from another has that one's facts up to the branch, and so on, and then its own: numbered
    through, all on tapes of its own name. Raises TapeConflict when facts are not there that should be.
    """

    def read_session(self, session: SessionId, *, after: int = 0, until: int | None = None) -> AsyncIterator[Fact]:
        """The session's facts with `seq` above `after`, and not above `until`, in order; nothing without a session."""

    def read_tape(self, tape: TapeId, *, after: int = 0) -> AsyncIterator[Fact]:
        """The facts of one tape with `seq` above `after`, in order."""


class TapeFollowing(Protocol):
    """One who waits for news of a tape."""

    async def news(self) -> None:
        """Return when there may be news since the last wait. Raises StorageError."""


class TapeReader(TapeStore, Protocol):
    """More ways to read tapes, for observers of a session, while it works or afterwards."""

    def read_back(self, session: SessionId, *, before: int | None = None) -> AsyncIterator[Fact]:
        """The session's facts with `seq` below `before`, all without it, the last first."""

    async def last_anchor(self, session: SessionId, kind: str, *, until: int | None = None) -> int | None:
        """The number of the last fact of this kind, one of `ANCHORS`, not above `until`; None when there is none."""

    def follow(self, session: SessionId, *, after: int = 0) -> AsyncIterator[Fact]:
        """The facts with `seq` above `after`, and those to come as they come, without a gap, until the session is
        deleted. Who has had enough stops reading."""

    def following(self, session: SessionId) -> AbstractAsyncContextManager[TapeFollowing]:
        """News of a session from now on, for who reads by himself."""


def opened(fact: Fact) -> Fact:
    """A fact that is not locked. Raises ContentLocked for one that is encrypted and could not be opened."""
    if fact.kind == UNREADABLE and "locked" in fact.data:
        raise ContentLocked(str(fact.data["locked"]))
    return fact


async def last_facts(reader: TapeReader, session: SessionId, count: int) -> list[Fact]:
    """The last `count` facts of a session, in order."""
    found: list[Fact] = []
    async for fact in reader.read_back(session):
        if len(found) == count:
            break
        found.append(fact)
    return found[::-1]


def session_tape(session: SessionId) -> TapeId:
    """The tape of the session's own facts: who is here, which program, how it ended."""
    return TapeId(f"{session}/session")


def agent_tape(session: SessionId, agent: str) -> TapeId:
    return TapeId(f"{session}/{agent}")


def tape_owner(tape: TapeId) -> SessionId:
    return SessionId(tape.rpartition("/")[0])


def tape_in(tape: TapeId, session: SessionId) -> TapeId:
    """The tape of the same agent in another session."""
    return TapeId(f"{session}/{tape.rpartition('/')[2]}")
