"""The port for the browser chat's rooms with their messages, which survive restarts, and what holds in them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from msgspec import Struct

from runtime.core.room import RoomChange, RoomInfo, RoomMessage, RoomPost

MAX_TEXT = 100_000
"""The longest text of a message, in code points."""


class RoomStore(Protocol):
    """Raises StorageUnavailable, and nothing else.

    A room begins with its first message and keeps the newest ones, up to a bound that the store is given.
    """

    async def put(self, room: str, post: RoomPost, /) -> RoomMessage:
        """Store a message; an existing message with the same id is returned unchanged."""

    async def update(self, room: str, message_id: str, /, *, text: str, final: bool) -> RoomMessage | None:
        """Replace a message's text and state; None if it is not there. Without a change it takes no version."""

    async def amend(self, room: str, message_id: str, change: RoomChange, /) -> RoomMessage | None:
        """Change a message; None when the room does not have it. A change without effect takes no version."""

    async def get(self, room: str, message_id: str, /) -> RoomMessage | None:
        """One message; None when the room does not have it."""

    async def history(self, room: str, /, *, before_seq: int | None = None, limit: int) -> Sequence[RoomMessage]:
        """The newest `limit` messages with `seq` < `before_seq`, oldest first."""

    async def changes(self, room: str, /, *, after_version: int, limit: int) -> Sequence[RoomMessage]:
        """The first `limit` messages changed after that version, in order of `version`, in their current form."""

    async def rooms(self) -> Sequence[RoomInfo]:
        """All rooms, the most recently active first."""


async def _is_no_owner(_: str) -> bool:
    return False


async def _nobody_is_out(_: Collection[str]) -> Collection[str]:
    return ()


class RoomRules(Struct, frozen=True):
    titled: bool = True
    """Whether rooms that are opened have their titles in their ids, which are not encrypted."""
    is_agent: Callable[[str], bool] = lambda _: False
    """Knows the names of the programs' agents."""
    mentions_only: Sequence[str] = ()
    """See `Hearing`."""
    agents: Sequence[str] = ()
    """The names of agents to whom people can write alone."""
    is_owner: Callable[[str], Awaitable[bool]] = _is_no_owner
    """Knows who may rename and archive every open room."""
    shut_out: Callable[[Collection[str]], Awaitable[Collection[str]]] = _nobody_is_out
    """Knows who of some people, by id, cannot come in any more."""
    overseen: bool = False
    """Whether who runs the chat can read what is said in private and direct rooms."""
    begins: Callable[[str], bool] = lambda _: False
    """Knows the commands that begin a program. Everybody in a room reads these, others only who gives them."""
    max_text: int = MAX_TEXT
    """The longest text that people can send, in code points."""
    voice_s: int = 0
    """How long a voice note may be that people record; 0 where nobody listens to them."""
