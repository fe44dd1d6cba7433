"""The workspaces that have let the app in: their tokens, durably.

The store holds tokens as they are: who reads it has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from adapters.records import Records, what_can_be_read
from runtime.core.errors import RateLimited, StorageUnavailable

STORE_PAUSE_S: Final = 1.0


class Installations:
    """Bot tokens by workspace. Raises RateLimited while the store cannot be asked, and nothing else."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def token_of(self, team: str) -> str | None:
        """The workspace's token; None if the app is not installed there (any more)."""
        try:
            kept = await self._records.get(team)
        except StorageUnavailable as error:
            raise RateLimited(f"Slack: {error}", retry_after_s=STORE_PAUSE_S) from error
        return None if kept is None else what_can_be_read({team: kept}, _token).get(team)

    async def keep(self, team: str, name: str, token: str) -> None:
        """The app was installed, perhaps again."""
        try:
            await self._records.put(team, json.dumps({"team": name, "token": token}))
        except StorageUnavailable as error:
            raise RateLimited(f"Slack: {error}", retry_after_s=STORE_PAUSE_S) from error

    async def remove(self, team: str) -> None:
        """The app was removed."""
        try:
            await self._records.remove(team)
        except StorageUnavailable as error:
            raise RateLimited(f"Slack: {error}", retry_after_s=STORE_PAUSE_S) from error

    async def names(self) -> list[str]:
        """The workspaces' names, in order."""
        return sorted(what_can_be_read(await self._kept(), _team).values())

    async def teams(self) -> list[str]:
        """The workspaces' ids, in order."""
        return sorted(await self._kept())

    async def _kept(self) -> Mapping[str, str]:
        try:
            return await self._records.all()
        except StorageUnavailable as error:
            raise RateLimited(f"Slack: {error}", retry_after_s=STORE_PAUSE_S) from error


def _token(kept: str) -> str:
    return str(json.loads(kept)["token"])


def _team(kept: str) -> str:
    return str(json.loads(kept)["team"])
