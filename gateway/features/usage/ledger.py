"""Costs of models: counted by day, person, program, agent, model and purpose; told to people and on the console.

In Redis it is a hash for each day, with a field for each sum.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from typing import Any, Final, Literal, Protocol, get_args

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.access.people import Role
from gateway.clients.requests import answer, number
from gateway.clients.views import FeatureDoor
from gateway.feature import EntrancePart, FeatureGround, ServingGround
from gateway.inbound.entrance import CommandAnswer, GivenCommand
from gateway.models.answers import ModelAmounts, amounts_of, in_words, shown
from runtime.bus import EventStream
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import StorageUnavailable
from runtime.core.json_text import compact_json, plain_data
from runtime.core.markup import as_written
from runtime.core.texts import Texts
from runtime.events.frames import LLMAnswered
from runtime.sessions.features import InSessions, NodePart, SessionPart, SessionParts
from runtime.storage.redis.client.connection import RedisConnection, load_script

DAYS = 30
MAX_LINES = 10
"""The number of people, programs, agents or models that are named to owners, the dearest first."""

By = Literal["day", "person", "program", "agent", "model", "purpose"]
GROUPS: tuple[By, ...] = ("person", "program", "agent", "model", "purpose")

MAX_FIELDS = 100_000
"""The most sums of a day. Beyond, new people are counted together, as nobody."""

_ADD = load_script("add", "gateway.features.usage")
_DAY_S = 86_400

KEPT_DAYS: Final = 92
Allowance = Callable[[Address, str | None], Awaitable[str | None]]
"""Why no model may be called, for a conversation and the person who caused it; None where one may."""


class Used(Struct, frozen=True):
    """The origin of use: a person's id, "" where nobody is known, names of the program, the agent and the model, and
    the purpose, as in `CompletionRequest`; "" where that was not kept yet.
    """

    day: date
    person: str
    program: str
    agent: str
    model: str
    purpose: str = ""


def total(rows: Iterable[tuple[Used, ModelAmounts]]) -> ModelAmounts:
    whole = ModelAmounts()
    for _, amounts in rows:
        whole = whole.plus(amounts)
    return whole


class UsageStore(Protocol):
    """Raises StorageUnavailable, and nothing else."""

    async def add(self, used: Used, amounts: ModelAmounts, /) -> None:
        """Add to the sums of a day. They vanish KEPT_DAYS later."""

    async def rows(self, days: Sequence[date], /) -> Sequence[tuple[Used, ModelAmounts]]:
        """All sums of these days, in no order."""


class RedisUsage(Struct, frozen=True):
    """Implements `UsageStore`. Fields name people, so that deleting a person finds them like every record."""

    _connection: RedisConnection

    async def add(self, used: Used, amounts: ModelAmounts, /) -> None:
        rest = (used.program, used.agent, used.model, used.purpose)
        begins = [_field(used.person, *rest), _field("", *rest)]
        pairs = [text for name, amount in plain_data(amounts).items() if amount for text in (name, repr(amount))]
        if pairs:
            arguments: list[str | int] = [KEPT_DAYS * _DAY_S, MAX_FIELDS, *begins, *pairs]
            await self._connection.run(_ADD, [_key(used.day)], arguments, replicated=False)

    async def rows(self, days: Sequence[date], /) -> Sequence[tuple[Used, ModelAmounts]]:
        found = await self._connection.each([_key(day) for day in days], lambda batch, key: batch.hgetall(key))
        rows: list[tuple[Used, ModelAmounts]] = []
        for day, sums in zip(days, found, strict=True):
            parts: dict[str, dict[str, float]] = {}
            for field, value in sums.items():
                begins, _, name = str(field).rpartition(" ")
                parts.setdefault(begins, {})[name] = float(value)
            for begins, part in parts.items():
                whole = {name: int(part.get(name, 0)) for name in ModelAmounts.__struct_fields__ if name != "cost_usd"}
                amounts = ModelAmounts(**whole, cost_usd=part.get("cost_usd", 0.0))
                rows.append((Used(day, *json.loads(begins)), amounts))
        return rows


def _field(*names: str) -> str:
    return compact_json(names) + " "


def _key(day: date) -> str:
    return f"{{parley:usage:{day.isoformat()}}}"


class Ledger(Struct, frozen=True):
    """Counts every answer of a model. What a node has not counted when it dies is lost."""

    _store: UsageStore
    _clock: Clock

    async def follow(self, answers: EventStream) -> None:
        async for answered in answers:
            if isinstance(answered.what, LLMAnswered):
                await self.count(answered.what)

    async def count(self, answer: LLMAnswered) -> None:
        day, person = self._clock.now().date(), answer.participant_id or ""
        used = Used(day, person, answer.program, answer.agent, answer.model, answer.purpose)
        try:
            await self._store.add(used, amounts_of(answer))
        except StorageUnavailable:
            return

    async def answer(self, given: GivenCommand) -> CommandAnswer:
        """A person's own use; everybody's for an owner, where nobody else reads it."""
        everybodys = given.role is Role.OWNER and given.private
        return CommandAnswer(await self.told(None if everybodys else given.event.person_id, given.texts))

    async def told(self, person: str | None, texts: Texts) -> str:
        """The use of the last days, for a person about themselves; with None everybody's, for an owner."""
        rows = await self.rows(DAYS)
        if person is not None:
            rows = [row for row in rows if row[0].person == person]
        if not rows:
            return texts("usage.none_mine" if person is not None else "usage.none", days=DAYS)
        today = [row for row in rows if row[0].day == self._clock.now().date()]
        lines = [texts("usage.mine" if person is not None else "usage.all")]
        lines += [
            texts("usage.today", amounts=in_words(total(today), texts)),
            texts("usage.days", days=DAYS, amounts=in_words(total(rows), texts)),
        ]
        if person is None:
            for by in GROUPS:
                lines += ["", texts(f"usage.by_{by}")]
                named = grouped(rows, by)[:MAX_LINES]
                lines += [f"- {as_written(name or '?')}: {in_words(amounts, texts)}" for name, amounts in named]
        return "\n".join(lines)

    async def spent_today(self) -> Mapping[str, float | None]:
        spent = _cost(total(await self.rows(1)))
        return {"answers": spent.pop("charged"), **spent}

    async def of_models(self, names: Collection[str]) -> Mapping[str, Mapping[str, float | None]]:
        """What these models and all that were charged for have cost in the last days."""
        costs = dict(grouped(await self.rows(DAYS), "model"))
        return {name: _cost(costs.get(name, ModelAmounts())) for name in costs.keys() | set(names)}

    async def rows(self, days: int) -> Sequence[tuple[Used, ModelAmounts]]:
        return await self._store.rows(last_days(self._clock.now().date(), days))


