"""The stored form of content: plain, or sealed. Nothing here is heavy; the cipher is in `encryption.py`.

A sealed text is `sealed:<key id>:<Base64>`. It is bound to where it stands: elsewhere nobody can open it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from runtime.core.errors import ContentLocked
from runtime.core.ids import SessionId, TapeId
from runtime.tape.tape import tape_owner

MARK = "sealed:"
"""The start of a sealed text, which no JSON or Base64 text has."""


@dataclass(frozen=True)
class AssociatedData:
    """The place of a sealed text.

    `home` is its owner, such as "session 5f1e"; each home has keys of its own. `rest` is everything else that a text
    must not be moved to or from, in the order of its kind.
    """

    home: str
    rest: tuple[str | int, ...]

    @cached_property
    def data(self) -> bytes:
        """The binding as unique bytes."""
        return "".join(f"{len(part)}:{part}," for part in (self.home, *map(str, self.rest))).encode()


class ContentSealing:
    """Writes content unencrypted. It cannot read sealed content, and raises ContentLocked."""

    @property
    def selective(self) -> bool:
        """Whether it seals only some conversations."""
        return False

    def of(self, conversation: str) -> ContentSealing:
        """The cipher for the content of a conversation."""
        del conversation
        return self

    @property
    def shared(self) -> ContentSealing:
        """The cipher for content that belongs to no single conversation, such as files."""
        return self

    def seal(self, binding: AssociatedData, text: str) -> str:
        """The stored form of a text. Equal texts at equal places give equal results."""
        del binding
        return text

    def open(self, binding: AssociatedData, written: str) -> str:
        """The text from its stored form. Raises ContentLocked when its key is missing, or it was changed or moved."""
        if written.startswith(MARK):
            raise missing_key(binding, key_of(written))
        return written

    def seal_bytes(self, binding: AssociatedData, content: bytes) -> bytes:
        del binding
        return content

    def open_bytes(self, binding: AssociatedData, written: bytes) -> bytes:
        if written.startswith(MARK.encode()):
            raise missing_key(binding, key_of(written[:100].decode("latin-1")))
        return written

    def digest(self, home: str, text: str) -> str:
        """A digest of a text, equal for equal texts of one home."""
        del home
        return hashlib.sha256(text.encode()).hexdigest()

    def has(self, key: str) -> bool:
        """Whether content sealed with the key of this id can be opened; "" means unsealed content."""
        return key == ""

    def is_current(self, written: str | bytes) -> bool:
        """Whether it is in the current form; other forms may be rewritten."""
        return key_of(written) == ""


PLAIN = ContentSealing()


def key_of(written: str | bytes) -> str:
    """The id of the key of a sealed text; "" for an unsealed one."""
    head = written[:100].decode("latin-1") if isinstance(written, bytes) else written[:100]
    return head.split(":", 2)[1] if head.startswith(MARK) and head.count(":") >= 2 else ""


def missing_key(binding: AssociatedData, key: str) -> ContentLocked:
    """The error for content whose key is missing."""
    return ContentLocked(
        f"The key {key or '(unreadable)'} is missing, and content of {binding.home} is encrypted with it. Put it back "
        "into encryption.keys after the others, and restart. Until then Parley changes nothing of it."
    )


def fact_binding(tape: TapeId, seq: int, kind: str, at: str, named: str) -> AssociatedData:
    """The binding of a fact's data. `named` lists its large values, as JSON or ""."""
    return AssociatedData(session_home(tape_owner(tape)), ("fact", tape, seq, kind, at, named))


def snapshot_binding(session: SessionId, seq: int, version: str) -> AssociatedData:
    """The binding of a session's snapshot."""
    return AssociatedData(session_home(session), ("snapshot", seq, version))


def archive_binding(session: SessionId) -> AssociatedData:
    return AssociatedData(session_home(session), ("archive",))


def value_binding(shard: int, digest: str) -> AssociatedData:
    """The binding of a large value, which several sessions of a shard may share."""
    return AssociatedData(values_home(shard), ("value", digest))


def message_binding(room: str, message: str, part: str) -> AssociatedData:
    """The binding of a part of a message in a room of ours."""
    return AssociatedData(conversation_home(room), ("message", message, part))


def notebook_binding(notebook: str, mark: str) -> AssociatedData:
    """The binding of an entry of a notebook. `mark` stands beside it: its number is known only once it is written."""
    return AssociatedData(f"notebook {notebook}", ("entry", mark))


def file_binding(file: str, size_bytes: int, piece: int) -> AssociatedData:
    return AssociatedData(f"file {file}", ("piece", size_bytes, piece))


def session_home(session: SessionId) -> str:
    return f"session {session}"


def conversation_home(conversation: str) -> str:
    return f"conversation {conversation}"


def values_home(shard: int) -> str:
    return f"large values of shard {shard}"
