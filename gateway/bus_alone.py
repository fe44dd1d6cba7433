"""`/bus/v1` alone: served by a process that holds no shard, no bot and no page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

from gateway.announcement import host_for_people
from gateway.clients.bus import PREFIX
from gateway.foundation import Foundation, bus_of
from gateway.observability.logs import LogOptions, Logs
from gateway.observability.masking import Masking
from gateway.parts import open_archive, open_storage
from gateway.programs.loading import compile_routes, routes_of
from gateway.service import Ready
from gateway.settings.tree import Settings, secrets
from gateway.web.guard import Guard, allowed_hosts
from gateway.web.health import health_routes
from gateway.web.server import serve as serve_web
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError
from runtime.core.texts import load_texts
from runtime.language.lowering.rules import RulesLowerer


async def serve_bus(
    settings: Settings, programs: Sequence[Path], host: str, port: int, *, on_ready: Callable[[Ready], None]
) -> None:
    """Serve the bus until cancelled. Raises ConfigError, also where there is no client, and ProgramError."""
    if not settings.clients:
        raise ConfigError("There is no client whom the bus would serve. Write one under [clients.<name>].")
    clock = SystemClock()
    bus = Bus(clock)
    masking = Masking(secrets(settings))
    Logs(LogOptions(settings.logs.level, settings.logs.format), masking).attach(bus)
    async with AsyncExitStack() as stack:
        routes = routes_of(settings, programs)
        foundation = Foundation(
            settings,
            routes,
            schedules=(),
            programs=await compile_routes(settings, routes, RulesLowerer()),
            engine=None,
            connection=await stack.enter_async_context(open_storage(settings, on_event=bus.publish)),
            archive=await stack.enter_async_context(open_archive(settings, on_event=bus.publish)),
            clock=clock,
            bus=bus,
            data_dir=settings.data_dir,
            texts=load_texts(settings.language, settings.texts_dir),
            debugger=None,
            masking=masking,
        )
        async with anyio.create_task_group() as tasks:
            clients = bus_of(foundation, tasks)
            assert clients is not None  # there are clients
            app = Starlette(
                routes=[Mount(PREFIX, clients.app()), *health_routes(lambda: (), None)],
                middleware=[Middleware(Guard, hosts=allowed_hosts(host, settings.web.public_hosts))],
            )
            listens_at: int = await tasks.start(serve_web, app, host, port, settings.web.trusted_proxies)
            url = f"http://{host_for_people(host)}:{listens_at}{PREFIX}"
            on_ready(Ready("bus", url, [f"{'clients':<10} {', '.join(settings.clients)}"], _nothing_to_drain))


async def _nothing_to_drain(_within_s: float | None) -> None:
    """Clients come again, and read on from their cursors."""
