"""The answers to /schedule: a schedule is made, the list, one is removed or paused, the time zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from gateway.features.schedules.schedules import Schedules
from gateway.features.schedules.store import KeptSchedule, Wanted
from runtime.core.clock import Clock
from runtime.core.plain_text import whole_number
from runtime.core.texts import Texts
from runtime.core.times import read_times, zone_named
from runtime.sessions.succession import words_within
from runtime.stores.inbox import InboxEvent

_PAUSES = frozenset({"pause", "resume"})
_TOO_OFTEN = re.compile(r"(every|each)\s+(\S+\s+)?seconds?\b", re.IGNORECASE)


class ScheduleAnswers:
    """Carries out the command for a conversation, whether a session lives there or not."""

    def __init__(self, schedules: Schedules, clock: Clock) -> None:
        self._schedules = schedules
        self._clock = clock

    async def answer(self, asked: InboxEvent, texts: Texts) -> str:
        """Carry out the command; what people are told. Done again after a crash, it makes no second schedule."""
        word, _, rest = asked.text.strip().partition(" ")
        if word.lower() in ("", "list") and not rest.strip():
            return await self._list(asked, texts)
        if word.lower() == "remove":
            return await self._remove(asked, rest.strip(), texts)
        if word.lower() in _PAUSES:
            return await self._pause(asked, rest.strip(), texts, paused=word.lower() == "pause")
        if word.lower() == "zone":
            return await self._zone(asked, rest.strip(), texts)
        return await self._add(asked, texts)

    async def _add(self, asked: InboxEvent, texts: Texts) -> str:
        zone, now = await self._schedules.zone(asked.address), self._clock.now()
        made = min(asked.sent_at, now)
        found = read_times(asked.text, made, zone)
        if found is None and _TOO_OFTEN.match(asked.text.strip()):
            return texts("schedules.too_often")
        if found is None:
            return texts("schedules.usage", said=words_within(asked.text))
        timing, when, text = found
        if not text:
            return texts("schedules.silent", when=when)
        first = timing.first(made, zone)
        if first <= made:
            return texts("schedules.past", when=when, now=_shown(now, zone), zone=zone.key)
        number = await self._schedules.add(asked, Wanted(when, timing, text), first)
        if number is None:
            return texts("schedules.full", limit=self._schedules.limits.per_conversation)
        return texts("schedules.added", number=number, when=when, next=_shown(first, zone), zone=zone.key)

    async def _list(self, asked: InboxEvent, texts: Texts) -> str:
        zone, found = await self._schedules.zone(asked.address), await self._schedules.all(asked.address)
        if not found:
            return texts("schedules.none", zone=zone.key)
        lines = [
            _line(kept, wanted, zone, texts, paused=await self._schedules.is_paused(kept)) for kept, wanted in found
        ]
        return "\n".join([texts("schedules.begins", zone=zone.key), *lines])

    async def _remove(self, asked: InboxEvent, which: str, texts: Texts) -> str:
        number = _number(which)
        if number is None:
            return texts("schedules.which", word="remove")
        if not await self._schedules.remove(asked.address, number):
            return texts("schedules.unknown", number=number)
        return texts("schedules.removed", number=number)

    async def _pause(self, asked: InboxEvent, which: str, texts: Texts, *, paused: bool) -> str:
        number = _number(which)
        if number is None:
            return texts("schedules.which", word="pause" if paused else "resume")
        kept = await self._schedules.pause(asked.address, number, paused=paused)
        if kept is None:
            return texts("schedules.unknown", number=number)
        if paused:
            return texts("schedules.paused", number=number)
        zone = await self._schedules.zone(asked.address)
        next_at = datetime.fromtimestamp(kept.due_s, UTC)
        return texts("schedules.resumed", number=number, next=_shown(next_at, zone), zone=zone.key)

    async def _zone(self, asked: InboxEvent, name: str, texts: Texts) -> str:
        if not name:
            zone = await self._schedules.zone(asked.address)
            return texts("schedules.zone", zone=zone.key, now=_shown(self._clock.now(), zone))
        wanted = zone_named(name)
        if wanted is None:
            return texts("schedules.no_zone", zone=words_within(name))
        await self._schedules.set_zone(asked.address, wanted)
        return texts("schedules.zone_set", zone=wanted.key, now=_shown(self._clock.now(), wanted))


def changes_zone(asked: InboxEvent) -> bool:
    """Whether the command sets the time zone of its conversation."""
    return asked.text.strip().lower().startswith("zone ")


def only_asks(asked: InboxEvent) -> bool:
    """Whether the command changes nothing."""
    return asked.text.strip().lower() in ("", "list", "zone")


def _number(which: str) -> int | None:
    """The number of a schedule as people write it."""
    return whole_number(which.removeprefix("#"))


def _line(kept: KeptSchedule, wanted: Wanted | None, zone: ZoneInfo, texts: Texts, *, paused: bool) -> str:
    due, who = _shown(datetime.fromtimestamp(kept.due_s, UTC), zone), kept.event.person_name
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
