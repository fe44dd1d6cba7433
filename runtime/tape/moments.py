"""A session as it was at any moment of its past: its facts, folded up to there.

Folding all facts of a long tape takes seconds, so a fold begins with the nearest snapshot of the store. States are kept
on the way as well: whoever goes back and forth pays for a few facts only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import anyio
import anyio.lowlevel

from runtime.core.errors import Divergence
from runtime.core.ids import SessionId
from runtime.tape.fold import apply_fact
from runtime.tape.snapshot import Snapshot, rules_version, snapshot_of, state_from
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact

EVERY = 2_000
"""The number of facts after which a state is kept again."""

KEPT_CHARS = 32 * 1024 * 1024
"""The most that is kept of all sessions, in characters; the session looked at the longest ago is forgotten first."""

_AT_ONCE = 200
"""The facts that are folded before others have a turn."""


class MomentFacts(Protocol):
    """Reads the facts of sessions, as `runtime.tape.tape.TapeStore` does it."""

    def read_session(self, session: SessionId, *, after: int = 0, until: int | None = None) -> AsyncIterator[Fact]: ...


@dataclass(frozen=True, slots=True)
class SessionMoment:
    """A session after one of its facts. `trouble` says why its facts cannot be read up to there."""

    state: SessionState
    trouble: str = ""


@dataclass(slots=True)
class _Kept:
    """The states that are kept of one session, by their facts."""

    seqs: list[int] = field(default_factory=list)
    states: list[Snapshot] = field(default_factory=list)

    @property
    def chars(self) -> int:
        return sum(len(one.text) for one in self.states)

    def before(self, seq: int) -> Snapshot | None:
        """The last one not after fact `seq`."""
        at = bisect_right(self.seqs, seq)
        return self.states[at - 1] if at else None

    def keep(self, state: SessionState) -> None:
        at = bisect_right(self.seqs, state.seq)
        if not at or self.seqs[at - 1] != state.seq:
            self.seqs.insert(at, state.seq)
            self.states.insert(at, snapshot_of(state))


class Moments:
    """Folds facts up to a moment. `snapshot` is the store's: the newest of a version of the rules, of no more than so
    many facts."""

    def __init__(
        self, tapes: MomentFacts, snapshot: Callable[[SessionId, str, int], Awaitable[Snapshot | None]]
    ) -> None:
        self._tapes = tapes
        self._snapshot = snapshot
        self._kept: OrderedDict[SessionId, _Kept] = OrderedDict()
        self._one_at_a_time = anyio.Lock()

    async def at(self, session: SessionId, seq: int) -> SessionMoment:
        """The session after fact `seq`. Raises StorageError."""
        async with self._one_at_a_time:
            return await self._folded(session, seq)

    def forget(self, session: SessionId) -> None:
        """Forget what is kept of a session."""
        self._kept.pop(session, None)

    async def _folded(self, session: SessionId, seq: int) -> SessionMoment:
        kept = self._kept.setdefault(session, _Kept())
        self._kept.move_to_end(session)
        state = await self._nearest(session, kept, seq)
        try:
            async for fact in self._tapes.read_session(session, after=state.seq, until=seq):
                apply_fact(state, fact)
                if state.seq % _AT_ONCE == 0:
                    await anyio.lowlevel.checkpoint()
                if state.seq % EVERY == 0:
                    kept.keep(state)
        except (Divergence, LookupError) as error:
            return SessionMoment(state, str(error))
        finally:
            self._let_go()
        return SessionMoment(state)

    async def _nearest(self, session: SessionId, kept: _Kept, seq: int) -> SessionState:
        """The state to begin with: a fresh one, since the fold changes it."""
        near = kept.before(seq)
        if near is None or seq - near.seq > EVERY:
            stored = await self._snapshot(session, rules_version(), seq)
            if stored is not None and (near is None or stored.seq > near.seq):
                near = stored
        state = None if near is None else state_from(near)
        return SessionState() if state is None else state

    def _let_go(self) -> None:
        while len(self._kept) > 1 and sum(one.chars for one in self._kept.values()) > KEPT_CHARS:
            self._kept.popitem(last=False)
