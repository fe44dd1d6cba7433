"""Schedules in a process that serves conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from adapters.records import Records
from gateway.feature import EnteredPlatform, FeatureGround, ServingGround
from gateway.features.schedules.answers import ScheduleAnswers, only_asks
from gateway.features.schedules.facts import SCHEDULE
from gateway.features.schedules.redis import RedisRuns, RedisSchedules
from gateway.features.schedules.runs import Failing, Runs
from gateway.features.schedules.schedules import Schedules
from gateway.features.schedules.session import SessionSchedules
from gateway.inbound.origins import CHOSEN_TABLE
from gateway.inbound.routing import Routes
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.ids import ScheduleId, schedule_id
from runtime.core.texts import Texts
from runtime.events.service import ScheduleFailing
from runtime.execution.calls.reminders import ZoneOf
from runtime.sessions.failures import Failure, report
from runtime.sessions.features import NodePart, SessionParts
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.records import RedisRecords
from runtime.stores.inbox import NOTICE, InboxEvent
from runtime.stores.sessions import SessionRecord


class NodeSchedules(NodePart):
    """The schedules of this node's conversations, and the runs of all."""

    def __init__(self, schedules: Schedules, runs: Runs, clock: Clock) -> None:
        self._schedules = schedules
        self._runs = runs
        self._clock = clock
        self.gained = schedules.watch  # type: ignore[method-assign]
        self.lost = schedules.forget  # type: ignore[method-assign]

    def zone_of(self, conversation: Address, /) -> ZoneOf:
        """The time zone that somebody has set there, else that of the settings."""
        return partial(self._schedules.zone, conversation)

    def session(self, parts: SessionParts, /) -> SessionSchedules:
        """Schedules in one session."""
        return SessionSchedules(parts, self._schedules, self._runs, self._clock)

    async def answer(self, event: InboxEvent, texts: Texts, /) -> tuple[str, str] | None:
        """The answer to /schedule where no session lives."""
        if event.kind != SCHEDULE:
            return None
        said = await ScheduleAnswers(self._schedules, self._clock).answer(event, texts)
        return said, event.asker if only_asks(event) else ""

    async def put_aside(self, event: InboxEvent, _record: SessionRecord, _cause: str, /) -> None:
        """A run whose event will never be taken has failed."""
        await self._runs.ended(event.id, event.address, "failed", why="DeadLetter")


class ScheduledMessages:
    """Admits messages of schedules, before they are said: whoever made one must still be a member.

    `platforms` are those that are on, `chosen` the programs that people chose.
    """

    def __init__(
        self, platforms: Mapping[str, EnteredPlatform], chosen: Records, routes: Routes, texts: Mapping[str, Texts]
    ) -> None:
        self._platforms = platforms
        self._chosen = chosen
        self._routes = routes
        self._texts = texts

    async def attend(self, message: InboxEvent) -> InboxEvent:
        """The message for the program that serves there now, or a NOTICE that says why the schedule is over."""
        if not await self._may(message):
            over = self._texts[message.address.platform]("schedules.over", name=message.person_name)
            return replace(message, kind=NOTICE, text=over)
        return replace(message, program=await self._serving(message.address, message.program))

    async def _may(self, message: InboxEvent) -> bool:
        """Whether somebody may make schedules still. Those of programs are nobody's, and of platforms that are off
        nobody is asked."""
        platform = self._platforms.get(message.address.platform)
        if platform is None or isinstance(message.author, ScheduleId):
            return True
        return await platform.access.is_member(message.person_id, message.address.conversation)

    async def _serving(self, conversation: Address, before: str) -> str:
        """The program with which a session begins there now: the one that people chose, else as before."""
        chosen = await self._chosen.get(conversation.key)
        return chosen if chosen is not None and chosen in self._routes.choosable else before


def open_node(ground: FeatureGround, serving: ServingGround) -> NodeSchedules:
    """The schedules of this node's conversations, which ring in the node's tasks."""

    async def tell(failing: Failing) -> None:
        name, run = failing.schedule.removeprefix(schedule_id("")), failing.run
        shown = failing.address.key if name == failing.schedule else name
        ground.bus.publish(ScheduleFailing(failing.schedule, failing.address.key, run.why))
        about = (run.session, run.seq, failing.address, "", "", "", shown, "", run.why, run.id)
        await report(Failure("schedule", *about), serving.parts)

    connection, clock = ground.connection, ground.clock
    chosen, runs = RedisRecords(connection, CHOSEN_TABLE), Runs(RedisRuns(connection), clock, tell)
    attend = ScheduledMessages(serving.platforms, chosen, ground.routes, serving.texts).attend
    limits, inbox = ground.settings.schedules, RedisInbox(connection)
    schedules = Schedules(RedisSchedules(connection), inbox, clock, limits, attend, runs)
    serving.tasks.start_soon(schedules.run)
    return NodeSchedules(schedules, runs, clock)
