"""Whether a model sees pictures: as the settings say, else as its provider's data say, else as it turns out."""

from __future__ import annotations

from typing import Any

from runtime.llm.client import KnowsSight


class Sight:
    """What a node knows about the sight of its model."""

    def __init__(self, client: Any = None, said: bool | None = None) -> None:
        """`said` is what the settings say."""
        self._client = client
        self._said = said
        self._refused = False

    async def sees(self) -> bool:
        """Whether the model is to be given pictures."""
        if self._said is not None:
            return self._said
        known = await self._client.sees() if isinstance(self._client, KnowsSight) else None
        return not self._refused if known is None else known

    def refused(self) -> None:
        """It has refused a request with pictures: from now on it gets none, unless its data or the settings say so."""
        self._refused = True
