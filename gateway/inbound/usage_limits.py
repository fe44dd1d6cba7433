"""Limits on messages and on the model's cost, by person and conversation, and those of single people."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct, field

from adapters.adapter import Inbound
from adapters.recent import RecentValues
from adapters.records import Records, readable, what_can_be_read
from gateway.access.people import Role
from gateway.models.answers import answers_on
from gateway.settings.operation import LimitSettings
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.texts import Texts
from runtime.events.frames import LLMAnswered
from runtime.stores.orders import ModelSpending

MINUTE_S, DAY_S = 60, 86_400
TOLD_EVERY_S = 3600
"""The shortest time between two notices to one person that a limit of the day is reached."""

_TAKEN_KNOWN_S = 3600
"""How long an accepted event is remembered: a repetition is neither counted nor refused."""

_TASK_KNOWN_S = 7 * DAY_S
"""How long what a task has spent is remembered, from its first answer of a model."""

_MAX_SPEAKERS = 10_000
"""The number of conversations whose last speaker is remembered."""

Scope = Literal["person", "conversation"]
_Measure = Literal["messages", "usd", "tokens"]

_IsOwner = Callable[[str], Awaitable[bool]]

PERSON_LIMITS_TABLE = "limits:people"

KINDS = ("messages_per_minute", "messages_per_day", "usd_per_day", "tokens_per_day")
"""What can be limited, as the settings name it behind `person_`. 0 is no limit."""


class UsageCounters(Protocol):
    """Durable sums that expire. Raises StorageUnavailable, and nothing else."""

    async def add(self, name: str, amount: float, /, *, once: str, ttl_s: int) -> float:
        """Add `amount` and return the sum. A second call with the same `once` changes nothing.

        The sum, and what is known of `once`, vanish `ttl_s` after the first call.
        """

    async def read(self, names: Sequence[str], /) -> Sequence[float]:
        """The sums of these names, in order; 0 for an unknown one."""


class _Limit(Struct, frozen=True):
    scope: Scope
    measure: _Measure
    window_s: int
    at_most: float

    def counter(self, whose: str, now_s: float) -> str:
        return f"{self.scope}:{whose}:{self.measure}:{self.window_s}:{int(now_s // self.window_s)}"


class _Over(Struct, frozen=True):
    """The sentence that says why a message is not taken. `tell`: it was not said recently."""

    sentence: str
    tell: bool


class UsageLimits(Struct, eq=False):
    """`people` are the limits of single people, which count in place of the settings'."""

    settings: LimitSettings
    counters: UsageCounters
    is_owner: _IsOwner
    texts: Texts
    clock: Clock
    people: PersonLimits | None = None
    _speakers: RecentValues[str, str] = field(default_factory=lambda: RecentValues(_MAX_SPEAKERS))

    async def _of(self, person_id: str | None) -> Sequence[_Limit]:
        own = await self.people.of(person_id) if self.people is not None and person_id is not None else {}
        return _limits(self.settings, own)

    async def take(self, event: Inbound, role: Role) -> _Over | None:
        """Count a message that an agent will answer. Returns the reason if a limit is reached, counting nothing."""
        self._speakers.keep(event.address.key, event.person_id)
        limits = () if role is Role.OWNER else await self._of(event.person_id)
        if not limits:
            return None
        now_s, whose = self.clock.now().timestamp(), _whose(event.address, event.person_id)
        once = _once(event)
        reached = await self._reached(limits, whose, now_s)
        if reached is None:
            reached = await self._count(limits, whose, once, now_s)
        elif any(await self.counters.read([f"taken:{once}"])):
            return None
        if reached is not None:
            return await self._over(event, reached, whose[reached.scope], now_s)
        await self.counters.add(f"taken:{once}", 1, once=once, ttl_s=_TAKEN_KNOWN_S)
        return None

    async def _count(
        self, limits: Sequence[_Limit], whose: Mapping[Scope, str], once: str, now_s: float
    ) -> _Limit | None:
        """Count one message; returns the limit that use on other nodes has reached meanwhile."""
        for limit in limits:
            if limit.measure == "messages":
                name = limit.counter(whose[limit.scope], now_s)
                if await self.counters.add(name, 1, once=once, ttl_s=2 * limit.window_s) > limit.at_most:
                    return limit
        return None

    async def allowance(self, address: Address, person_id: str | None) -> str | None:
        """The reason why a model may not be called; None if it may. Asked before each call."""
        spending = _of_spending(await self._of(person_id))
        if not spending or (person_id is not None and await self.is_owner(person_id)):
            return None
        now_s = self.clock.now().timestamp()
        reached = await self._reached(spending, _whose(address, person_id), now_s)
        return None if reached is None else self._sentence(reached, now_s)

    async def follow(self, bus: Bus) -> None:
        """Count the cost of every model answer, until cancelled."""
        async with answers_on(bus) as answers:
            async for answer in answers:
                if isinstance(answer.what, LLMAnswered):
                    await self.spend(answer.what)

    async def spend(self, answer: LLMAnswered) -> None:
        """Count one answer, for its conversation and for the person it says, else who spoke there last."""
        person = answer.participant_id or self._speakers.get(answer.conversation)
        whose = {"conversation": answer.conversation or None, "person": person}
        amounts = {"tokens": answer.tokens_in + answer.tokens_out, "usd": answer.cost_usd or 0.0}
        now_s = self.clock.now().timestamp()
        for measure, amount in amounts.items():
            if answer.task is not None and amount:
                name = _of_task(answer.task, measure)
                await self.counters.add(name, amount, once=uuid.uuid4().hex, ttl_s=_TASK_KNOWN_S)
        for limit in _of_spending(await self._of(person)):
            amount, payer = amounts[limit.measure], whose[limit.scope]
            if amount and payer is not None:
                name = limit.counter(payer, now_s)
                await self.counters.add(name, amount, once=uuid.uuid4().hex, ttl_s=2 * limit.window_s)

    async def spent(self, task: str) -> ModelSpending:
        """What a task and all that came of it have spent in the latest days."""
        tokens, dollars = await self.counters.read([_of_task(task, "tokens"), _of_task(task, "usd")])
        return ModelSpending(tokens, dollars)

    async def _reached(self, limits: Sequence[_Limit], whose: Mapping[Scope, str], now_s: float) -> _Limit | None:
        """The first limit that is reached; unknown people have none."""
        asked = [limit for limit in limits if limit.scope in whose]
        used = await self.counters.read([limit.counter(whose[limit.scope], now_s) for limit in asked])
        return next((limit for limit, sum_ in zip(asked, used, strict=True) if sum_ >= limit.at_most), None)

    async def _over(self, event: Inbound, limit: _Limit, whose: str, now_s: float) -> _Over:
        told_s = min(limit.window_s, TOLD_EVERY_S)
        name = f"told:{event.address.key}:{limit.counter(whose, now_s)}:{int(now_s // told_s)}"
        tell = await self.counters.add(name, 1, once=_once(event), ttl_s=2 * told_s) == 1
        return _Over(self._sentence(limit, now_s), tell)

    def _sentence(self, limit: _Limit, now_s: float) -> str:
        what = "messages" if limit.measure == "messages" else "spending"
        window = "minute" if limit.window_s == MINUTE_S else "day"
        seconds = math.ceil(limit.window_s - now_s % limit.window_s)
        hours = math.ceil(seconds / 3600)
        key = f"limits.{limit.scope}_{what}_{window}"
        return self.texts(key, limit=f"{limit.at_most:g}", seconds=seconds, hours=hours)


