"""Commands about who gives them, which no session takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from adapters.adapter import Inbound
from runtime.core.address import Address
from runtime.core.texts import Texts

PersonalCommand = Callable[
    [
        Inbound,
        str | None,
        Texts,
        Callable[[Address, str], Awaitable[None]],
        Callable[[Address, str, str], object] | None,
    ],
    Awaitable[None],
]
"""Carries out a command for the program that serves there, and answers it: in the conversation, or to who gave it alone
where the platform can."""
