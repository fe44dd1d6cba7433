"""`/bus/v1` or `/tape/v1` alone: served by a process that holds no shard, no bot and no page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount

from gateway.assembly.announcement import listed_under, url_here
from gateway.assembly.doors import bus_of, tapes_of
from gateway.assembly.foundation import GatewayFoundation
from gateway.assembly.parts import open_archive, open_storage, own_folder
from gateway.clients.bus import PREFIX as BUS
from gateway.database import GatewayDatabase
from gateway.observability.logs import LogOptions, LogWriter
from gateway.observability.watching import SecretMasking
from gateway.programs.loading import compile_routes, routes_of
from gateway.service import GatewayReady
from gateway.settings.tree import Settings, secrets
from gateway.web.guard import RequestGuard, allowed_hosts, health_routes
from gateway.web.server import ServerRules
from gateway.web.server import serve as serve_web
from runtime.bus import Bus
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import ConfigError
from runtime.core.texts import load_texts

Announce = Callable[[GatewayReady], None]


async def serve_bus(settings: Settings, programs: Sequence[Path], host: str, port: int, *, on_ready: Announce) -> None:
    """Serve the bus until cancelled. Raises ConfigError, also where there is no client, and ProgramError."""
    clock, bus, masking = _begun(settings, "bus")
    async with (
        open_storage(settings, on_event=bus.publish) as connection,
        open_archive(settings, on_event=bus.publish) as archive,
        AsyncExitStack() as stack,
        anyio.create_task_group() as tasks,
    ):
        routes, folder = routes_of(settings, programs), stack.enter_context(own_folder(settings, "bus"))
        database, texts = (
            GatewayDatabase(settings, connection, archive),
            load_texts(settings.language, settings.texts_dir),
        )
        foundation = GatewayFoundation(
            *(settings, routes, await compile_routes(settings, routes), connection, database, clock, bus, texts),
            engine=None,
            data_dir=folder,
            debugger=None,
            masking=masking,
        )
        clients = bus_of(foundation, tasks)
        assert clients is not None  # there are clients
        await _serve((settings, bus), "bus", (Mount(BUS, clients.app()), clients.doors), tasks, (host, port), on_ready)


async def serve_tapes(settings: Settings, host: str, port: int, *, on_ready: Announce) -> None:
    """Serve tapes until cancelled. Raises ConfigError, also where there is no client."""
    clock, bus, _ = _begun(settings, "tape service")
    async with (
        open_storage(settings, on_event=bus.publish) as connection,
        open_archive(settings, on_event=bus.publish) as archive,
        anyio.create_task_group() as tasks,
    ):
        (first,) = tapes_of(GatewayDatabase(settings, connection, archive), clock, tasks, lambda _: ())
        await _serve((settings, bus), "tape", (first, ()), tasks, (host, port), on_ready)


def _begun(settings: Settings, what: str) -> tuple[Clock, Bus, SecretMasking]:
    """The clock, the bus with the logs, and what they leave out. Raises ConfigError where there is no client."""
    if not settings.clients:
        raise ConfigError(f"There is no client for the {what} to serve. Add one under [clients.<name>].")
    clock = SystemClock()
    bus, masking = Bus(clock), SecretMasking(secrets(settings))
    LogWriter(LogOptions(settings.logs.level, settings.logs.format), masking).attach(bus)
    return clock, bus, masking


async def _serve(
    around: tuple[Settings, Bus],
    role: str,
    doors: tuple[Mount, Sequence[BaseRoute]],
    tasks: TaskGroup,
    place: tuple[str, int],
    on_ready: Announce,
) -> None:
    """Serve these routes; the start prints the first of them."""
    (settings, bus), (host, port), (first, others) = around, place, doors
    app = Starlette(
        routes=[first, *others, *health_routes(lambda: (), None)],
        middleware=[Middleware(RequestGuard, hosts=allowed_hosts(host, settings.web.public_hosts))],
    )
    rules = ServerRules(settings.web.trusted_proxies, bus, role=role)
    listens_at: int = await tasks.start(serve_web, app, host, port, rules)
    url = f"{url_here(host, listens_at)}{first.path}"
    lines = [*listed_under(role, [url]), *listed_under("clients", list(settings.clients))]
    on_ready(GatewayReady(lines, _nothing_to_drain))


async def _nothing_to_drain(_within_s: float | None) -> None:
    """Clients come again, and read on from where they were."""
