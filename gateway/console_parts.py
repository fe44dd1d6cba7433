"""The console and the views of the gateway, made from what the gateway stands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from gateway.clients.admission import Admission
from gateway.console.door import ConsoleDoor
from gateway.console.logins import LOGINS_TABLE, Logins
from gateway.models.usage import Ledger
from gateway.overview.platforms import SeenPlatforms
from gateway.overview.routes import overview_routes
from gateway.overview.sources import Sources
from gateway.parts import decisions_of, keeping_of, people_in, records_in, shards_in, usage_in
from gateway.settings.tree import Settings
from gateway.web.app import WebOptions
from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.core.ids import SessionId
from runtime.stores.archive import Archive

if TYPE_CHECKING:
    from runtime.storage.redis.client.connection import RedisConnection


class Ground(Protocol):
    """What the gateway stands on, as far as it is needed here."""

    @property
    def settings(self) -> Settings: ...

    @property
    def connection(self) -> RedisConnection: ...

    @property
    def archive(self) -> Archive | None: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def bus(self) -> Bus: ...


def with_console(options: WebOptions, ground: Ground) -> WebOptions:
    """The options of the web server, with the console where the settings have one."""
    own = ground.settings.console
    if not own.on:
        return options
    logins = Logins(own.passwords(), records_in(ground.connection, LOGINS_TABLE), ground.clock)
    door = ConsoleDoor(logins, ground.clock, ground.bus.publish, own.acts)
    return replace(options, console=door.routes(), around=[Middleware(door.around)])


def views_of(ground: Ground, admission: Admission) -> Sequence[BaseRoute]:
    """The routes of the bus that show the whole gateway."""
    connection, clock = ground.connection, ground.clock
    keeping, shards = keeping_of(ground.settings, connection, ground.archive), shards_in(connection)

    async def delete(session: SessionId) -> bool:
        return bool(await keeping.erasure.sessions([session]))

    return overview_routes(
        Sources(
            admission=admission,
            catalog=keeping.catalog,
            tapes=keeping.tapes,
            letters=keeping.letters,
            reports=keeping.reports,
            decisions=decisions_of(keeping),
            people=people_in(connection, clock),
            ledger=Ledger(usage_in(connection), clock),
            living=shards.nodes.living,
            fronts=shards.fronts.living,
            holders=shards.holders,
            waiting=shards.waiting,
            at_work=shards.awake,
            platforms=SeenPlatforms(ground.bus).data,
            delete=delete,
            clock=clock,
            tell=ground.bus.publish,
        )
    )
