"""Reading of tapes in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio

from runtime.core.ids import SessionId, TapeId
from runtime.storage.encoding.codec import fact_from_fields
from runtime.tape.tape import Fact, Following, tape_in, tape_owner

StoredFact = tuple[TapeId, tuple[str, str, str]]
"""A stored fact: its tape, and its kind, time and data."""


class MemoryTapes(ABC):
    """Implements `runtime.tape.tape.TapeReader`."""

    def __init__(self) -> None:
        self.changed = anyio.Event()
        """Set, and replaced, when there are new facts, or a session is gone."""

    @abstractmethod
    def stored(self, session: SessionId) -> Sequence[StoredFact] | None:
        """All current facts of a session, including those of the one that it continues; None if there is none."""

    def tell(self) -> None:
        """Report new facts, or a removed session."""
        news, self.changed = self.changed, anyio.Event()
        news.set()

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        facts = list(self.stored(session) or ())[:until]
        for seq, (tape, fields) in enumerate(facts, start=1):
            if seq > after:
                yield fact_from_fields(tape_in(tape, session), seq, fields)

    async def read_tape(self, tape: TapeId, *, after: int = 0) -> AsyncIterator[Fact]:
        async for fact in self.read_session(tape_owner(tape), after=after):
            if fact.tape == tape:
                yield fact

    async def read_back(self, session: SessionId, *, before: int | None = None) -> AsyncIterator[Fact]:
        until = None if before is None else max(0, before - 1)
        for fact in reversed([fact async for fact in self.read_session(session, until=until)]):
            yield fact

    async def last_anchor(self, session: SessionId, kind: str, *, until: int | None = None) -> int | None:
        found = [fact.seq async for fact in self.read_session(session, until=until) if fact.kind == kind]
        return found[-1] if found else None

    async def follow(self, session: SessionId, *, after: int = 0) -> AsyncIterator[Fact]:
        while self.stored(session) is not None:
            news = self.changed
            async for fact in self.read_session(session, after=after):
                after = fact.seq
                yield fact
            await news.wait()

    @asynccontextmanager
    async def following(self, session: SessionId) -> AsyncIterator[Following]:
        del session
        yield _Follower(self)


class _Follower:
    """Hears of every change."""

    def __init__(self, tapes: MemoryTapes) -> None:
        self._tapes = tapes
        self._news = tapes.changed

    async def news(self) -> None:
        await self._news.wait()
        self._news = self._tapes.changed
