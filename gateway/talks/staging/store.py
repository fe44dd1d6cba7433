"""Where the sessions of a talk are kept."""

from __future__ import annotations

import anyio

from runtime.core.ids import SessionId
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore, MemorySessionStore
from runtime.stores.sessions import Commit


class TalkStore(MemorySessionStore):
    """Sessions in memory that say when something was written."""

    def __init__(self, leases: MemoryLeaseStore, inbox: MemoryInbox) -> None:
        super().__init__(leases, inbox)
        self.stirred = anyio.Event()
        self.latest: SessionId | None = None
        self.ended = False

    def stir(self) -> None:
        """Whoever waits for something looks again."""
        stirred, self.stirred = self.stirred, anyio.Event()
        stirred.set()

    async def commit(self, commit: Commit, /) -> None:
        await super().commit(commit)
        self.latest, self.ended = commit.session, self.ended or commit.end
        self.stir()
