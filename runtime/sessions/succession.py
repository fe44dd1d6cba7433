"""Succession: a session that continues another, and the words about it for people."""

from __future__ import annotations

import re

from msgspec import Struct

from runtime.core.address import SCRATCH, Address
from runtime.core.ids import SessionId
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.session import SessionBranched

WORDS_CHARS = 120
"""The number of characters kept of a message that our texts quote."""

_TITLE_CHARS = 80
_MARKUP = re.compile(r"[\\`*_\[\]<>~|#]")
_AT = "@\u2060"
"""An @ preceded by an invisible character, which keeps it from being a mention."""

_JOINER = "\u200d"
"""The character that joins several into one."""


class SessionSuccession(Struct, frozen=True):
    """A session that is to go on from its parent: what people are told first, which session it stands in for, and, of a
    fork, where its result goes. `places` are those of the meetings of the session that it stands in for, and
    `taken_in` is that of its record."""

    record: SessionRecord
    notice: str
    replaces: SessionId | None = None
    home: Address | None = None
    places: tuple[Address, ...] = ()
    taken_in: str = ""

    @property
    def fact(self) -> SessionBranched:
        """The fact about it on the tape. Raises ValueError for a record without a parent."""
        parent = self.record.parent
        if parent is None:
            raise ValueError(f"session {self.record.id} continues no other")
        why = "undo" if self.replaces is not None else SCRATCH if self.record.address.platform == SCRATCH else "fork"
        return SessionBranched(parent.session, parent.seq, why, self.home)


def words_within(text: str) -> str:
    """The start of a person's message inside our text, on one line."""
    return _shortened(" ".join(text.split()), WORDS_CHARS)


def title_of(text: str) -> str:
    """A title in plain visible words, perhaps empty."""
    seen = "".join(char for char in " ".join(text.split()) if char.isprintable() or char == _JOINER).strip()
    if not seen.strip(_JOINER):
        return ""
    return _shortened(" ".join(_MARKUP.sub("", seen).replace("@", _AT).split()), _TITLE_CHARS)


def _shortened(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1].rstrip() + "…"
