"""The bot connections of this node: each bot is connected by one node at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from gateway.cluster.roster import SURE, Roster
from runtime.core.background import beside
from runtime.stores.sessions import LeaseStore

_RELEASE_LIMIT_S = 3.0


@dataclass(slots=True)
class _Held:
    """A bot's lease. `until` is when it may be another node's, by our clock."""

    name: str
    until: float
    token: int = 0


class BotLeases:
    """Holds them. One that cannot be renewed is given up before another node can have it."""

    def __init__(self, leases: LeaseStore, roster: Roster) -> None:
        self._leases = leases
        self._roster = roster
        self._holder = roster.holder
        self._clock = roster.clock

    @asynccontextmanager
    async def hold(self, platform: str) -> AsyncIterator[None]:
        """Wait until this node may hold the bot's connection; the body is cancelled when it no longer may.

        After a loss the block ends without an error, so a caller that wants it again enters it again.
        """
        held = await self._acquired(f"bot:{platform}")
        try:
            async with beside() as tasks:
                tasks.start_soon(self._keep, held, tasks.cancel_scope)
                tasks.start_soon(self._give_up_in_time, held, tasks.cancel_scope)
                yield
        finally:
            with anyio.move_on_after(_RELEASE_LIMIT_S, shield=True):
                await self._leases.release(held.name, self._holder, held.token)
            await self._roster.tell_now()

    async def _acquired(self, name: str) -> _Held:
        while True:
            seen, held = self._roster.stirs, _Held(name, self._surely_until())
            token = await self._leases.acquire(name, self._holder)
            if token is not None:
                held.token = token
                self._roster.announce()
                return held
            await self._roster.stirred(seen, self._holder.ttl_s / 3)

    async def _keep(self, held: _Held, body: anyio.CancelScope) -> None:
        asked_at = self._clock.monotonic()
        while True:
            await self._clock.sleep_until(asked_at + self._holder.ttl_s / 3)
            asked_at, until = self._clock.monotonic(), self._surely_until()
            if not await self._leases.renew(held.name, self._holder, held.token):
                break
            held.until = until
            self._roster.announce()
        body.cancel()

    async def _give_up_in_time(self, held: _Held, body: anyio.CancelScope) -> None:
        while self._clock.monotonic() < held.until:
            await self._clock.sleep_until(held.until)
        body.cancel()

    def _surely_until(self) -> float:
        return self._clock.monotonic() + SURE * self._holder.ttl_s
