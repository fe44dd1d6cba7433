"""The objects of the platforms' libraries, as adapters show them to extensions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

HandsOver = Callable[[Any], Awaitable[None]]
"""Shows the object of a platform's library to extensions, before anything is heard. Never raises."""


async def to_nobody(_: object) -> None:
    """Show it to nobody."""
