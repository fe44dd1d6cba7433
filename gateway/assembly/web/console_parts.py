"""The console and the views of the gateway, made from what the gateway stands on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from starlette.routing import BaseRoute, Route

from gateway.access.people import AccessRequest
from gateway.assembly.stores import (
    Keeping,
    drains_in,
    keeping_of,
    news_by,
    people_in,
    person_limits_in,
    pins_in,
    records_in,
    shards_in,
    snapshots_in,
    tell_later,
)
from gateway.capabilities import FEATURES
from gateway.clients.admission import Admission
from gateway.clients.closed_rooms import ClosedRooms
from gateway.console.door import ConsoleDoor
from gateway.console.logins import LOGINS_TABLE, Logins
from gateway.feature import FeatureDoor, FeatureGround
from gateway.jobs.task_register import TaskRegister
from gateway.overview.meetings import MeetingRoutes
from gateway.overview.moments import Moments
from gateway.overview.platforms import SeenPlatforms
from gateway.overview.questions.open import QuestionsView
from gateway.overview.questions.register import QUESTIONS_TABLE, QuestionRegister
from gateway.overview.routes import overview_routes, session_routes
from gateway.overview.saving.talks import TalkMaker
from gateway.overview.scratch.rooms import ScratchRooms
from gateway.overview.services.routes import ServiceGround, service_routes
from gateway.overview.services.shared_tallies import SERVICES_TABLE, SharedServices
from gateway.overview.services.tallies import Seen
from gateway.overview.session_views import SessionViews
from gateway.overview.shared_platforms import PLATFORMS_TABLE, SharedPlatforms
from gateway.overview.sources import Sources
from gateway.programs.pins import PIN_NEWS
from gateway.programs.reloading import PROGRAM_NEWS
from gateway.programs.versions import VERSIONS_TABLE
from gateway.tapes.journals import Journals
from runtime.core.clock import Clock
from runtime.core.ids import SessionId
from runtime.llm.models import Models
from runtime.storage.redis.model_calls import RedisModelCalls
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.archive import Archive
from runtime.stores.session_file import end_line, file_line, files_of, header_line, session_lines
from runtime.stores.sessions import Commit

if TYPE_CHECKING:
    from runtime.storage.redis.client.connection import RedisConnection


class Executing(Protocol):
    """The parts that execute programs."""

    @property
    def llm(self) -> Models: ...

    @property
    def seen(self) -> Seen | None: ...


class ViewGround(FeatureGround, Protocol):
    """The part of the gateway's foundation that is needed here."""

    @property
    def engine(self) -> Executing | None: ...

    @property
    def platforms(self) -> SharedPlatforms | None: ...

    @property
    def services(self) -> SharedServices | None: ...


class NotingSessionStore(RedisSessionStore):
    """The store of sessions, which notes what they ask people."""

    def __init__(self, connection: RedisConnection, archive: Archive | None, register: QuestionRegister) -> None:
        super().__init__(connection, archive)
        self._register = register

    async def commit(self, commit: Commit, /) -> None:
        await self._register.before(commit)
        await super().commit(commit)
        await self._register.after(commit)


def session_store(ground: ViewGround) -> RedisSessionStore:
    """The store of this node's sessions."""
    if not ground.settings.console.on and not ground.settings.clients:
        return RedisSessionStore(ground.connection, ground.archive)
    return NotingSessionStore(ground.connection, ground.archive, _register(ground))


def _moments(ground: ViewGround, keeping: Keeping) -> Moments:
    return Moments(keeping.tapes, snapshots_in(ground.connection))


def _register(ground: ViewGround) -> QuestionRegister:
    return QuestionRegister(records_in(ground.connection, QUESTIONS_TABLE), ground.clock)


def console_of(ground: ViewGround) -> ConsoleDoor | None:
    """The door of the console, where the settings have one."""
    own = ground.settings.console
    if not own.on:
        return None
    logins = Logins(own.passwords(), records_in(ground.connection, LOGINS_TABLE), ground.clock)
    return ConsoleDoor(logins, ground.clock, ground.bus.publish, own.acts, own.private)


