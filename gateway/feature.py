"""The declaration of a feature: what a capability, which is one folder of `gateway/features`, adds to Parley."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from datetime import datetime

    from anyio.abc import TaskGroup
    from starlette.routing import BaseRoute, Mount

    from adapters.adapter import Inbound
    from adapters.web.board import RoomBoard
    from gateway.access.admission import PlatformAccess
    from gateway.access.people import OwnerNotices
    from gateway.clients.feed import EventFeed
    from gateway.clients.requests import ClientAdmission
    from gateway.clients.tasks.service import TaskService
    from gateway.clients.views import FeatureDoor
    from gateway.database import GatewayDatabase
    from gateway.inbound.earlier import HeardPlaces
    from gateway.inbound.entrance import CarryOut
    from gateway.inbound.routing import Routes
    from gateway.inbound.usage_limits import UsageLimits
    from gateway.jobs.runner import Job
    from gateway.observability.watching import SecretMasking
    from gateway.settings.tree import Settings
    from gateway.web.logins.door import LogIn
    from runtime.bus import Bus, EventStream
    from runtime.core.clock import Clock
    from runtime.core.files import FileAccess, FileStore
    from runtime.core.texts import Texts
    from runtime.language.program import Program
    from runtime.llm.client import LLMClient
    from runtime.llm.models import ModelRegistry
    from runtime.sessions.features import NodePart
    from runtime.storage.redis.client.connection import RedisConnection
    from runtime.stores.catalog import SessionCatalog
    from runtime.stores.inbox import InboxEvent


class FeatureGround(Struct, frozen=True):
    """What every process has that touches the database."""

    settings: Settings
    routes: Routes
    programs: Mapping[str, Program]
    connection: RedisConnection
    database: GatewayDatabase
    clock: Clock
    bus: Bus
    texts: Texts


class EnteredPlatform(Protocol):
    """A platform that is switched on."""

    @property
    def access(self) -> PlatformAccess: ...


class ServingGround(Struct, frozen=True):
    """What a process has besides to which people come. Background work starts in `tasks`."""

    platforms: Mapping[str, EnteredPlatform]
    texts: Mapping[str, Texts]
    tasks: TaskGroup
    owners: OwnerNotices
    masking: SecretMasking
    answers: EventStream | None
    """The answers of models since the start."""
    models: ModelRegistry | None
    """None on a front, which serves no conversation."""
    limits: UsageLimits
    places: HeardPlaces
    files: FileAccess
    parts: list[NodePart] = field(default_factory=list)
    """The parts of the features before this one, where conversations are served."""


class TriedGround(Struct, frozen=True):
    """What a session has that is held in memory alone, to try a program. Without `files` it keeps none."""

    settings: Settings
    program: Program
    clock: Clock
    llm: LLMClient
    bus: Bus
    texts: Texts
    files: FileStore | None = None
    tasks: TaskGroup | None = None
    """Servers of tools are asked in these; None where none is."""


class EntrancePart(Struct, frozen=True):
    """What a feature does where people come in: it carries out commands for which no session lives, by their names, and
    takes choices that it offered, by the beginnings of their ids. `rates`: thumbs rate what agents said. `hears` is
    told of each event that a platform brings, before anything becomes of it, `kept` of each that is in an inbox now."""

    commands: Mapping[str, CarryOut] = field(default_factory=dict)
    choices: Mapping[str, CarryOut] = field(default_factory=dict)
    rates: bool = False
    hears: Sequence[Callable[[Inbound], Awaitable[None]]] = ()
    kept: Sequence[Callable[[InboxEvent], None]] = ()

    def __or__(self, other: EntrancePart) -> EntrancePart:
        done = {**self.commands, **other.commands}, {**self.choices, **other.choices}, self.rates or other.rates
        return EntrancePart(*done, [*self.hears, *other.hears], [*self.kept, *other.kept])


class ClientGround(Struct, frozen=True):
    """What the process has that serves clients, by which they order tasks."""

    settings: Settings
    connection: RedisConnection
    node: str
    clock: Clock
    admission: ClientAdmission
    service: TaskService
    feed: EventFeed
    programs: Mapping[str, Program]
    catalog: SessionCatalog


class TapeGround(Struct, frozen=True):
    """What the process has that serves tapes to clients; `views` are routes to be mounted beside those of tapes."""

    database: GatewayDatabase
    admission: ClientAdmission
    clock: Clock
    views: Sequence[BaseRoute] = ()


class WebGround(Struct, frozen=True):
    """What the process has that serves the web chat: who its people are, and what they say."""

    log_in: LogIn
    board: RoomBoard


class LatePart(Struct, frozen=True):
    """What `place`, `<feature>.<module>:<name>`, names. Its module is imported when it is asked for, or called."""

    place: str

    def found(self) -> Any:
        module, _, name = self.place.partition(":")
        return getattr(import_module(f"gateway.features.{module}"), name)

    def __call__(self, *given: object) -> Any:
        return self.found()(*given)


def _nothing(*_: object) -> tuple[()]:
    return ()


def _no_part(*_: object) -> None:
    """Nothing is switched on."""


async def _unknown(*_: object) -> Mapping[str, Any]:
    return {}


class Feature(Struct, frozen=True):
    """What a feature adds. Its module imports the feature's facts, and names everything else as `LatePart`.

    `calls` are the classes whose methods are built-in calls. `check` raises ConfigError for settings that will not do
    with the platforms, of which some are on; `lines` are for people, at the start and from `parley check`.
    """

    name: str
    calls: Sequence[LatePart] = ()
    check: Callable[[Settings, Routes, Mapping[str, bool]], object] = _nothing
    judge: Callable[[Settings, Routes, Mapping[str, Program]], object] = _nothing
    """Raises ConfigError for programs that will not do."""
    lines: Callable[[Settings, Routes, datetime], Sequence[str]] = _nothing
    entrance: Callable[[FeatureGround, ServingGround], EntrancePart] = lambda *_: EntrancePart()
    node: Callable[[FeatureGround, ServingGround], NodePart | None] = _no_part
    tried: Callable[[TriedGround], NodePart | None] = _no_part
    """What it does in a session that is held in memory alone, to try a program."""
    jobs: Callable[[FeatureGround], Sequence[Job]] = _nothing
    views: Callable[[FeatureGround, FeatureDoor], Sequence[BaseRoute]] = _nothing
    doors: Callable[[ClientGround, TaskGroup], Sequence[BaseRoute]] = _nothing
    """Routes beside the bus, for clients."""
    tapes: Callable[[TapeGround, TaskGroup], Sequence[Mount]] = _nothing
    """Applications that serve tapes, also in a process of their own."""
    pages: Callable[[FeatureGround, WebGround], Sequence[BaseRoute]] = _nothing
    """Routes of the web chat, for people."""
    practice: Callable[[FeatureGround, str], Awaitable[Mapping[str, Any]]] = _unknown
    """What the console shows of how a program does, by its name."""
    models: Callable[[FeatureGround, Collection[str]], Awaitable[Mapping[str, Mapping[str, Any]]]] = _unknown
    """What it shows of these models, and of others that only the feature knows, by their names."""
    status: Callable[[FeatureGround], Awaitable[Mapping[str, Mapping[str, Any]]]] = _unknown
    """What it shows of the whole gateway at a glance, by section."""

    asked: Callable[[Settings, Mapping[str, Program]], Awaitable[str | None]] | None = None
    """What `parley check` learns of it: lines for people, or None where it has nothing to do. Raises a ParleyError."""
    unasked: str = "none in the settings"
    """Why there is nothing to ask it."""

    @property
    def is_asked(self) -> bool:
        return self.asked is not None or self.check is not _nothing or self.lines is not _nothing
