"""The port for events that could not be processed: stored until somebody replays or drops them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from runtime.core.plain_text import whole_number
from runtime.stores.inbox import InboxEvent
from runtime.stores.sessions import SHARDS


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that was set aside. `id` is `<shard>-<number>-<number>`; `died_at` is UTC; `entry_id` was its place in
    the inbox.
    """

    id: str
    event: InboxEvent
    entry_id: str
    reason: str
    died_at: datetime

    @property
    def shard(self) -> int:
        """The shard that it belongs to."""
        return letter_place(self.id)[0]


class DeadLetters(Protocol):
    """Raises LetterGone where it says so, InboxFull, StorageUnavailable, and nothing else."""

    async def page(self, after: str = "", /, *, limit: int) -> Sequence[DeadLetter]:
        """At most `limit` letters behind the one of id `after`, shard by shard, the oldest of each first.

        Fewer than `limit` are the last ones.
        """
        ...

    async def get(self, letter: str, /) -> DeadLetter | None: ...

    async def replay(self, letter: str, /) -> DeadLetter:
        """Put the event back into its shard's inbox, behind what waits there, to be processed once.

        The platform's own repetition of it is still recognised. Raises LetterGone when there is no such letter, also
        because it was replayed or dropped before; InboxFull leaves it where it is.
        """
        ...

    async def drop(self, letter: str, /) -> DeadLetter:
        """Delete the letter. Raises LetterGone if there is none."""
        ...


def letter_id(shard: int, number: str) -> str:
    """The id of a letter by its shard and its place there."""
    return f"{shard}-{number}"


def letter_place(letter: str) -> tuple[int, str]:
    """The inverse of `letter_id`; (-1, "") for what is no id of a letter."""
    shard, _, number = letter.partition("-")
    which = whole_number(shard, SHARDS - 1)
    whole = all(part.isdecimal() for part in number.split("-")) and number.count("-") == 1
    return (which, number) if which is not None and whole else (-1, "")
