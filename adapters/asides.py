"""Rarer parts of the port (`adapters/adapter.py`), and what adapters show to extensions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from adapters.adapter import Inbound
from runtime.core.address import Address, Speaker

HandsOver = Callable[[Any], Awaitable[None]]
"""Shows the object of a platform's library to extensions, before anything is heard. Never raises."""


async def to_nobody(_: object) -> None:
    """Show it to nobody."""


@runtime_checkable
class ShowsAnswered(Protocol):
    """Shows in the text of some messages what they answer, as long as they are there."""

    def answers(self, message: str, answered: str, /) -> None:
        """A message of ours that is about to be changed answers that one. Another process may have posted it."""


@runtime_checkable
class KnowsWork(Protocol):
    """Says with its messages whether more is to come."""

    def works(self, to: Address, speaker: Speaker, active: bool, /) -> None:
        """A speaker works on an answer there, or has stopped."""


@runtime_checkable
class CanReadBack(Protocol):
    """The platform can be asked what was said in a conversation."""

    async def earlier(self, to: Address, before: str, /, *, at_most: int) -> Sequence[Inbound]:
        """What was said in a conversation before the message `before`, as it is now: what the place began with, and the
        latest, oldest first.

        Nobody is addressed by any of it, and there are no commands in it. What a bot said has no `person_id`. Raises
        AdapterError.
        """


@runtime_checkable
class CanWriteAlone(Protocol):
    """The bot can begin to write to people in private."""

    async def private_with(self, to: Address, person_id: str, /) -> Address | None:
        """The bot's conversation with one of the people of a conversation alone, if any. Raises AdapterError."""
