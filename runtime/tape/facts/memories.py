"""Facts about memories: what a program is to remember of somebody, and the outcome."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.tape.facts.content import Content, fact, key


@fact("memory", session=True)
class MemoryMade(Content):
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
class MemoryKept(Content):
    """A memory is where other conversations find it."""

    id: str = key("id")


@fact("memory_back", session=True)
class MemoryWithdrawn(Content):
    """A memory is to be forgotten, with the exchange in which it was made."""

    id: str = key("id")


@fact("memory_gone", session=True)
class MemoryGone(Content):
    """A memory that was withdrawn is forgotten."""

    id: str = key("id")
