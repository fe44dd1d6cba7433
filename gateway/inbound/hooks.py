"""Callbacks of routers: tell people, report kept messages, and reload programs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from adapters.adapter import Inbound
from runtime.core.address import Address
from runtime.core.message import Choice, Mark
from runtime.core.texts import Texts
from runtime.stores.inbox import InboxEvent

Kept = Callable[[InboxEvent], None]
"""Hears of each event that is in an inbox now."""

Hears = Callable[[Inbound], Awaitable[None]]
"""Hears of each event that a platform brings, before anything becomes of it."""

Reload = Callable[[Texts, bool], Awaitable[str]]
"""Reads programs and settings again. What came of it, in words; errors and keys only where owners alone read them."""


class SayOutside(Protocol):
    """Tells a conversation something outside any session, perhaps with choices below."""

    async def __call__(self, to: Address, text: str, choices: Sequence[Choice] = (), /) -> None: ...


TellAlone = Callable[[Address, str, str], object]
"""Tells one person of a conversation something in private, where the platform can."""


class AnswerPerson(Protocol):
    """Answers one person of a conversation; where others would read it, `otherwise` is said in its place."""

    def __call__(self, to: Address, person_id: str, text: str, otherwise: str | None = None, /) -> object: ...


PutMark = Callable[[Address, str, Mark | None], object]
"""Puts a reaction on a person's message, where the platform can."""


def unheard(_event: InboxEvent) -> None:
    """Nobody hears of it."""


async def unheeded(_event: Inbound) -> None:
    """Nothing is kept of it."""


async def nothing_to_reload(texts: Texts, _private: bool) -> str:
    """Nothing can be read again."""
    return texts("reload.nothing")
