"""Succession: how a session continues another, and how people are told."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runtime.core.address import Address
from runtime.core.ids import SessionId
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.session import SessionBranched

WORDS_CHARS = 120
"""So much of what somebody said is kept to be quoted by us."""

_TITLE_CHARS = 80
_MARKUP = re.compile(r"[\\`*_\[\]<>~|#]")
_AT = "@\u2060"
"""Behind an invisible sign that keeps it from being a mention."""

_JOINER = "\u200d"
"""Makes one sign of several."""


@dataclass(frozen=True, slots=True)
class Succession:
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
        why = "fork" if self.replaces is None else "undo"
        return SessionBranched(parent.session, parent.seq, why, self.home)


def name_within(name: str) -> str:
    """Somebody's name within our words: shown as it is, notifying nobody."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(name.split())).replace("@", _AT)


def words_within(text: str) -> str:
    """The beginning of somebody's words within ours, on one line, shown as they are, notifying nobody."""
    return name_within(_shortened(" ".join(text.split()), WORDS_CHARS))


def title_of(text: str) -> str:
    """A title in plain words that can be seen, perhaps empty."""
    seen = "".join(char for char in " ".join(text.split()) if char.isprintable() or char == _JOINER).strip()
    if not seen.strip(_JOINER):
        return ""
    return _shortened(" ".join(_MARKUP.sub("", seen).replace("@", _AT).split()), _TITLE_CHARS)


def _shortened(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1].rstrip() + "…"
