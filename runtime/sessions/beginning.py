"""The events with which sessions begin: each carries the program that it begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from msgspec import Struct

from runtime.core.address import CLIENT, SCRATCH, TASK_PLATFORM, session_of
from runtime.core.ids import SessionId
from runtime.sessions.commands.fork import scratch_of, why_lost
from runtime.stores.inbox import FORK, TASK, InboxEntry
from runtime.stores.sessions import SessionStore

_AMONG_PEOPLE = frozenset({"message", "start", "new", FORK})
_ELSEWHERE: Mapping[str, frozenset[str]] = {
    TASK_PLATFORM: frozenset({TASK}),
    SCRATCH: frozenset({FORK}),
    CLIENT: frozenset(),
}
"""The kinds of events with which a session begins, by the platform of its address, where no people talk."""


class Beginning(Struct, frozen=True):
    """An event with which a session begins. Nothing else begins one: `of` makes it from what an inbox has."""

    entry: InboxEntry
    program: str

    @classmethod
    def of(cls, entry: InboxEntry) -> Self | None:
        """None for an event that begins no session: one of another kind, in the wrong place, or without a program."""
        program = entry.event.program
        return cls(entry, program) if program and is_of_beginning(entry) else None

    @property
    def session(self) -> SessionId | None:
        """The id of the session that begins, where the event says so."""
        return session_of(self.entry.event.address) or scratch_of(self.entry.event)


async def why_none(entry: InboxEntry, store: SessionStore) -> str:
    """The reason why no session can begin with an event of such a kind; "" where one can."""
    if Beginning.of(entry) is None:
        return "it names no program that it could begin here"
    return await why_lost(entry.event, store) if entry.event.kind == FORK else ""


def is_of_beginning(entry: InboxEntry) -> bool:
    """Whether an event is of a kind with which a session begins where it came to."""
    return entry.event.kind in _ELSEWHERE.get(entry.event.address.platform, _AMONG_PEOPLE)
