"""Schedules in a process that serves conversations.

The answers to /schedule: a schedule is made, the list, one is removed or paused, the time zone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from adapters.records import Records
from gateway.feature import EnteredPlatform, FeatureGround, ServingGround
from gateway.features.schedules.facts import SCHEDULE, OpenRuns, RunBegun, RunOver, RunState
from gateway.features.schedules.redis import KeptSchedule, RedisRuns, RedisSchedules, RunStatus, Wanted, run_of
from gateway.features.schedules.schedules import Failing, Runs, ScheduleCalls, Schedules
from gateway.inbound.entrance import CHOSEN_TABLE
from gateway.inbound.routing import Routes
from runtime.core.address import Address, session_of
from runtime.core.background import OnDemand
from runtime.core.errors import CommandRefused
from runtime.core.ids import ScheduleId, schedule_id
from runtime.core.plain_text import whole_number
from runtime.core.texts import Texts
from runtime.core.times import read_times, zone_named
from runtime.events.service import ScheduleFailing
from runtime.execution.calls.reminders import ZoneOf
from runtime.sessions.failures import SessionFailure, report
from runtime.sessions.features import NodePart, SessionPart, SessionParts
from runtime.sessions.succession import words_within
from runtime.storage.redis.inbox import RedisInbox
from runtime.storage.redis.records import RedisRecords
from runtime.stores.inbox import NOTICE, InboxEvent
from runtime.stores.sessions import SessionRecord

_TAKEN = ("message", "new")

_NAMING = frozenset({"remove", "pause", "resume"})
"""What is done to a schedule by its number."""

_TOO_OFTEN = re.compile(r"(every|each)\s+(\S+\s+)?seconds?\b", re.IGNORECASE)


class SessionSchedules(SessionPart):
    """A run is over when nothing goes on in its session any more but waiting for people. A session that owes an end
    counts as at work, so a restart takes it into memory. A changed time zone holds for the triggers of agents at once.
    """

    def __init__(self, parts: SessionParts, schedules: Schedules) -> None:
        super().__init__(parts)
        self._reminders = parts.reminders
        self._answers = ScheduleAnswers(schedules)
        self._runs = schedules.runs
        self._ending = OnDemand(self._end)
        self._known: set[str] = set()
        self._ending.start(parts.tasks)
        self._journal.written.subscribe(self._look)
        self._journal.rests.subscribe(self._look)
        self.commands = {SCHEDULE: self._schedule}
        if session_of(self._record.address) is None:  # a task schedules nothing: its conversation ends with it
            self.calls: Sequence[object] = (ScheduleCalls(self._record, schedules),)

    @property
    def _open(self) -> dict[str, RunState]:
        return self._journal.state.part(OpenRuns).runs

    def take(self, event: InboxEvent, /) -> None:
        known = event.kind in _TAKEN and run_of(event.id, self._record.address) is not None
        if known and event.id not in self._open:
            self._journal.note(RunBegun(event.id))

    async def close(self) -> None:
        for run, state in list(self._open.items()):
            await self._over(run, state, self._status(state))

    async def _schedule(self, event: InboxEvent) -> None:
        said, alone = await self._answers.answer(event, self._pages.texts)
        if alone:
            self._pages.answer(said, event)
        else:
            self._pages.tell(said, event.place)
        if event.text.strip().lower().startswith("zone "):
            self._reminders.replan()

    def _look(self, _: None) -> None:
        if self._open:
            self._ending.wake()

    async def _end(self) -> None:
        for run in [run for run in self._open if run not in self._known]:
            await self._runs.begun(run, self._record.address, self._record.id)
            self._known.add(run)
        state = self._journal.state
        if state.part(OpenRuns).owes(state) and not self._journal.at_work() and not state.ended:
            await self.close()
            self._journal.hurry()

    def _status(self, state: RunState) -> RunStatus:
        if state.error is not None or self._journal.state.broken is not None:
            return "failed"
        return "stopped" if self._journal.at_work() else "answered"

    async def _over(self, run: str, state: RunState, status: RunStatus) -> None:
        seq = state.failed or self._journal.state.seq
        why = "" if status != "failed" else "ProgramBroken" if state.error is None else state.error[0]
        await self._runs.ended(run, self._record.address, status, why=why, seq=seq)
        if run in self._open:
            self._journal.note(RunOver(run, status))


class NodeSchedules(NodePart):
    def __init__(self, schedules: Schedules) -> None:
        self._schedules = schedules
        self.gained = schedules.watch  # type: ignore[method-assign]
        self.lost = schedules.forget  # type: ignore[method-assign]

    def zone_of(self, conversation: Address, /) -> ZoneOf:
        """The time zone that somebody has set there, else that of the settings."""
        return partial(self._schedules.zone, conversation)

    def session(self, parts: SessionParts, /) -> SessionSchedules:
        return SessionSchedules(parts, self._schedules)

    async def answer(self, event: InboxEvent, texts: Texts, /) -> tuple[str, str] | None:
        if event.kind != SCHEDULE:
            return None
        said, alone = await ScheduleAnswers(self._schedules).answer(event, texts)
        return said, event.asker if alone else ""

    async def put_aside(self, event: InboxEvent, _record: SessionRecord, _cause: str, /) -> None:
        """A run whose event will never be taken has failed."""
        await self._schedules.runs.ended(event.id, event.address, "failed", why="DeadLetter")


class ScheduledMessages(Struct, frozen=True):
    """Admits messages of schedules before they are said: the person who made one must still be a member.

    `platforms` are those that are on, `chosen` the programs that people chose.
    """

    platforms: Mapping[str, EnteredPlatform]
    chosen: Records
    routes: Routes
    texts: Mapping[str, Texts]

    async def attend(self, message: InboxEvent) -> InboxEvent:
        """The message for the program that serves there now, or a NOTICE that says why the schedule is over."""
        if not await self._may(message):
            over = self.texts[message.address.platform]("schedules.over", name=message.person_name)
            return replace(message, kind=NOTICE, text=over)
        return replace(message, program=await self._serving(message.address, message.program))

    async def _may(self, message: InboxEvent) -> bool:
        """Whether somebody may make schedules still. Those of programs are nobody's, and of platforms that are off
        nobody is asked."""
        platform = self.platforms.get(message.address.platform)
        if platform is None or isinstance(message.author, ScheduleId):
            return True
        return await platform.access.is_member(message.person_id, message.address.conversation)

    async def _serving(self, conversation: Address, before: str) -> str:
        """The program with which a session begins there now: the one that people chose, else as before."""
        chosen = await self.chosen.get(conversation.key)
        return chosen if chosen is not None and chosen in self.routes.choosable else before


def open_node(ground: FeatureGround, serving: ServingGround) -> NodeSchedules:

    async def tell(failing: Failing) -> None:
        name, run = failing.schedule.removeprefix(schedule_id("")), failing.run
        shown = failing.address.key if name == failing.schedule else name
        ground.bus.publish(ScheduleFailing(failing.schedule, failing.address.key, run.why))
        about = (run.session, run.seq, failing.address, "", "", "", shown, "", run.why, run.id)
        await report(SessionFailure("schedule", *about), serving.parts)

    connection, clock = ground.connection, ground.clock
    chosen, runs = RedisRecords(connection, CHOSEN_TABLE), Runs(RedisRuns(connection), clock, tell)
    attend = ScheduledMessages(serving.platforms, chosen, ground.routes, serving.texts).attend
    limits, inbox = ground.settings.schedules, RedisInbox(connection)
    schedules = Schedules(RedisSchedules(connection), inbox, clock, limits, attend, runs)
    serving.tasks.start_soon(schedules.run)
    return NodeSchedules(schedules)


class ScheduleAnswers(Struct, frozen=True):
    """Carries out the command for a conversation, whether a session lives there or not."""

    _schedules: Schedules

    async def answer(self, asked: InboxEvent, texts: Texts) -> tuple[str, bool]:
        """Carry out the command; what people are told, and whether only who gave it is: nothing has changed. Done again
        after a crash, it makes no second schedule.
        """
        try:
            return await self._carried_out(asked, texts), asked.text.strip().lower() in ("", "list", "zone")
        except CommandRefused as why:
            return str(why), True

    async def _carried_out(self, asked: InboxEvent, texts: Texts) -> str:
        word, _, rest = asked.text.strip().partition(" ")
        if word.lower() in ("", "list") and not rest.strip():
            return await self._list(asked, texts)
        if word.lower() in _NAMING:
            number = whole_number(rest.strip().removeprefix("#"))
            if number is None:
                raise CommandRefused(texts("schedules.which", word=word.lower()))
            return await self._change(asked, word.lower(), number, texts)
        if word.lower() == "zone":
            return await self._zone(asked, rest.strip(), texts)
        return await self._add(asked, texts)

    async def _add(self, asked: InboxEvent, texts: Texts) -> str:
        zone, now = await self._schedules.zone(asked.address), self._schedules.clock.now()
        made = min(asked.sent_at, now)
        found = read_times(asked.text, made, zone)
        if found is None and _TOO_OFTEN.match(asked.text.strip()):
            raise CommandRefused(texts("schedules.too_often"))
        if found is None:
            raise CommandRefused(texts("schedules.usage", said=words_within(asked.text)))
        timing, when, text = found
        if not text:
            raise CommandRefused(texts("schedules.silent", when=when))
        first = timing.first(made, zone)
        if first <= made:
            raise CommandRefused(texts("schedules.past", when=when, now=_shown(now, zone), zone=zone.key))
        number = await self._schedules.add(asked, Wanted(when, timing, text), first)
        if number is None:
            raise CommandRefused(texts("schedules.full", limit=self._schedules.limits.per_conversation))
        return texts("schedules.added", number=number, when=when, next=_shown(first, zone), zone=zone.key)

    async def _list(self, asked: InboxEvent, texts: Texts) -> str:
        zone, found = await self._schedules.zone(asked.address), await self._schedules.all(asked.address)
        if not found:
            return texts("schedules.none", zone=zone.key)
        lines = [_line(kept, zone, texts, paused=await self._schedules.is_paused(kept)) for kept in found]
        return "\n".join([texts("schedules.begins", zone=zone.key), *lines])

    async def _change(self, asked: InboxEvent, word: str, number: int, texts: Texts) -> str:
        """Remove, pause or resume a schedule."""
        kept = await self._schedules.pause(asked.address, number, paused=word == "pause")
        if kept is None or (word == "remove" and not await self._schedules.remove(asked.address, number)):
            raise CommandRefused(texts("schedules.unknown", number=number))
        if word != "resume":
            return texts("schedules.removed" if word == "remove" else "schedules.paused", number=number)
        zone = await self._schedules.zone(asked.address)
        next_at = datetime.fromtimestamp(kept.due_s, UTC)
        return texts("schedules.resumed", number=number, next=_shown(next_at, zone), zone=zone.key)

    async def _zone(self, asked: InboxEvent, name: str, texts: Texts) -> str:
        if not name:
            zone = await self._schedules.zone(asked.address)
            return texts("schedules.zone", zone=zone.key, now=_shown(self._schedules.clock.now(), zone))
        wanted = zone_named(name)
        if wanted is None:
            raise CommandRefused(texts("schedules.no_zone", zone=words_within(name)))
        await self._schedules.set_zone(asked.address, wanted)
        return texts("schedules.zone_set", zone=wanted.key, now=_shown(self._schedules.clock.now(), wanted))


def _line(kept: KeptSchedule, zone: ZoneInfo, texts: Texts, *, paused: bool) -> str:
    due, who, wanted = _shown(datetime.fromtimestamp(kept.due_s, UTC), zone), kept.event.person_name, kept.wanted
    if wanted is None:
        return texts("schedules.line_locked", number=kept.number)
    return texts(
        "schedules.line_of" if who else "schedules.line",
        number=kept.number,
        when=wanted.when,
        text=words_within(wanted.text),
        next=texts("schedules.not_until_resumed") if paused else texts("schedules.next", at=due),
        name=who,
    )


def _shown(at: datetime, zone: ZoneInfo) -> str:
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"
