"""Leases renewed in the test's own loop, so that the test's clock says when."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from gateway.cluster.renewal import LeaseRenewal, Stores
from runtime.core.clock import Clock
from runtime.stores.sessions import LeaseHolder, LeaseStore, NodeStore


async def in_this_loop(work: Callable[[], Awaitable[None]]) -> None:
    """Run work where it is asked for."""
    await work()


def renewing(leases: LeaseStore, nodes: NodeStore, holder: LeaseHolder, clock: Clock) -> LeaseRenewal:
    """What renews over these stores."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Stores]:
        yield leases, nodes

    return LeaseRenewal(opened, holder, clock, runner=in_this_loop)
