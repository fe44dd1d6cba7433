"""The memories that a session has made: brought to the store after they are on the tape, and taken back by `/undo`."""

from __future__ import annotations

from anyio.abc import TaskGroup

from runtime.core.background import OnDemand
from runtime.core.signals import Signal
from runtime.memories.books import Memories
from runtime.memories.session_memory import SessionMemory
from runtime.tape.facts.content import Content
from runtime.tape.facts.people import MemoryGone, MemoryKept, MemoryMade, MemoryWithdrawn
from runtime.tape.journal import Journal
from runtime.tape.listeners import hears
from runtime.tape.state.people import MadeMemory


class MemoryPosts:
    """The entries that one session owes the store of memories. The store knows each by its id, also after a crash."""

    def __init__(self, journal: Journal, memory: SessionMemory, memories: Memories | None) -> None:
        self._journal = journal
        self.memory = memory
        self._memories = memories
        self._posting = OnDemand(self._post)
        self._posted = Signal()

    def start(self, tasks: TaskGroup) -> None:
        """Bring memories to the store, in `tasks`."""
        self._posting.start(tasks)
        self._posting.wake()

    @hears(MemoryMade, MemoryWithdrawn)
    def noted(self, _fact: Content) -> None:
        """There may be one to bring."""
        self._posting.wake()

    async def all_posted(self) -> None:
        """Return when the store has heard of everything. Needs `start`."""
        while self._owed():
            self._posting.wake()
            await self._posted.wait()

    def _owed(self) -> list[MadeMemory]:
        return [made for made in self._journal.state.memories.values() if made.owed]

    async def _post(self) -> None:
        while owed := self._owed():
            await self._journal.commit()
            for made in owed:
                await self._post_one(made)
            self._journal.hurry()
        self._posted.send()

    async def _post_one(self, made: MadeMemory) -> None:
        memory, status = self.memory.memory_of(made), made.status
        if self._memories is None:  # it was made where something could be kept
            self._journal.note(MemoryKept(made.id) if status == "new" else MemoryGone(made.id))
        elif status == "withdrawn":
            await self._memories.store.forget(memory.scope, [made.id])
            self._journal.note(MemoryGone(made.id))
        else:
            await self._memories.store.keep(memory, keep_s=self._memories.limits.keep_s)
            await self._memories.trim(memory.scope)
            if made.status == "new":
                self._journal.note(MemoryKept(made.id))


def withdraw_memories(journal: Journal, *, after: int) -> None:
    """Have the memories forgotten that were made after a fact."""
    for made in [made for made in journal.state.memories.values() if made.seq > after]:
        if made.status != "withdrawn":
            journal.note(MemoryWithdrawn(made.id))