def bus_views(ground: ViewGround, admission: Admission) -> Sequence[BaseRoute]:
    """The routes of the bus that show the whole gateway."""
    connection, clock = ground.connection, ground.clock
    keeping, shards = keeping_of(ground.settings, connection, ground.archive), shards_in(connection)

    moments = _moments(ground, keeping)
    platforms = ground.platforms or SharedPlatforms(
        SeenPlatforms(ground.bus), records_in(connection, PLATFORMS_TABLE), "", clock
    )

    async def delete(session: SessionId) -> bool:
        return bool(await keeping.erasure.sessions([session]))

    async def of_features(program: str) -> Mapping[str, Any]:
        return {key: told for one in FEATURES for key, told in (await one.practice(ground, program)).items()}

    async def of_models(names: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        return _together([await one.models(ground, names) for one in FEATURES])

    async def status() -> Mapping[str, Mapping[str, Any]]:
        return _together([await one.status(ground) for one in FEATURES])

    async def tell_approved(request: AccessRequest) -> None:
        await tell_later(connection, request, ground.texts("access.approved"))

    sources = Sources(
        admission=admission,
        rooms=ClosedRooms(keeping.catalog, keeping.tapes),
        catalog=keeping.catalog,
        tapes=keeping.tapes,
        letters=keeping.letters,
        people=people_in(connection, clock),
        person_limits=person_limits_in(connection),
        moments=moments,
        questions=QuestionsView(_register(ground), keeping.catalog, keeping.tapes, moments, clock),
        talks=TalkMaker(partial(_file_of, keeping, clock)),
        scratch=ScratchRooms(
            keeping.catalog, keeping.tapes, moments, keeping.inbox, RedisSessionStore(connection).beginning, clock
        ),
        living=shards.nodes.living,
        drains=drains_in(connection),
        tell_nodes=shards.nodes.tell,
        fronts=shards.fronts.living,
        holders=shards.holders,
        waiting=shards.waiting,
        at_work=shards.awake,
        spent=RedisModelCalls(connection).spent,
        platforms=platforms.data,
        delete=delete,
        forget=keeping.erasure.person,
        export=partial(_file_of, keeping, clock),
        journals=Journals(keeping.catalog, keeping.inbox, keeping.inbox.known, clock),
        tasks=TaskRegister(keeping.catalog, keeping.tapes, keeping.inbox, clock),
        inbox=keeping.inbox,
        tell_approved=tell_approved,
        clock=clock,
    )
    door, engine = FeatureDoor(sources.reader, sources.writer), ground.engine
    seen = (None if engine is None else engine.seen) or Seen(ground.bus)
    services = ServiceGround(
        ground.bus,
        None if engine is None else engine.llm,
        ground.services or SharedServices(seen, records_in(connection, SERVICES_TABLE), "", clock),
        records_in(connection, VERSIONS_TABLE),
        of_features,
        of_models,
        news_by(connection, "console", PROGRAM_NEWS),
        pins_in(connection, clock),
        news_by(connection, "console", PIN_NEWS),
    )
    return [
        *overview_routes(sources, ground.programs, status),
        *(route for feature in FEATURES for route in feature.views(ground, door)),
        *service_routes(sources, ground.programs, services),
        Route("/meetings", MeetingRoutes(sources, moments).some, methods=["GET"]),
    ]


def _together(told: Iterable[Mapping[str, Mapping[str, Any]]]) -> Mapping[str, Mapping[str, Any]]:
    """What several features tell, by name."""
    found: dict[str, dict[str, Any]] = {}
    for named in told:
        for name, own in named.items():
            found[name] = found.get(name, {}) | dict(own)
    return found


async def _file_of(keeping: Keeping, clock: Clock, session: SessionId) -> AsyncIterator[str]:
    """The lines of a session's file; one without its end is not taken by an import."""
    whole = await keeping.catalog.whole(session)
    if whole is None:
        return
    yield header_line(clock.now())
    for line in session_lines(whole):
        yield line
    count = 0
    for id_ in files_of(whole.facts):
        content = await keeping.files.content(id_)
        if content is not None:
            yield file_line(id_, content)
            count += 1
    yield end_line(len(whole.facts), count)


def tape_views(ground: ViewGround, admission: Admission) -> Sequence[BaseRoute]:
    """The routes of the tape service that show what went on in a session."""
    keeping = keeping_of(ground.settings, ground.connection, ground.archive)
    moments = _moments(ground, keeping)
    calls = RedisModelCalls(ground.connection)
    return session_routes(SessionViews(admission, keeping.catalog, keeping.tapes, moments, ground.programs, calls))
