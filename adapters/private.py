"""The port for the private conversation with one of the people of another conversation."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from runtime.core.address import Address


@runtime_checkable
class CanWriteAlone(Protocol):
    """The bot can begin to write to people in private."""

    async def private_with(self, to: Address, person_id: str, /) -> Address | None:
        """The conversation of the bot with one of the people of a conversation alone; None where there is none. Raises
        AdapterError.
        """
        ...
