"""Facts about memories: what is to be remembered, and what is kept where other conversations find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from msgspec import Struct, field

from runtime.tape.facts.content import FactContent, fact, key
from runtime.tape.facts.registry import rule
from runtime.tape.facts.session import COPIES
from runtime.tape.state.session import SessionState, StatePart, state_part

MAX_MADE = 1000
"""The memories of a session that `/undo` can take back; the oldest are forgotten here, and stay where they are kept."""


@fact("memory", session=True)
class MemoryMade(FactContent, frozen=True):
    """Something is to be remembered. `scope` is the kind of where it may be used, `whose` the person or place.

    `made` is in seconds since the epoch, `message` the platform's id of the message that it comes from.
    """

    id: str = key("id")
    scope: str = key("scope")
    whose: str = key("whose")
    owner: str = key("owner")
    about: str = key("about")
    text: str = key("text")
    made: float = key("made")
    message: str | None = key("message", default=None)
    replaces: Sequence[str] = key("replaces", default=())


@fact("memory_kept", session=True)
class MemoryKept(FactContent, frozen=True):
    """A memory is where other conversations find it."""

    id: str = key("id")


@fact("memory_back", session=True)
class MemoryWithdrawn(FactContent, frozen=True):
    """A memory is to be forgotten, with the exchange in which it was made."""

    id: str = key("id")


@fact("memory_gone", session=True)
class MemoryGone(FactContent, frozen=True):
    """A memory that was withdrawn is forgotten."""

    id: str = key("id")


class MadeMemory(Struct):
    """A memory that fact `seq` of the session made. `scope`, `whose`, `owner` and `about` are as the fact has them.

    A `new` one is to be kept, one that is `withdrawn` to be forgotten.
    """

    id: str
    seq: int
    scope: str
    whose: str
    owner: str
    about: str
    text: str
    made: float
    message: str | None = None
    replaces: list[str] = field(default_factory=list)
    status: Literal["new", "kept", "withdrawn"] = "new"

    @property
    def owed(self) -> bool:
        """Whether the store of memories is to hear of it."""
        return self.status != "kept"


@state_part
class MadeMemories(StatePart):
    """What a session has remembered, by id; the oldest are forgotten beyond `MAX_MADE`."""

    name: ClassVar[str] = "memories"

    memories: dict[str, MadeMemory] = field(default_factory=dict)

    def owes(self, _state: SessionState, /) -> bool:
        return any(made.owed for made in self.memories.values())

    def branched(self, why: str, /) -> Self | None:
        """Those of a session that was copied are its own to keep and to take back."""
        return None if why in COPIES else self


@rule(MemoryMade)
def _made(state: SessionState, seq: int, fact: MemoryMade) -> None:
    memories = state.part(MadeMemories).memories
    memories[fact.id] = MadeMemory(
        fact.id,
        seq,
        fact.scope,
        fact.whose,
        fact.owner,
        fact.about,
        fact.text,
        fact.made,
        fact.message,
        [*fact.replaces],
    )
    kept = [made.id for made in memories.values() if not made.owed]
    for id_ in kept[: max(0, len(memories) - MAX_MADE)]:
        del memories[id_]


@rule(MemoryKept)
def _kept(state: SessionState, _: int, fact: MemoryKept) -> None:
    made = state.part(MadeMemories).memories.get(fact.id)
    if made is not None and made.status == "new":
        made.status, made.text = "kept", ""


@rule(MemoryWithdrawn)
def _withdrawn(state: SessionState, _: int, fact: MemoryWithdrawn) -> None:
    made = state.part(MadeMemories).memories.get(fact.id)
    if made is not None:
        made.status, made.text = "withdrawn", ""


@rule(MemoryGone)
def _gone(state: SessionState, _: int, fact: MemoryGone) -> None:
    state.part(MadeMemories).memories.pop(fact.id, None)
