"""Addresses of conversations on platforms, and speakers."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from runtime.core.ids import FIRST_AGENT, SessionId

CLIENT = "client"
"""The platform of the addresses of clients, other programs that order tasks: no adapter has it, and nobody sees what
is said there."""

TASK_PLATFORM = "task"
"""The platform of the addresses of tasks: no adapter has it, and people reach none of them."""

SCRATCH = "scratch"
"""The platform of scratch rooms, in which owners try a copy of a session at the console: no adapter has it, and what is
said there is on the session's tape alone."""

UNSEEN = frozenset({CLIENT, SCRATCH})
"""The platforms on which nothing is shown."""


class Address(Struct, frozen=True):
    """A conversation on a platform: chat, channel or thread. Opaque to all but the adapter that made it."""

    platform: str
    conversation: str
    thread: str | None = None

    @property
    def key(self) -> str:
        """One string for one conversation; equal addresses have equal keys."""
        base = f"{self.platform}:{self.conversation}"
        return base if self.thread is None else f"{base}#{self.thread}"


def address_of(task: SessionId) -> Address:
    return Address(TASK_PLATFORM, task)


def session_of(address: Address) -> SessionId | None:
    """The session of a task, by its address; None for a conversation of people."""
    return SessionId(address.conversation) if address.platform == TASK_PLATFORM else None


def thread_name(message: str) -> str:
    """The name of the thread that people may begin below a message: its id on the platform, without what an adapter
    adds after `@` to say who has posted it.
    """
    return message.partition("@")[0]


def threads_below(conversation: Address, messages: Sequence[str]) -> list[Address]:
    """The threads that people may begin below messages; a thread has none below its own."""
    if conversation.thread is not None:
        return []
    return [replace(conversation, thread=name) for name in dict.fromkeys(map(thread_name, messages))]


def platform_in(key: str) -> str:
    return key.partition(":")[0]


def address_data(address: Address) -> list[str | None]:
    """An address as JSON data, for `Address(*data)`."""
    return [address.platform, address.conversation, address.thread]


def address_from(data: object) -> Address:
    """The inverse of `address_data`. Raises ValueError for data of any other form."""
    match data:
        case [str(platform), str(conversation), str() | None as thread]:
            return Address(platform, conversation, thread)
    raise ValueError(f"{data!r} is no address")


class Speaker(Struct, frozen=True):
    """The name under which a message appears: an agent's id and class, or the gateway itself (id "").

    `to` is the name of the one person it is meant for, where others read it too, `meeting` what the meeting is about in
    which it is said, where that has no place of its own.
    """

    id: str
    name: str
    to: str = ""
    meeting: str = ""

    @property
    def leads(self) -> bool:
        """Whether it is the gateway or the first agent, which speak where no name is shown."""
        return self.id in ("", str(FIRST_AGENT))


GATEWAY = Speaker("", "Parley")
"""The gateway speaking for itself: notices, help, refusals."""