def _of_task(task: str, measure: str) -> str:
    return f"task:{task}:{measure}"


def _once(event: Inbound) -> str:
    """An event's identity: pages make their own ids, and may use one again in another conversation."""
    return f"{event.address.key}/{event.event_id}"


def _whose(address: Address, person_id: str | None) -> dict[Scope, str]:
    whose: dict[Scope, str] = {"conversation": address.key}
    return whose if person_id is None else {**whose, "person": person_id}


def _of_spending(limits: Sequence[_Limit]) -> Sequence[_Limit]:
    return [limit for limit in limits if limit.measure != "messages"]


def _limits(own: LimitSettings, person: Mapping[str, float]) -> tuple[_Limit, ...]:
    """The limits of the settings, with those of a person in the place of what they have for everybody."""
    found = (
        _Limit("person", "messages", MINUTE_S, person.get("messages_per_minute", own.person_messages_per_minute)),
        _Limit("person", "messages", DAY_S, person.get("messages_per_day", own.person_messages_per_day)),
        _Limit("person", "usd", DAY_S, person.get("usd_per_day", own.person_usd_per_day)),
        _Limit("person", "tokens", DAY_S, person.get("tokens_per_day", own.person_tokens_per_day)),
        _Limit("conversation", "messages", MINUTE_S, own.conversation_messages_per_minute),
        _Limit("conversation", "messages", DAY_S, own.conversation_messages_per_day),
        _Limit("conversation", "usd", DAY_S, own.conversation_usd_per_day),
        _Limit("conversation", "tokens", DAY_S, own.conversation_tokens_per_day),
    )
    return tuple(limit for limit in found if limit.at_most > 0)


class PersonLimits:
    """Read for every decision, so that a change holds at once on every node. Raises StorageUnavailable."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def of(self, person: str) -> Mapping[str, float]:
        """The limits of a person, by their kinds; what is not in it is as the settings have it."""
        return readable(person, await self._records.get(person), _read) or {}

    async def all(self) -> Mapping[str, Mapping[str, float]]:
        return what_can_be_read(await self._records.all(), _read)

    async def set(self, person: str, limits: Mapping[str, float]) -> None:
        """Give a person exactly these limits of their own; with none, the settings decide again."""
        if limits:
            await self._records.put(person, json.dumps(dict(limits)))
        else:
            await self._records.remove(person)


def _read(text: str) -> Mapping[str, float]:
    data = json.loads(text)
    return {kind: float(value) for kind, value in data.items() if kind in KINDS}