def ledger_in(connection: RedisConnection, clock: Clock) -> Ledger:
    return Ledger(RedisUsage(connection), clock)


def last_days(today: date, days: int) -> list[date]:
    """The last `days` days up to today, as far back as they are kept."""
    return [today - timedelta(days=number) for number in range(min(days, KEPT_DAYS))]


def grouped(rows: Sequence[tuple[Used, ModelAmounts]], by: By) -> list[tuple[str, ModelAmounts]]:
    """The sums by one of the names, the dearest first; days in order."""
    name: Callable[[Used], object] = attrgetter(by)
    found: dict[str, ModelAmounts] = {}
    for used, amounts in rows:
        key = str(name(used))
        found[key] = found.get(key, ModelAmounts()).plus(amounts)
    if by == "day":
        return sorted(found.items())
    return sorted(found.items(), key=lambda one: (one[1].cost_usd, one[1].tokens_in), reverse=True)


def _cost(amounts: ModelAmounts) -> dict[str, float | None]:
    return {
        "usd": amounts.usd,
        "unpriced": amounts.unpriced,
        "charged": amounts.answers,
        "tokens_in": amounts.tokens_in,
        "tokens_out": amounts.tokens_out,
    }


def prices_from() -> str:
    """Where prices come from that the settings do not have."""
    try:
        return f"the list of litellm {version('litellm')}"
    except PackageNotFoundError:
        return "no list: litellm is not installed"


def _ledger(ground: FeatureGround) -> Ledger:
    return ledger_in(ground.connection, ground.clock)


def entrance(ground: FeatureGround, _: ServingGround) -> EntrancePart:
    return EntrancePart({"usage": _ledger(ground).answer})


def usage_routes(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    async def usage(request: Request) -> Response:
        """What models were used and what they cost in some days up to today (UTC), in sums."""
        client = door.reader(request)
        by = request.query_params.get("by", "day")
        if by not in get_args(By):
            raise HTTPException(422, f"by is one of {', '.join(get_args(By))}.")
        if by == "person" and not client.scopes.content:
            raise HTTPException(403, f"{client.name} has no scope content.")
        rows = await _ledger(ground).rows(int(number(request, "days", 30, KEPT_DAYS)) or 1)
        sums = [{"name": name, **shown(amounts)} for name, amounts in grouped(rows, by)]  # type: ignore[arg-type]
        return answer({"by": by, "sums": sums, "all": shown(total(rows))})

    return (Route("/usage", usage, methods=["GET"]),)


async def status(ground: FeatureGround) -> Mapping[str, Mapping[str, Any]]:
    return {"spent_today": await _ledger(ground).spent_today()}


async def models(ground: FeatureGround, names: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    return await _ledger(ground).of_models(names)


class SessionAllowance(SessionPart):
    """For a task, the limits of the conversation that it works for hold."""

    def __init__(self, parts: SessionParts, allowance: Allowance) -> None:
        super().__init__(parts)
        self._allowance = allowance

    async def may_ask(self, person: str | None, /) -> str | None:
        order = self._journal.state.order
        return await self._allowance(self._record.address if order is None else order.place, person)


def allowance_part(allowance: Allowance) -> NodePart:
    part = partial(SessionAllowance, allowance=allowance)
    return InSessions(part, part)


def open_node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    """Counts from the start of the process."""
    if serving.answers is not None:
        serving.tasks.start_soon(ledger_in(ground.connection, ground.clock).follow, serving.answers)
    return allowance_part(serving.limits.allowance)
