"""Conversations that were opened beside others: what serves, and was chosen, there serves here."""

from __future__ import annotations

import json

from adapters.records import Records
from runtime.core.address import Address

ORIGINS_TABLE = "places:origins"
"""The table of the conversations beside which others were opened, by these."""

CHOSEN_TABLE = "programs:chosen"
"""The table of the programs that people chose, by conversation."""


class Origins:
    """The conversation beside which each one was opened. Raises StorageUnavailable, and nothing else."""

    def __init__(self, records: Records, chosen: Records) -> None:
        """`chosen` are the programs that people chose."""
        self._records = records
        self._chosen = chosen

    async def note(self, opened: Address, beside: Address) -> None:
        """Remember it, and choose there what was chosen here."""
        chosen = await self._chosen.get(beside.key)
        if chosen is not None:
            await self._chosen.put(opened.key, chosen)
        place = await self.of(beside) or beside
        await self._records.put(opened.key, json.dumps([place.platform, place.conversation, place.thread]))

    async def of(self, address: Address) -> Address | None:
        """The first of those from which it came, one beside the other; None for one that people opened."""
        kept = await self._records.get(address.key)
        return None if kept is None else Address(*json.loads(kept))
