"""The memories that a session has made, as far as it still has to do with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

MAX_MADE = 1000
"""The memories of a session that `/undo` can take back; the oldest are forgotten here, and stay where they are kept."""


@dataclass(slots=True)
class MadeMemory:
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
