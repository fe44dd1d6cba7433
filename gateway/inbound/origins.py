"""The origins of conversations that were opened beside others: a program chosen or serving there serves here too."""

from __future__ import annotations

import json

from adapters.records import Records, readable
from runtime.core.address import Address, address_from

ORIGINS_TABLE = "places:origins"
"""The table from a conversation to the one beside which it was opened."""

CHOSEN_TABLE = "programs:chosen"
"""The table of programs that people chose, by conversation."""


class Origins:
    """The conversation beside which each one was opened. Raises StorageUnavailable, and nothing else."""

    def __init__(self, records: Records, chosen: Records) -> None:
        """`chosen` are the programs that people chose."""
        self._records = records
        self.chosen = chosen

    async def note(self, opened: Address, beside: Address) -> None:
        """Remember the origin of a conversation, and take over the choice made there."""
        chosen = await self.chosen.get(beside.key)
        if chosen is not None:
            await self.chosen.put(opened.key, chosen)
        place = await self.of(beside) or beside
        await self._records.put(opened.key, json.dumps([place.platform, place.conversation, place.thread]))

    async def of(self, address: Address) -> Address | None:
        """The first conversation in this chain of origins; None for one that people opened."""
        kept = await self._records.get(address.key)
        return readable(address.key, kept, lambda text: address_from(json.loads(text)))
