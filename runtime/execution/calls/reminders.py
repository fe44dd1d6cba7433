"""The host call by which an agent has itself told something later, and what tells it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import anyio
from anyio.abc import TaskGroup

from runtime.core.background import OnDemand
from runtime.core.clock import EXACT_S, LOOK_S, Clock, until
from runtime.core.errors import PlaybookError, QueueFull
from runtime.core.ids import AgentId, MessageId
from runtime.core.message import Message, MessageType
from runtime.core.times import LONGEST, SetTimes
from runtime.execution.frames.frame import Frame
from runtime.execution.frames.signatures import call
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.registry import hears
from runtime.tape.facts.session import AgentCreated, ReminderRemoved, ReminderSet
from runtime.tape.journal import Journal
from runtime.tape.state.tasks import ReminderState

MAX_REMINDERS = 200
"""Reminders of one session that are still to come."""

MAX_REMINDER_CHARS = 4000

Times = Mapping[str, Mapping[str, SetTimes]]
"""When playbooks are executed at times, by agent class and by the trigger's code."""

Deliver = Callable[[AgentId, Message], bool]
"""Delivers a message to an agent's queue; False when the agent no longer exists. Raises QueueFull."""


ZoneOf = Callable[[], Awaitable[ZoneInfo]]
"""The time zone of the conversation."""


class SessionReminders:
    """The reminders of one session, told after `start`."""

    def __init__(
        self, journal: Journal, deliver: Deliver, clock: Clock, times: Times | None = None, zone: ZoneOf | None = None
    ) -> None:
        """Without `zone` the times of triggers are in UTC."""
        self._journal = journal
        self._deliver = deliver
        self._clock = clock
        self._times = times or {}
        self._zone_of = zone
        self._zone: ZoneInfo | None = None
        self._telling = OnDemand(self._tell_due)
        self._sleeping: anyio.CancelScope | None = None

    @call("Remind", example='await Remind(600, "ask how it went")')
    def remind(self, frame: Frame, when: Any, text: str) -> str:
        """Brings you that text as a message after that many seconds, or at a time such as "2026-05-01T09:00:00+02:00";
        you need not wait for it.

        Returns the time in UTC.
        """
        due = due_at(when, self._clock.now())
        if len(text) > MAX_REMINDER_CHARS:
            raise PlaybookError(f"a reminder may have {MAX_REMINDER_CHARS} characters, this one has {len(text)}")
        if len(self._journal.state.reminders) >= MAX_REMINDERS:
            raise PlaybookError(f"{MAX_REMINDERS} reminders are still to come; no more can be set")
        self._journal.note(ReminderSet(frame.state.agent, due.timestamp(), text))
        self._look()
        return due.isoformat()

    @hears(AgentCreated)
    def noted(self, _fact: FactContent) -> None:
        """A new agent may have playbooks that are executed at times."""
        if self._times:
            self._look()

    def start(self, tasks: TaskGroup) -> None:
        self._telling.start(tasks)
        self._look()

    def replan(self) -> None:
        """The conversation has another time zone: triggers come at the times of that one."""
        self._zone = None
        for id_, reminder in list(self._journal.state.reminders.items()):
            klass = self._journal.state.agents[reminder.agent].klass
            times = self._times.get(klass, {}).get(reminder.trigger or "")
            if times is not None and times.cron:
                self._journal.note(ReminderRemoved(id_))
        self._look()

    def _look(self) -> None:
        self._telling.wake()
        if self._sleeping is not None:
            self._sleeping.cancel()

    async def _plan(self) -> None:
        """Write down the next time of every trigger that has none."""
        if self._times and self._zone is None:
            self._zone = ZoneInfo("UTC") if self._zone_of is None else await self._zone_of()
        state, now, zone = self._journal.state, self._clock.now(), self._zone
        if state.ended or zone is None:
            return
        planned = {(reminder.agent, reminder.trigger) for reminder in state.reminders.values()}
        for agent in list(state.agents.values()):
            for code, times in self._times.get(agent.klass, {}).items():
                if (agent.id, code) not in planned:
                    due = times.first(now, zone).timestamp()
                    self._journal.note(ReminderSet(agent.id, due, "", trigger=code))
                    self._journal.hurry()

    async def _tell_due(self) -> None:
        """Tell each when it is due, until none is to come."""
        await self._plan()
        while reminders := self._journal.state.reminders:
            id_, first = min(reminders.items(), key=lambda item: item[1].due)
            with anyio.CancelScope() as self._sleeping:
                await until(self._clock, first.due)
            self._sleeping = None
            if first.due <= self._clock.now().timestamp() + EXACT_S and id_ in reminders:
                await self._tell(id_, first)
            await self._plan()

    async def _tell(self, id_: str, reminder: ReminderState) -> None:
        agent = reminder.agent
        klass = self._journal.state.agents[reminder.agent].klass
        message = Message(
            id=MessageId(id_),
            sender_id=agent,
            sender_class=klass,
            content=reminder.trigger or reminder.text,
            created_at=self._clock.now(),
            recipient_id=agent,
            type=MessageType.TRIGGER if reminder.trigger else MessageType.REMINDER,
        )
        try:
            if self._is_told(reminder) or not self._deliver(agent, message):
                self._journal.note(ReminderRemoved(id_))
        except QueueFull:
            await self._clock.sleep_until(self._clock.monotonic() + LOOK_S)
            return
        self._journal.hurry()

    def _is_told(self, reminder: ReminderState) -> bool:
        """Whether a trigger's time came before, and the agent has not handled it yet."""
        queue = self._journal.state.agents[reminder.agent].queue
        told = (message.content for message in queue if message.type == MessageType.TRIGGER)
        return reminder.trigger is not None and reminder.trigger in told


def due_at(when: Any, now: datetime) -> datetime:
    """The time that a program means by `when`: seconds from now, or a time of ISO 8601, which is UTC where it names no
    zone.

    Raises PlaybookError.
    """
    try:
        seconds = float(when)
    except (TypeError, ValueError):
        return _time(str(when), now)
    if isinstance(when, bool) or not math.isfinite(seconds) or not 0 <= seconds <= LONGEST.total_seconds():
        raise PlaybookError(f"a reminder comes in 0 to {LONGEST.total_seconds():.0f} seconds, not in {when}")
    return now + timedelta(seconds=seconds)


def _time(text: str, now: datetime) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise PlaybookError(
            f'{text!r} is not a time; give seconds from now, or a time such as "2026-05-01T09:00:00+02:00"'
        ) from error
    due = (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(UTC)
    if due > now + LONGEST:
        raise PlaybookError(f"a reminder comes within {LONGEST.days} days, not on {due:%Y-%m-%d}")
    return due
