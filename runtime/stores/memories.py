"""The port for memories: what programs keep of people, places and themselves from one conversation to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, Self
from urllib.parse import quote, unquote

from msgspec import Struct

from runtime.core.ids import SessionId

ScopeKind = Literal["person", "place", "program"]

NOBODY = ""
"""The owner of a memory that is about a place or a program."""


def scope_kind(text: str) -> ScopeKind:
    """The kind of a scope from its text. Raises ValueError."""
    found: dict[str, ScopeKind] = {"person": "person", "place": "place", "program": "program"}
    if text not in found:
        raise ValueError(f"no kind of scope: {text}")
    return found[text]


class MemoryScope(Struct, frozen=True):
    """The scope of a memory: in the private chats of one person, in one place, or wherever the program serves.

    `whose` is a person's id, the key of a conversation, or "". Memories of one program are of no use to another.
    """

    kind: ScopeKind
    program: str
    whose: str = ""

    @property
    def key(self) -> str:
        """The scope in one text; no two have the same."""
        return f"{self.kind}:{quote(self.program, safe='')}:{self.whose}"

    @classmethod
    def of_key(cls, key: str) -> Self:
        """The inverse of `key`. Raises ValueError."""
        kind, program, whose = key.split(":", 2)
        return cls(scope_kind(kind), unquote(program), whose)


class StoredMemory(Struct, frozen=True):
    """A memory. `owner` is whose words it comes from, and in whose turns alone it is used; NOBODY for one about a place
    or a program.

    `about` is who else it is about, "" for the owner. `conversation`, `session` and `message` are its source, the last
    the platform's id. `made_s` is in seconds since the epoch. `replaces` are the ids of older ones about the same
    thing. `number` is what people call it in its scope, 0 until it is kept.
    """

    id: str
    scope: MemoryScope
    owner: str
    about: str
    text: str
    made_s: float
    conversation: str
    session: SessionId
    message: str | None = None
    replaces: tuple[str, ...] = ()
    number: int = 0


class VectorStore(Protocol):
    """Meanings of memories, as vectors of signed bytes. All of it can be made again.

    Raises StorageUnavailable and nothing else.
    """

    async def vectors(self, scope: MemoryScope, memories: Sequence[StoredMemory], model: str, /) -> Mapping[str, bytes]:
        """The vectors of these memories of a scope that the model made, by the memories' ids."""

    async def keep_vectors(
        self, scope: MemoryScope, vectors: Sequence[tuple[StoredMemory, bytes]], model: str, /
    ) -> None:
        """Keep the vectors of memories of a scope, those alone that are kept themselves and as long as they are."""


class MemoryStore(Protocol):
    """Raises StorageUnavailable and nothing else. Every method may be repeated."""

    async def keep(self, memory: StoredMemory, /, *, keep_s: float) -> None:
        """Keep a memory under a number of its own, for at least `keep_s` seconds.

        One that is kept already stays as it is, and one that was forgotten stays forgotten.
        """

    async def version(self, scope: MemoryScope, /) -> str:
        """A text that is another one whenever the memories of the scope are; "" where there were never any."""

    async def all(self, scope: MemoryScope, /) -> Sequence[StoredMemory]:
        """The memories of a scope, the oldest first. What cannot be decrypted is left out."""

    async def forget(self, scope: MemoryScope, ids: Sequence[str], /) -> int:
        """Delete memories; how many there were."""
