"""Parts that each session of a node is given."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.assembly.foundation import GatewayFoundation
from gateway.assembly.parts import Engine
from gateway.extensions.loading import load_extensions
from gateway.extensions.node import extending
from gateway.feature import ServingGround
from gateway.outbound.pages import NodeOutbound
from gateway.programs.loading import AsItIsNow
from runtime.meetings.meeting import MeetingHabits
from runtime.sessions.features import NodePart
from runtime.sessions.idle import RestingSessions, TimerAlarm
from runtime.sessions.node_context import NodeContext, ProgramHabits
from runtime.sessions.versions import NoVersions
from runtime.storage.redis.client.connection import RedisConnection
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.leases import RedisTimers
from runtime.storage.redis.sessions.store import RedisSessionStore
from runtime.stores.archive import SessionArchive
from runtime.stores.sessions import Commit


def node_context_of(
    foundation: GatewayFoundation,
    engine: Engine,
    inbox: RedisInbox,
    outbound: NodeOutbound,
    serving: ServingGround,
) -> NodeContext:
    """The context of this node's sessions; their background work starts in `tasks`."""
    settings, clock, tasks, parts = foundation.settings, foundation.clock, serving.tasks, serving.parts
    hearing = [one for one in parts if type(one).committing is not NodePart.committing]
    store = FollowedSessionStore(foundation.connection, foundation.database.archive, hearing)
    alarm = TimerAlarm(RedisTimers(foundation.connection), store, inbox, clock)
    tasks.start_soon(alarm.run)
    extensions = load_extensions(settings.extensions.modules)
    own = {name: program for part in parts for name, program in part.programs.items()}
    return NodeContext(
        AsItIsNow(lambda: {**foundation.programs, **own}),
        store,
        outbound,
        engine.sandbox,
        engine.llm,
        foundation.bus,
        past=foundation.earlier,
        texts=foundation.texts,
        texts_on=outbound.texts,
        habits=ProgramHabits(
            AsItIsNow(lambda: {**dict.fromkeys(foundation.programs, settings.busy), **foundation.routes.busy}),
            AsItIsNow(lambda: foundation.routes.models),
            settings.limits.transcript_chars,
            settings.asks_alone,
            MeetingHabits(settings.meetings.threads, settings.meetings.show),
            settings.is_overseen,
        ),
        versions=foundation.versions or NoVersions(),
        resting=RestingSessions(settings.nodes.resting, settings.nodes.idle_s, alarm),
        places=serving.places,
        debugger=None if foundation.debugger is None else foundation.debugger.watch,
        features=[*parts, extending(extensions, foundation.bus, tasks)],
    )


class FollowedSessionStore(RedisSessionStore):
    """The store of sessions, of whose commits parts hear before and after."""

    def __init__(self, connection: RedisConnection, archive: SessionArchive | None, parts: Sequence[NodePart]) -> None:
        super().__init__(connection, archive)
        self._parts = parts

    async def commit(self, commit: Commit, /) -> None:
        for part in self._parts:
            await part.committing(commit)
        await super().commit(commit)
        for part in self._parts:
            await part.committed(commit)
