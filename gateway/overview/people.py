"""`/bus/v1/people`: who has which role and which limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway.access.people import KnownPerson, People, Role, role_named
from gateway.clients.requests import answer, body_of, page_of
from gateway.feature import FeatureDoor
from gateway.inbound.usage_limits import KINDS, PersonLimits
from gateway.jobs.retention import Erased
from runtime.core.errors import ContentLocked, SessionBusy

MAX_AMOUNT = 1e12
"""Less than this is a limit."""


@dataclass(frozen=True, slots=True)
class PeopleRoutes:
    """The requests about people."""

    door: FeatureDoor
    people: People
    limits: PersonLimits
    forget_person: Callable[[str], Awaitable[Erased]]
    """Deletes all that is stored of a person."""

    def routes(self) -> list[BaseRoute]:
        """The routes, to be mounted with those of the bus."""
        return [
            Route("/people", self.some, methods=["GET"]),
            Route("/people/{person}/role", self.role, methods=["POST"]),
            Route("/people/{person}/role", self.revoke, methods=["DELETE"]),
            Route("/people/{person}/limit", self.limit, methods=["POST"]),
            Route("/people/{person}/forget", self.forget, methods=["POST"]),
        ]

    async def some(self, request: Request) -> Response:
        """The people with a role or limits of their own, owners first. Their names need the scope `content`."""
        client = self.door.reader(request)
        content = client.scopes.content
        found: list[KnownPerson | str] = [*await self.people.all()]
        limits = await self.limits.all()
        found += sorted(limits.keys() - {person.id for person in found if isinstance(person, KnownPerson)})
        rows, next_ = page_of(request, found, _id_of, lambda person: _person(person, content, limits))
        return answer({"people": rows, "next": next_})

    async def role(self, request: Request) -> Response:
        """Give a person a role."""
        self.door.writer(request)
        person, role = _person_in(request), await role_in(request, None)
        await self.people.set(person, role)
        return answer({"person": person, "role": role.word})

    async def revoke(self, request: Request) -> Response:
        """Remove a person's role, so that the settings decide again."""
        self.door.writer(request)
        if not await self.people.forget(_person_in(request)):
            raise HTTPException(404, "This person has no role of their own.")
        return answer({"person": _person_in(request), "role": None})

    async def limit(self, request: Request) -> Response:
        """Give a person limits of their own, all of those that the request names; with none the settings decide."""
        self.door.writer(request)
        person, body = _person_in(request), await body_of(request)
        given = body if isinstance(body, dict) else {"": 0}
        if not all(kind in KINDS and _is_amount(amount) for kind, amount in given.items()):
            raise HTTPException(422, f"Limits are amounts from 0 for {', '.join(KINDS)}; 0 is no limit.")
        await self.limits.set(person, given)
        return answer({"person": person, "limits": given})

    async def forget(self, request: Request) -> Response:
        """Delete every session in which a person took part, and all that is stored about them, for good."""
        self.door.writer(request)
        person = _person_in(request)
        try:
            erased = await self.forget_person(person)
        except SessionBusy as error:
            raise HTTPException(409, f"{error} Stop it first.") from error
        except ContentLocked as error:
            raise HTTPException(409, str(error)) from error
        await self.limits.set(person, {})
        return answer({"person": person, "sessions": len(erased.sessions), "entries": erased.entries})


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


def _id_of(person: KnownPerson | str) -> str:
    return person if isinstance(person, str) else person.id


def _person(person: KnownPerson | str, content: bool, limits: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    own = limits.get(_id_of(person), {})
    if isinstance(person, str):
        return {"person": person, "name": None, "role": None, "limits": own}
    name = person.name if content else None
    return {"person": person.id, "name": name, "role": person.role.word, "limits": own}


def _is_amount(amount: Any) -> bool:
    return type(amount) in (int, float) and 0 <= amount < MAX_AMOUNT
