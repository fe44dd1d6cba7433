"""Callbacks of routers: tell people, report kept messages, and carry out commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from adapters.adapter import Inbound
from gateway.access.roles import Role
from runtime.core.address import Address
from runtime.core.message import Choice, Mark
from runtime.core.texts import Texts
from runtime.stores.inbox import InboxEvent

Kept = Callable[[InboxEvent], None]
"""Hears of each event that is in an inbox now."""

Hears = Callable[[Inbound], Awaitable[None]]
"""Hears of each event that a platform brings, before anything becomes of it."""


@dataclass(frozen=True, slots=True)
class GivenCommand:
    """A command or a choice for the gateway. `program` is the one that serves there; `private`: nobody else reads the
    answer."""

    event: Inbound
    role: Role
    program: str | None
    texts: Texts
    private: bool


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer for who gave a command, whom a platform answers so that the others do not see it, if it can; everybody
    may read what came of a choice."""

    text: str
    alone: bool = False
    """Tell it in private where the platform can, rather than in the conversation."""
    otherwise: str | None = None
    """What is said where everybody would read the answer; None: the answer."""


CarryOut = Callable[[GivenCommand], Awaitable[CommandAnswer]]
"""Carries out a command, or takes a choice. Done again, it changes nothing more."""


class SpeaksOutside(Protocol):
    """Tells people something outside any session, in the background."""

    async def say(self, to: Address, text: str, choices: Sequence[Choice] = (), /) -> None:
        """Tell a conversation, perhaps with choices below."""
        ...

    def tell_alone(self, to: Address, person_id: str, text: str, /) -> object:
        """Tell one person of a conversation in private, where the platform can."""
        ...

    def answer(self, to: Address, person_id: str, text: str, otherwise: str | None = None, /) -> object:
        """Answer one person of a conversation; where others would read it, `otherwise` is said in its place."""
        ...

    def mark(self, to: Address, message_id: str, mark: Mark | None, /) -> object:
        """Put a reaction on a person's message, where the platform can."""
        ...


def unheard(_event: InboxEvent) -> None:
    """Nobody hears of it."""


async def unheeded(_event: Inbound) -> None:
    """Nothing is kept of it."""
