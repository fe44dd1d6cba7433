"""The bot connections of this node: each bot is connected by one node at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio

from gateway.cluster.renewal import Outcome, Renewal
from gateway.cluster.roster import Roster
from runtime.core.background import beside
from runtime.stores.sessions import LeaseStore

_RELEASE_LIMIT_S = 3.0


class BotLeases:
    """Holds the leases. One that cannot be renewed is given up before another node can take it."""

    def __init__(self, leases: LeaseStore, roster: Roster, renewal: Renewal) -> None:
        self._leases = leases
        self._renewal = renewal
        self._roster = roster
        self._holder = roster.holder
        self._clock = roster.clock

    @asynccontextmanager
    async def hold(self, platform: str) -> AsyncIterator[None]:
        """Wait until this node may hold the bot's connection; the body is cancelled when it no longer may.

        After a loss the block ends without an error, so a caller that wants it again enters it again.
        """
        name = f"bot:{platform}"
        token, until = await self._acquired(name)
        try:
            async with beside() as tasks:
                self._renewal.keep(name, token, until, partial(_end_if_lost, tasks.cancel_scope))
                tasks.start_soon(self._give_up_in_time, name, tasks.cancel_scope)
                tasks.start_soon(self._give_up_when_drained, tasks.cancel_scope)
                yield
        finally:
            with anyio.move_on_after(_RELEASE_LIMIT_S, shield=True):
                await self._renewal.drop(name)
                await self._leases.release(name, self._holder, token)
            await self._roster.tell_now()

    async def _acquired(self, name: str) -> tuple[int, float]:
        """The token of a lease, and the time until which it is certainly ours."""
        while True:
            seen, until = self._roster.stirs, self._renewal.surely_until()
            token = None if self._roster.drained else await self._leases.acquire(name, self._holder)
            if token is not None:
                self._roster.announce()
                return token, until
            await self._roster.stirred(seen, self._holder.ttl_s / 3)

    async def _give_up_when_drained(self, body: anyio.CancelScope) -> None:
        seen = self._roster.stirs
        while not self._roster.drained:
            await self._roster.stirred(seen, self._holder.ttl_s / 3)
            seen = self._roster.stirs
        body.cancel()

    async def _give_up_in_time(self, name: str, body: anyio.CancelScope) -> None:
        while self._clock.monotonic() < (until := self._renewal.sure_until(name)):
            await self._clock.sleep_until(until)
        body.cancel()


def _end_if_lost(body: anyio.CancelScope, outcome: Outcome) -> None:
    if outcome == "lost":
        body.cancel()
