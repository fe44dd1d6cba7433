"""`/bus/v1/people` and `/bus/v1/usage`: who has which role, and what was spent."""

from __future__ import annotations

from typing import Any, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway.access.people import Person
from gateway.access.roles import Role, role_named
from gateway.clients.requests import answer, body_of, number
from gateway.models.usage import By, grouped
from gateway.overview.pages import page_of
from gateway.overview.sources import Sources
from runtime.stores.operation.usage import KEPT_DAYS, Amounts, total


class PeopleRoutes:
    """The requests about people and about spending."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    async def some(self, request: Request) -> Response:
        """The people with a role of their own, owners first. Their names need the scope `content`."""
        client = self._sources.reader(request)
        content = client.scopes.content
        found = await self._sources.people.all()
        rows, next_ = page_of(request, found, lambda person: person.id, lambda person: _person(person, content))
        return answer({"people": rows, "next": next_})

    async def role(self, request: Request) -> Response:
        """Give a person a role."""
        self._sources.writer(request)
        person, role = _person_in(request), await role_in(request, None)
        await self._sources.people.set(person, role)
        return answer({"person": person, "role": role.word})

    async def revoke(self, request: Request) -> Response:
        """Remove a person's role, so that the settings decide again."""
        self._sources.writer(request)
        if not await self._sources.people.forget(_person_in(request)):
            raise HTTPException(404, "This person has no role of their own.")
        return answer({"person": _person_in(request), "role": None})

    async def usage(self, request: Request) -> Response:
        """What models were used and what they cost in some days up to today (UTC), in sums."""
        client = self._sources.reader(request)
        by = request.query_params.get("by", "day")
        if by not in get_args(By):
            raise HTTPException(422, f"by is one of {', '.join(get_args(By))}.")
        if by == "person" and not client.scopes.content:
            raise HTTPException(403, f"{client.name} has no scope content.")
        rows = await self._sources.ledger.rows(int(number(request, "days", 30, KEPT_DAYS)) or 1)
        sums = [{"name": name, **_amounts(amounts)} for name, amounts in grouped(rows, by)]  # type: ignore[arg-type]
        return answer({"by": by, "sums": sums, "all": _amounts(total(rows))})


async def role_in(request: Request, otherwise: Role | None) -> Role:
    """The role that a request's {"role"} names. Raises HTTPException."""
    body = await body_of(request)
    word = body.get("role") if isinstance(body, dict) else None
    role = otherwise if word is None else role_named(str(word))
    if role is None:
        raise HTTPException(422, f"role is one of {', '.join(role.word for role in Role)}.")
    return role


def _person_in(request: Request) -> str:
    person = str(request.path_params["person"])
    if not person.partition(":")[2]:
        raise HTTPException(422, "A person is <platform>:<id>.")
    return person


def _person(person: Person, content: bool) -> dict[str, Any]:
    return {"person": person.id, "name": person.name if content else None, "role": person.role.word}


def _amounts(amounts: Amounts) -> dict[str, Any]:
    return {
        "answers": amounts.answers,
        "tokens_in": amounts.tokens_in,
        "tokens_cached": amounts.tokens_cached,
        "tokens_out": amounts.tokens_out,
        "usd": round(amounts.cost_usd, 6),
    }
