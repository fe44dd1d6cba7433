"""The standards by which clients order tasks besides the bus. Their libraries are loaded when they are on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyio.abc import TaskGroup
from starlette.routing import BaseRoute

from adapters.records import Records
from gateway.clients.admission import Admission
from gateway.clients.feed import Feed
from gateway.clients.tasks.service import TaskService
from gateway.settings.connections.clients import A2aSettings
from gateway.settings.tree import Settings
from runtime.core.clock import Clock
from runtime.core.errors import ConfigError
from runtime.language.program import Program
from runtime.stores.catalog import SessionCatalog
from runtime.stores.sessions import LeaseHolder, LeaseStore

PUSHES_TABLE = "a2a-pushes"


@dataclass(frozen=True, slots=True)
class Shared:
    """The parts that the standards use besides the settings. `holder` holds what one node does for all."""

    admission: Admission
    service: TaskService
    feed: Feed
    programs: Mapping[str, Program]
    catalog: SessionCatalog
    pushes: Records
    leases: LeaseStore
    holder: LeaseHolder
    clock: Clock


def doors_of(settings: Settings, shared: Shared, tasks: TaskGroup) -> Sequence[BaseRoute]:
    """The routes of the standards that are on. What they need runs in `tasks`."""
    routes: list[BaseRoute] = []
    if settings.mcp.on:
        from gateway.clients.mcp.server import McpDoor

        door = McpDoor(shared.admission, shared.service)
        tasks.start_soon(door.run)
        routes.append(door.route)
    if settings.a2a.on:
        routes += _a2a(settings.a2a, shared, tasks)
    return routes


def _a2a(settings: A2aSettings, shared: Shared, tasks: TaskGroup) -> Sequence[BaseRoute]:
    try:
        from gateway.clients.a2a.door import A2aDoor
        from gateway.clients.a2a.listing import TaskListing
        from gateway.clients.a2a.posting import HttpPost, http_client
        from gateway.clients.a2a.push import Pushes
    except ImportError as error:
        text = f'a2a.on needs the extra "a2a" ({error.name} is missing): pip install "parley-gateway[a2a]".'
        raise ConfigError(text) from error
    post = HttpPost(http_client(), private=settings.push_private)
    pushes = Pushes(shared.service, shared.feed, shared.pushes, settings.push_hosts, post, shared.clock)
    if pushes.on:
        tasks.start_soon(pushes.run, shared.leases, shared.holder)
    programs = list(shared.programs.values())
    listing = TaskListing(shared.service, shared.catalog)
    return A2aDoor(shared.admission, shared.service, programs, listing, pushes).routes
