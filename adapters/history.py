"""The port for what was said in a place before, on platforms that tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from adapters.adapter import Inbound
from runtime.core.address import Address


@runtime_checkable
class CanReadBack(Protocol):
    """The platform can be asked what was said in a conversation."""

    async def earlier(self, to: Address, before: str, /, *, at_most: int) -> Sequence[Inbound]:
        """What was said in a conversation before the message `before`, as it is now: what the place began with, and the
        latest, oldest first.

        Nobody is addressed by any of it, and there are no commands in it. What a bot said has no `person_id`. Raises
        AdapterError.
        """
        ...
